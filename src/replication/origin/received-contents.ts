import type { Hash } from "../../core/values/hash.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { HeldContents } from "../replica/content-intake.ts";
import type { WorkspaceContents } from "../contents/content-server.ts";
import type { SecretContents } from "../contents/session-contents.ts";

/** So many hashes are remembered: those that came first are forgotten first. */
const MOST = 100_000;

/**
 * Contents that replicas need not send: those of the workspace, and those that they have sent already. That the store holds a
 * content for somebody else says nothing: whoever names its hash would get it, and must have it first. Nor do secrets count: with one
 * under an ordinary name, whoever knows its hash from the log would read it.
 */
export class ReceivedContents implements HeldContents {
  readonly #blobs: BlobStore;
  readonly #contents: WorkspaceContents & Partial<SecretContents>;
  readonly #received = new Set<Hash>();

  constructor(blobs: BlobStore, contents: WorkspaceContents & Partial<SecretContents>) {
    this.#blobs = blobs;
    this.#contents = contents;
  }

  async has(hashes: readonly Hash[], inline?: ReadonlyMap<Hash, Uint8Array>): Promise<ReadonlySet<Hash>> {
    const asked = inline === undefined ? hashes : hashes.filter((hash) => !inline.has(hash));
    const held = new Set<Hash>();
    const secrets = (await this.#contents.secrets?.(asked)) ?? new Set<Hash>();
    // What was received may have been freed again.
    for (const hash of await this.#blobs.sound(asked)) {
      if (secrets.has(hash)) continue;
      if (this.#received.has(hash) || (await this.#contents.open(hash)) !== undefined) held.add(hash);
    }
    return held;
  }

  add(hash: Hash): void {
    this.#received.delete(hash);
    this.#received.add(hash);
    const [first] = this.#received;
    if (this.#received.size > MOST && first !== undefined) this.#received.delete(first);
  }
}
