import { type Hash, sha256 } from "../../core/values/hash.ts";
import type { BlobIntake, BlobSink } from "../blob-intake.ts";

/** Takes contents in bulk into a `MemoryBlobStore`: in this thread only, as no other one can reach its memory. */
export class MemoryIntake implements BlobIntake {
  readonly openThreadSinks = undefined;
  readonly #contents: Map<Hash, Buffer>;

  /** `contents`: those of the store. */
  constructor(contents: Map<Hash, Buffer>) {
    this.#contents = contents;
  }

  isSound(hash: Hash): boolean {
    const content = this.#contents.get(hash);
    return content !== undefined && sha256(content) === hash;
  }

  async openSink(known: (hash: Hash) => boolean): Promise<BlobSink> {
    return new MemorySink(this.#contents, known);
  }
}

class MemorySink implements BlobSink {
  readonly #contents: Map<Hash, Buffer>;
  readonly #known: (hash: Hash) => boolean;
  readonly #pending = new Map<Hash, Buffer>();

  constructor(contents: Map<Hash, Buffer>, known: (hash: Hash) => boolean) {
    this.#contents = contents;
    this.#known = known;
  }

  put(content: Uint8Array, hash = sha256(content)): Hash {
    if (!this.#pending.has(hash) && !this.#known(hash)) this.#pending.set(hash, Buffer.from(content));
    return hash;
  }

  putLarge(pieces: Iterable<Uint8Array>): { readonly hash: Hash; readonly size: number } {
    const content = Buffer.concat(Array.from(pieces, (piece) => Buffer.from(piece)));
    return { hash: this.put(content), size: content.length };
  }

  async finish(): Promise<void> {
    for (const [hash, content] of this.#pending) this.#contents.set(hash, content);
    this.#pending.clear();
  }

  abandon(): void {
    this.#pending.clear();
  }
}
