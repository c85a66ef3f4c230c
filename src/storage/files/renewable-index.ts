import type { Hash } from "../../core/values/hash.ts";
import type { BlobIndex, BlobPlace, IndexChange, PackRow, PlacedBlob } from "../blob-index.ts";

/** A blob index that can be replaced by another one while it is in use. */
export class RenewableIndex implements BlobIndex {
  #current: BlobIndex;

  constructor(first: BlobIndex) {
    this.#current = first;
  }

  /** Replaces the index by `next`, and closes the old index. */
  renew(next: BlobIndex): void {
    this.#current.close();
    this.#current = next;
  }

  has(hash: Hash): boolean {
    return this.#current.has(hash);
  }

  find(hash: Hash): BlobPlace | undefined {
    return this.#current.find(hash);
  }

  together<T>(work: () => T): T {
    return this.#current.together(work);
  }

  packs(): readonly PackRow[] {
    return this.#current.packs();
  }

  packOf(ulid: string): PackRow | undefined {
    return this.#current.packOf(ulid);
  }

  inPack(id: number): readonly PlacedBlob[] {
    return this.#current.inPack(id);
  }

  large(): readonly PlacedBlob[] {
    return this.#current.large();
  }

  apply(change: IndexChange): void {
    this.#current.apply(change);
  }

  close(): void {
    this.#current.close();
  }
}
