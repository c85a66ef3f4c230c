import { sha256, type Hash } from "../core/values/hash.ts";
import type { StableSink } from "../worktree/files/read-stable.ts";
import { hashingSink } from "./ingest-job.ts";

/** Holds a few contents that are not stored yet, so that a sink is opened only if there are any. */
export class HeldContents implements StableSink {
  readonly contents = new Map<Hash, Buffer>();
  readonly #isStored: (hash: Hash) => boolean;
  readonly #mostBytes: number;
  #bytes = 0;
  #isTooMuch = false;

  /** Holds at most `mostBytes`. */
  constructor(isStored: (hash: Hash) => boolean, mostBytes: number) {
    this.#isStored = isStored;
    this.#mostBytes = mostBytes;
  }

  /** True if there was more than it can hold. Then `contents` lacks some contents that are not stored. */
  get isTooMuch(): boolean {
    return this.#isTooMuch;
  }

  small(content: Uint8Array): Hash {
    const hash = sha256(content);
    if (this.contents.has(hash) || this.#isStored(hash)) return hash;
    this.#bytes += content.length;
    if (this.#bytes > this.#mostBytes) this.#isTooMuch = true;
    else this.contents.set(hash, Buffer.from(content));
    return hash;
  }

  large(pieces: Iterable<Uint8Array>, source: { readonly fd: number }): { readonly hash: Hash; readonly size: number } {
    this.#isTooMuch = true;
    return hashingSink.large(pieces, source);
  }
}
