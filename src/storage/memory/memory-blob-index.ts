import type { Hash } from "../../core/values/hash.ts";
import type { BlobIndex, BlobPlace, IndexChange, LargeRow, PackRow, PackState, PlacedBlob } from "../blob-index.ts";
import { rowAt, rowHash, type BlobRows } from "../blob-rows.ts";

/** A blob index in memory, for simulated disks and for stores on read-only disks. */
export class MemoryBlobIndex implements BlobIndex {
  readonly #places = new Map<Hash, BlobPlace>();
  readonly #packs = new Map<number, PackRow>();
  #lastPack = 0;

  has(hash: Hash): boolean {
    return this.#places.has(hash);
  }

  together<T>(work: () => T): T {
    return work();
  }

  find(hash: Hash): BlobPlace | undefined {
    return this.#places.get(hash);
  }

  packs(): readonly PackRow[] {
    return [...this.#packs.values()];
  }

  packOf(ulid: string): PackRow | undefined {
    return this.packs().find((pack) => pack.ulid === ulid);
  }

  inPack(id: number): readonly PlacedBlob[] {
    const found = [...this.#all()].filter(({ place }) => place.kind === "pack" && place.pack === id);
    return found.sort((a, b) => positionOf(a) - positionOf(b));
  }

  large(): readonly PlacedBlob[] {
    return [...this.#all()].filter(({ place }) => place.kind === "large");
  }

  apply(change: IndexChange): void {
    for (const hash of change.forget ?? []) this.#places.delete(hash);
    for (const id of change.forgetPacks ?? []) this.#forgetPack(id);
    const ids = (change.packs ?? []).map((pack) => this.#putPack(pack));
    if (change.rows !== undefined) this.#putRows(change.rows, ids, change.replace === true);
    for (const row of change.large ?? []) this.#putLarge(row, change.replace === true);
  }

  close(): void {
    this.#places.clear();
    this.#packs.clear();
  }

  *#all(): Iterable<PlacedBlob> {
    for (const [hash, place] of this.#places) yield { hash, place };
  }

  #forgetPack(id: number): void {
    for (const { hash } of this.inPack(id)) this.#places.delete(hash);
    this.#packs.delete(id);
  }

  #putPack(pack: PackState): number {
    const id = this.packOf(pack.ulid)?.id ?? ++this.#lastPack;
    this.#packs.set(id, { id, ulid: pack.ulid, lane: pack.lane, bytes: pack.bytes });
    return id;
  }

  #putRows(rows: BlobRows, ids: readonly number[], replace: boolean): void {
    for (let i = 0; i < rows.count; i++) {
      const hash = rowHash(rows, i);
      const row = rowAt(rows, i);
      const pack = ids[row.pack];
      if (pack === undefined || (!replace && this.#places.has(hash))) continue;
      this.#places.set(hash, { kind: "pack", ...row, pack });
    }
  }

  #putLarge(row: LargeRow, replace: boolean): void {
    if (!replace && this.#places.has(row.hash)) return;
    this.#places.set(row.hash, { kind: "large", packed: row.packed, length: row.length, stored: row.stored });
  }
}

function positionOf({ place }: PlacedBlob): number {
  return place.kind === "pack" ? place.block + place.at / 2 ** 24 : 0;
}
