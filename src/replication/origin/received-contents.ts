import type { Hash } from "../../core/values/hash.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { HeldContents } from "../replica/content-intake.ts";
import type { WorkspaceContents } from "../contents/content-server.ts";
import type { SecretContents } from "../contents/session-contents.ts";

/** Number of hashes that are remembered; the oldest are forgotten first. */
const MOST = 100_000;

/**
 * Contents that replicas need not send: those of the workspace, and those that they have already sent. A content that
 * the store holds only for others does not count: anybody who named its hash would get it, so they must have it first.
 * Secrets do not count either: otherwise anybody who knows a secret's hash from the log could read it under an ordinary
 * name.
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
    // A received content may have been freed again.
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
