import { crc32, inflateSync } from "node:zlib";
import { REF } from "../../core/records/git-record.ts";

// Reads a reftable: a file with refs and lines of reflogs (git's Documentation/technical/reftable).

/** The error for a table that cannot be used. The message is the reason. */
export class UnusableTable extends Error {}

const HEADER_BYTES = 24;
/**
 * The size, in bytes, of the name of the hash function, which a table of version 2 has after the header of version 1.
 */
const HASH_NAME_BYTES = 4;
/** The size, in bytes, of the part of the footer after the copy of the header: positions and a checksum. */
const FOOTER_BYTES = 44;
const INDEX_BYTES = 8;
/** The maximum length, in bytes, of the name of a ref. This is also the maximum length of a path on Linux. */
const MOST_NAME_BYTES = 4_096;
/** The number of bytes that `ReadBudget` counts for each record in addition to the bytes of the record. */
const RECORD_BYTES = 64;
const MOST_READ_BYTES = 256 * 1024 ** 2;

/**
 * Limits the number of bytes that reading tables produces. A table shortens its keys and compresses its reflogs, so a
 * small table can produce many bytes. Without this limit, whoever can write a table could keep its readers busy for
 * minutes and fill their memory.
 */
export class ReadBudget {
  #left: number;

  constructor(bytes = MOST_READ_BYTES) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  /** Takes bytes from the budget. Throws `UnusableTable` if fewer bytes are left. */
  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new UnusableTable("it is too large");
  }
}

const [DELETED, OBJECT, PEELED, SYMBOLIC] = [0, 1, 2, 3];

/**
 * A line of a reflog in a table. Without `line`, the table says that the line with this index, which an older table
 * has, is deleted.
 */
export interface LoggedLine {
  readonly index: bigint;
  /** The line as a reflog file has it, without the line end. */
  readonly line: string | undefined;
}

/** A table. Its constructor throws `UnusableTable` if the file is damaged or of an unknown version. */
export class Reftable {
  readonly #bytes: Buffer;
  readonly #hashBytes: 20 | 32;
  readonly #headerBytes: number;
  /** The end of the blocks. */
  readonly #end: number;
  readonly #logAt: number;

