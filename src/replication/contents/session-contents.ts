import type { SealedEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { WorkspaceBlocks } from "./block-server.ts";
import type { WorkspaceContents } from "./content-server.ts";
import type { NamedContents } from "./event-push.ts";

export interface SecretContents {
  /** Returns the secrets among the contents. A content is a secret if only secret files have ever had this content. */
  secrets(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /** True if a file at this path is a secret by its name. */
  isSecretPath(path: WorkspacePath): Promise<boolean>;
}

export interface SessionSource {
  readonly contents: WorkspaceContents & NamedContents;
  readonly blocks?: WorkspaceBlocks;
  /** Default: no content is a secret. */
  readonly secrets?: SecretContents;
}

/**
 * The contents of a workspace as one session serves them. Secrets (contents of files that are secrets by their names)
 * are left out until `admitSecrets` is called. The session calls `admitSecrets` when a replica that is allowed to have
 * secrets requests them.
 */
export class SessionContents implements WorkspaceContents, NamedContents, WorkspaceBlocks {
  readonly #source: SessionSource;
  #givesSecrets: boolean;

  constructor(source: SessionSource) {
    this.#source = source;
    this.#givesSecrets = source.secrets === undefined;
  }

  admitSecrets(): void {
    this.#givesSecrets = true;
  }

  async gives(path: WorkspacePath): Promise<boolean> {
    return this.#givesSecrets || (await this.#source.secrets?.isSecretPath(path)) !== true;
  }

  /**
   * True if this session serves the content of the event. Decides by the field `class` of the event, because an event
   * can be sent before its commit has ended, when the index does not know the content yet.
   */
  isGiven({ record }: Pick<SealedEvent, "record">): boolean {
    return this.#givesSecrets || record["class"] !== "protected";
  }

  async open(hash: Hash, isNamed?: boolean): Promise<BlobReader | undefined> {
    const [given] = await this.#given([hash]);
    return given === undefined ? undefined : this.#source.contents.open(given, isNamed);
  }

  async *openNamed(hashes: readonly Hash[]): AsyncGenerator<readonly [Hash, BlobReader | undefined], void> {
    yield* this.#source.contents.openNamed(await this.#given(hashes));
  }

  async *blocks(hashes: readonly Hash[], mostBytes: number): AsyncGenerator<BlobBlock, void> {
    const { blocks } = this.#source;
    if (blocks !== undefined) yield* blocks.blocks(await this.#given(hashes), mostBytes);
  }

  async has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    const { blocks } = this.#source;
    return blocks === undefined ? new Set() : blocks.has(await this.#given(hashes));
  }

  async #given(hashes: readonly Hash[]): Promise<readonly Hash[]> {
    if (this.#givesSecrets || hashes.length === 0) return hashes;
    const secrets = (await this.#source.secrets?.secrets(hashes)) ?? new Set<Hash>();
    return secrets.size === 0 ? hashes : hashes.filter((hash) => !secrets.has(hash));
  }
}
