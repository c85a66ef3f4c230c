import { hashToBytes, type Hash } from "../../core/hash.ts";
import type { PackState } from "../blob-index.ts";
import { BlobRowsBuilder, type BlobRows } from "../blob-rows.ts";
import { encodeBlock, MAX_BLOCK_ENTRIES, storedShare, type BlockInput } from "../block.ts";
import type { PackWriter } from "./pack-writer.ts";
import { freeBytes } from "../../util/free-bytes.ts";

/** Small contents share a block of at most this many raw bytes; measured: faster and smaller than one by one. */
const SHARED_BLOCK_BYTES = 256 * 1024;
const FIRST_BUFFER_BYTES = 16 * 1024;

/** Fills blocks with contents, hands them to a writer, and remembers where each content is. Holds at most one block. */
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

  /** Takes a content of at most 8 MiB. Its bytes are copied or written before this returns. */
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

  /** Writes what is held. After an error it is still held. */
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

  /** Where everything is, for the index. Only to be asked for after `flush` and the writer's `sync`. */
  result(): { readonly packs: readonly PackState[]; readonly rows: BlobRows } {
    return { packs: this.#packs.map((ulid) => this.#writer.stateOf(ulid)), rows: this.#rows.build() };
  }

  /** Gives everything up, and takes it back from the lane where that is possible. */
  abandon(): void {
    this.#writer.takeBack(this.#blocks);
  }

  #append(input: BlockInput): void {
    const block = encodeBlock(input);
    const { ulid, offset } = this.#writer.append(block);
    const storedLength = block.stored.length;
    const bytes = block.head.length + storedLength;
    if (block.stored !== input.raw) freeBytes(block.stored);
    this.#blocks.push({ ulid, offset, bytes });
    const share = { storedLength, rawLength: input.raw.length };
    const pack = this.#packNumber(ulid);
    let at = 0;
    input.lengths.forEach((length, i) => {
      const hash = input.hashes.subarray(32 * i, 32 * i + 32);
      this.#rows.add(hash, { pack, block: offset, blockBytes: bytes, at, length, stored: storedShare(share, length) });
      at += length;
    });
  }

  #packNumber(ulid: string): number {
    // A writer goes from pack to pack and never back, so it is the last one or a new one.
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