  constructor(bytes: Buffer, hashBytes: 20 | 32) {
    const version = bytes[4] ?? 0;
    if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "REFT") throw damagedTable();
    if (version !== 1 && version !== 2) throw new UnusableTable(`version ${version} of reftables is not known`);
    const headerBytes = HEADER_BYTES + (version === 1 ? 0 : HASH_NAME_BYTES);
    const end = bytes.length - headerBytes - FOOTER_BYTES;
    if (end < headerBytes) throw damagedTable();
    const crcAt = bytes.length - 4;
    if (crc32(bytes.subarray(end, crcAt)) !== bytes.readUInt32BE(crcAt)) throw damagedTable();
    if (bytes.compare(bytes, 0, headerBytes, end, end + headerBytes) !== 0) throw damagedTable();
    this.#bytes = bytes;
    this.#hashBytes = hashBytes;
    this.#headerBytes = headerBytes;
    this.#end = end;
    const logAt = Number(bytes.readBigUInt64BE(end + headerBytes + 24));
    this.#logAt = logAt === 0 && bytes[headerBytes] === LOG_BLOCK ? headerBytes : logAt;
  }

  /**
   * Maps the name of each ref to its value: a hash, or `ref: ` and a name. `undefined`: a ref of an older table is
   * deleted.
   */
  refs(budget = new ReadBudget()): Map<string, string | undefined> {
    const refs = new Map<string, string | undefined>();
    const blockBytes = this.#bytes.readUIntBE(5, 3);
    // A table can have 100,000 refs. Cutting pieces out of two long texts is much faster than decoding each piece.
    const texts = { hex: this.#bytes.toString("hex"), plain: this.#bytes.toString("latin1") };
    for (let at = 0; at < this.#end;) {
      const start = at === 0 ? this.#headerBytes : at;
      if (this.#bytes[start] !== REF_BLOCK) break;
      const end = at + this.#bytes.readUIntBE(start + 1, 3);
      // A block that is larger than the table's block size would overlap the next block.
      const isTooLarge = blockBytes !== 0 && end - at > blockBytes;
      if (end <= start || end > this.#end || isTooLarge) throw damagedTable();
      this.#refsIn(new BlockReader(this.#bytes, start + 4, end), { texts, budget }, refs);
      // Zeros pad a block to the block size. The last block may lack this padding.
      at = blockBytes === 0 || this.#bytes[end] !== 0 ? end : at + blockBytes;
    }
    return refs;
  }

  #refsIn(
    block: BlockReader,
    { texts, budget }: { readonly texts: Texts; readonly budget: ReadBudget },
    refs: Map<string, string | undefined>,
  ): void {
    let key = "";
    while (block.hasMore()) {
      const prefix = block.number();
      const head = block.number();
      if (prefix > key.length) throw damagedTable();
      if (prefix + (head >>> 3) > MOST_NAME_BYTES) throw damagedTable();
      budget.spend(prefix + (head >>> 3) + RECORD_BYTES);
      const keyAt = block.skip(head >>> 3);
      key = key.slice(0, prefix) + texts.plain.slice(keyAt, block.at);
      block.number();
      refs.set(fromBytes(key), this.#valueIn(block, head & 7, texts));
    }
  }

  #valueIn(block: BlockReader, type: number, texts: Texts): string | undefined {
    if (type === DELETED) return undefined;
    if (type === SYMBOLIC) return `${REF}${block.text()}`;
    if (type !== OBJECT && type !== PEELED) throw damagedTable();
    const at = block.skip(this.#hashBytes);
    if (type === PEELED) block.skip(this.#hashBytes);
    return texts.hex.slice(2 * at, 2 * (at + this.#hashBytes));
  }

  /** Returns the lines of the reflog of one ref, the newest first. */
  log(name: string, budget = new ReadBudget()): LoggedLine[] {
    const lines: LoggedLine[] = [];
    const wanted = Buffer.from(`${name}\0`);
    for (let at = this.#logAt; at > 0 && at < this.#end && this.#bytes[at] === LOG_BLOCK;) {
      const { block, bytes } = this.#inflated(at, budget);
      let key: Buffer = Buffer.alloc(0);
      while (block.hasMore()) {
        const prefix = block.number();
        const head = block.number();
        if (prefix > key.length) throw damagedTable();
        if (prefix + (head >>> 3) > MOST_NAME_BYTES + 1 + INDEX_BYTES) throw damagedTable();
        budget.spend(prefix + RECORD_BYTES);
        key = Buffer.concat([key.subarray(0, prefix), block.take(head >>> 3)]);
        const order = key.subarray(0, wanted.length).compare(wanted);
        if (order > 0) return lines;
        const line = (head & 7) === DELETED ? undefined : this.#lineIn(block);
        if (order !== 0) continue;
        if (key.length !== wanted.length + INDEX_BYTES) throw damagedTable();
        lines.push({ index: LAST_INDEX - key.readBigUInt64BE(wanted.length), line });
      }
      at += 4 + bytes;
    }
    return lines;
  }

  /** Returns the records of a block of logs, and the length of its compressed part. */
  #inflated(at: number, budget: ReadBudget): { readonly block: BlockReader; readonly bytes: number } {
    // As with blocks of refs, the length of a block right after the header includes the header.
    const length = this.#bytes.readUIntBE(at + 1, 3) - 4 - (at === this.#headerBytes ? at : 0);
    budget.spend(Math.max(length, 0));
    try {
      const options = { info: true, maxOutputLength: Math.max(length, 1) };
      const packed = this.#bytes.subarray(at + 4, this.#end);
      // With `info`, the result also has the number of bytes that were read.
      const found = inflateSync(packed, options) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
      if (found.buffer.length !== length) throw damagedTable();
      return { block: new BlockReader(found.buffer, 0, found.buffer.length), bytes: found.engine.bytesWritten };
    } catch (error) {
      if (error instanceof Error && "code" in error) throw damagedTable();
      throw error;
    }
  }

  #lineIn(block: BlockReader): string {
    const [before, after] = [block.take(this.#hashBytes), block.take(this.#hashBytes)].map((one) =>
      one.toString("hex"),
    );
    const [name, mail] = [block.text(), block.text()];
    const time = block.number();
    const zone = block.take(2).readInt16BE();
    const message = block.text().replace(/\n$/, "");
    return `${before} ${after} ${name} <${mail}> ${time} ${zoneText(zone)}\t${message}`;
  }
}

/**
 * The bytes of a table as two texts: `hex` has two digits for each byte, and `plain` has one character for each byte.
 */
interface Texts {
  readonly hex: string;
  readonly plain: string;
}

function fromBytes(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, "latin1").toString("utf8") : text;
}

const REF_BLOCK = "r".charCodeAt(0);
const LOG_BLOCK = "g".charCodeAt(0);
const LAST_INDEX = 0xffff_ffff_ffff_ffffn;

/**
 * Returns a time zone as git writes it (`-0230`). In a table, the zone is the number with these digits (-230), not
 * minutes.
 */
function zoneText(zone: number): string {
  return `${zone < 0 ? "-" : "+"}${String(Math.abs(zone)).padStart(4, "0")}`;
}

/**
 * Reads the records of a block. After the records, a block has the positions of some of them, and the number of
 * positions.
 */
class BlockReader {
  at: number;
  readonly #bytes: Buffer;
  readonly #end: number;

  /** The block lies in `bytes` up to `end`, and its records begin at `at`. */
  constructor(bytes: Buffer, at: number, end: number) {
    if (end < at + 2) throw damagedTable();
    this.#bytes = bytes;
    this.at = at;
    this.#end = end - 2 - 3 * bytes.readUInt16BE(end - 2);
    if (this.#end < at) throw damagedTable();
  }

  hasMore(): boolean {
    return this.at < this.#end;
  }

  /** Skips `length` bytes. Returns the position of the first skipped byte. */
  skip(length: number): number {
    const { at } = this;
    if (at + length > this.#end) throw damagedTable();
    this.at = at + length;
    return at;
  }

  take(length: number): Buffer {
    const at = this.skip(length);
    return this.#bytes.subarray(at, this.at);
  }

  text(): string {
    return this.take(this.number()).toString("utf8");
  }

  /** Reads a number as git's `encode_varint` writes it. */
  number(): number {
    let byte = this.#byte();
    let value = byte & 0x7f;
    while (byte > 0x7f) {
      byte = this.#byte();
      value = (value + 1) * 128 + (byte & 0x7f);
      if (value > Number.MAX_SAFE_INTEGER) throw damagedTable();
    }
    return value;
  }

  #byte(): number {
    if (this.at >= this.#end) throw damagedTable();
    return this.#bytes[this.at++] ?? 0;
  }
}

function damagedTable(): UnusableTable {
  return new UnusableTable("it is damaged");
}
