import { hashFromBytes, type Hash } from "../core/values/hash.ts";

/**
 * The places of contents in packs, as flat arrays, which are cheap to send from a worker thread and to sort. Row `i`
 * has the 32 bytes of `hashes` from the index 32 × `i` on, and the six numbers of `fields` from the index 6 × `i` on.
 * The six numbers are in the order of the properties of `BlobRow`.
 */
export interface BlobRows {
  readonly count: number;
  readonly hashes: Uint8Array<ArrayBuffer>;
  readonly fields: Uint32Array<ArrayBuffer>;
}

/** All numbers except `pack` are in bytes. */
export interface BlobRow {
  /** The pack's position in the list of packs to which the rows refer. */
  readonly pack: number;
  /** The block's offset in the pack. */
  readonly block: number;
  /** The length of the block, with its head and table. */
  readonly blockBytes: number;
  /** The offset of the content in the unpacked block. */
  readonly at: number;
  readonly length: number;
  /** The content's share of the block. */
  readonly stored: number;
}

const FIELDS = 6;

export class BlobRowsBuilder {
  #hashes = new Uint8Array(32 * 64);
  #fields = new Uint32Array(FIELDS * 64);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(hash: Uint8Array, row: BlobRow): void {
    if (this.#count * 32 === this.#hashes.length) this.#grow();
    this.#hashes.set(hash, this.#count * 32);
    const f = this.#count * FIELDS;
    this.#fields[f] = row.pack;
    this.#fields[f + 1] = row.block;
    this.#fields[f + 2] = row.blockBytes;
    this.#fields[f + 3] = row.at;
    this.#fields[f + 4] = row.length;
    this.#fields[f + 5] = row.stored;
    this.#count++;
  }

  /** Returns the collected rows, in arrays of their own. */
  build(): BlobRows {
    return {
      count: this.#count,
      hashes: this.#hashes.slice(0, this.#count * 32),
      fields: this.#fields.slice(0, this.#count * FIELDS),
    };
  }

  #grow(): void {
    const hashes = new Uint8Array(this.#hashes.length * 2);
    const fields = new Uint32Array(this.#fields.length * 2);
    hashes.set(this.#hashes);
    fields.set(this.#fields);
    this.#hashes = hashes;
    this.#fields = fields;
  }
}

/** Returns a view of the 32 bytes of the row's hash. */
export function rowHashBytes(rows: BlobRows, i: number): Uint8Array {
  return rows.hashes.subarray(i * 32, i * 32 + 32);
}

export function rowHash(rows: BlobRows, i: number): Hash {
  return hashFromBytes(rowHashBytes(rows, i));
}

export function rowAt(rows: BlobRows, i: number): BlobRow {
  const f = rows.fields;
  const at = (k: number): number => f[i * FIELDS + k] ?? 0;
  return { pack: at(0), block: at(1), blockBytes: at(2), at: at(3), length: at(4), stored: at(5) };
}

/**
 * Returns the positions of the rows, sorted by the first 52 bits of their hashes. Inserting the rows in this order
 * fills the B-tree of an index fastest. Rows whose first 52 bits are equal come in any order.
 */
export function rowsByHash(rows: BlobRows): Uint32Array {
  const view = new DataView(rows.hashes.buffer, rows.hashes.byteOffset, rows.hashes.byteLength);
  const keys = new Float64Array(rows.count);
  const order = new Uint32Array(rows.count);
  for (let i = 0; i < rows.count; i++) {
    keys[i] = view.getUint32(i * 32) * 0x100000 + (view.getUint32(i * 32 + 4) >>> 12);
    order[i] = i;
  }
  return order.sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0));
}
