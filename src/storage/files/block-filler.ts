import { hashToBytes, type Hash } from "../../core/values/hash.ts";
import type { PackState } from "../blob-index.ts";
import { BlobRowsBuilder, type BlobRow, type BlobRows } from "../blob-rows.ts";
import {
  encodeBlock,
  MAX_BLOCK_ENTRIES,
  SHARED_BLOCK_BYTES,
  storedShare,
  type BlockHead,
  type BlockInput,
  type EncodedBlock,
} from "../block.ts";
import type { PackWriter } from "./pack-writer.ts";
import { freeBytes } from "../../util/free-bytes.ts";

const FIRST_BUFFER_BYTES = 16 * 1024;

/**
 * Fills blocks with contents, passes the blocks to a writer, and records the place of each content. Keeps at most one
 * block in memory.
 */
export class BlockFiller {
  readonly #writer: PackWriter;
  readonly #rows = new BlobRowsBuilder();
  readonly #packs: string[] = [];
  readonly #blocks: { ulid: string; offset: number; bytes: number }[] = [];
  #raw = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  #filled = 0;
  #lengths: number[] = [];
  #hashes: Buffer[] = [];

  constructor(writer: PackWriter) {
    this.#writer = writer;
  }

  /** Adds a content of at most 8 MiB. The bytes of the content are copied or written before `add` returns. */
  add(hash: Hash, content: Uint8Array): void {
    if (content.length > SHARED_BLOCK_BYTES) {
      this.#append({ hashes: hashToBytes(hash), lengths: [content.length], raw: content });
      return;
    }
    const full = this.#filled + content.length > SHARED_BLOCK_BYTES || this.#lengths.length === MAX_BLOCK_ENTRIES;
    if (full) this.flush();
    this.#room(content.length);
    this.#raw.set(content, this.#filled);
    this.#filled += content.length;
    this.#lengths.push(content.length);
    this.#hashes.push(hashToBytes(hash));
  }

  /** Adds a block unchanged. The caller has checked its contents. The block is written before `addBlock` returns. */
  addBlock(bytes: Uint8Array, head: BlockHead): void {
    const { headBytes, storedLength, rawLength, entries } = head;
    const encoded = { head: asBuffer(bytes.subarray(0, headBytes)), stored: bytes.subarray(headBytes) };
    const placed = this.#write(encoded);
    for (const { hash, at, length } of entries) {
      const stored = storedShare({ storedLength, rawLength }, length);
      this.#rows.add(hashToBytes(hash), { ...placed, at, length, stored });
    }
  }

  /** Writes the contents in memory as a block. If the write fails, the contents stay in memory. */
  flush(): void {
    if (this.#lengths.length === 0) return;
    this.#append({
      hashes: Buffer.concat(this.#hashes),
      lengths: this.#lengths,
      raw: this.#raw.subarray(0, this.#filled),
    });
    this.#filled = 0;
    this.#lengths = [];
    this.#hashes = [];
  }

  /** Returns the places of all contents, for the index. Call only after `flush` and the writer's `sync`. */
  result(): { readonly packs: readonly PackState[]; readonly rows: BlobRows } {
    return { packs: this.#packs.map((ulid) => this.#writer.stateOf(ulid)), rows: this.#rows.build() };
  }

  /**
   * Abandons all contents. Removes their blocks from the pack, except blocks that are already synced, or are followed
   * by blocks of other batches.
   */
  abandon(): void {
    this.#writer.takeBack(this.#blocks);
  }

  #append(input: BlockInput): void {
    const block = encodeBlock(input);
    const share = { storedLength: block.stored.length, rawLength: input.raw.length };
    const placed = this.#write(block);
    if (block.stored !== input.raw) freeBytes(block.stored);
    let at = 0;
    input.lengths.forEach((length, i) => {
      const hash = input.hashes.subarray(32 * i, 32 * i + 32);
      this.#rows.add(hash, { ...placed, at, length, stored: storedShare(share, length) });
      at += length;
    });
  }

  #write(block: EncodedBlock): Pick<BlobRow, "pack" | "block" | "blockBytes"> {
    const { ulid, offset } = this.#writer.append(block);
    const bytes = block.head.length + block.stored.length;
    this.#blocks.push({ ulid, offset, bytes });
    return { pack: this.#packNumber(ulid), block: offset, blockBytes: bytes };
  }

  #packNumber(ulid: string): number {
    // A writer moves from pack to pack and never back, so the pack is the last one in the list, or a new one.
    if (this.#packs.at(-1) !== ulid) this.#packs.push(ulid);
    return this.#packs.length - 1;
  }

  #room(more: number): void {
    const need = this.#filled + more;
    if (need <= this.#raw.length) return;
    const raw = Buffer.allocUnsafe(Math.min(SHARED_BLOCK_BYTES, Math.max(need, this.#raw.length * 2)));
    raw.set(this.#raw.subarray(0, this.#filled));
    this.#raw = raw;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
