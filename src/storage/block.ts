import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ChronicleError } from "../core/values/errors.ts";
import { hashFromBytes, type Hash } from "../core/values/hash.ts";
import { freeBytes } from "../util/free-bytes.ts";

/**
 * The format of a pack. All integers are unsigned and big-endian; CRC-32 is that of zlib and gzip (IEEE 802.3).
 *
 * A pack is a header followed by consecutive blocks up to the end of the file.
 *
 * ```
 * pack header, 40 bytes            block
 *  0  8  "CHRNPACK"                 0   4     "CBLK"
 *  8  2  version, 1                 4   1     codec: 0 raw, 1 zstd
 * 10 26  ULID of the pack, ASCII    5   1     0
 * 36  4  CRC-32 of bytes 0 to 35    6   2     number of contents n, 1 to 65,535
 *                                   8   4     stored length s
 *                                  12   4     raw length r: the sum of the contents' lengths, at most 8 MiB
 *                                  16   4     CRC-32 of bytes 0 to 15, 20 to 23 and of the table
 *                                  20   4     CRC-32 of the s stored bytes
 *                                  24   36 n  the table: for each content its SHA-256 (32) and its length (4)
 *                                  24 + 36 n  s bytes: the concatenated contents, encoded by the codec
 * ```
 *
 * - The ULID identifies a pack, because the file name of a pack changes when the pack is sealed.
 * - Codec 0: s = r. Codec 1: one zstd frame that unpacks to r bytes. Codec 1 is used if compression saves at least 5%.
 * - The first CRC (bytes 16 to 19) shows a scan that a block begins here.
 * - The contents are checked by their SHA-256. The second CRC is checked only if a whole block is read (by `verify`, or
 *   for another store). The second CRC also detects changed bits of a zstd frame that do not affect the contents.
 */
export const PACK_HEADER_BYTES = 40;
/** The length, in bytes, of the head of a block without the table. */
export const BLOCK_HEAD_BYTES = 24;
const BLOCK_ENTRY_BYTES = 36;
/** The length, in bytes, above which a content is stored in a file of its own. */
export const LARGE_BYTES = 8 * 1024 * 1024;
export const MAX_BLOCK_ENTRIES = 0xffff;
/**
 * The maximum total length, in bytes, of the contents of a shared block: a block with several contents. In
 * measurements, shared blocks took less time and less space than a block for each content.
 */
export const SHARED_BLOCK_BYTES = 256 * 1024;
export const BLOCK_MAGIC = Buffer.from("CBLK", "latin1");

const PACK_MAGIC = Buffer.from("CHRNPACK", "latin1");
const PACK_VERSION = 1;
const CODEC_RAW = 0;
const CODEC_ZSTD = 1;
/**
 * The minimum length, in bytes, of an input that is compressed. For a shorter input, the overhead of a zstd frame
 * exceeds the bytes that compression could save.
 */
const LEAST_TO_COMPRESS = 64;

export interface BlockEntry {
  readonly hash: Hash;
  /** The offset of the content in the unpacked block, in bytes. */
  readonly at: number;
  readonly length: number;
}

export interface BlockHead {
  readonly codec: "raw" | "zstd";
  readonly entries: readonly BlockEntry[];
  readonly storedLength: number;
  readonly rawLength: number;
  readonly storedCrc: number;
  /** The length, in bytes, of the head with its table. */
  readonly headBytes: number;
  readonly blockBytes: number;
}

/** Returns the header of a pack. `ulid`: 26 ASCII characters. */
export function encodePackHeader(ulid: string): Buffer {
  const header = Buffer.alloc(PACK_HEADER_BYTES);
  PACK_MAGIC.copy(header, 0);
  header.writeUInt16BE(PACK_VERSION, 8);
  header.write(ulid, 10, 26, "latin1");
  header.writeUInt32BE(crc32(header.subarray(0, 36)), 36);
  return header;
}

/**
 * Returns the pack's ULID; `undefined` if the bytes are not a header. Throws `FORMAT_UNSUPPORTED` for another version.
 */
export function decodePackHeader(bytes: Uint8Array): string | undefined {
  const header = asBuffer(bytes);
  if (header.length < PACK_HEADER_BYTES || !header.subarray(0, 8).equals(PACK_MAGIC)) return undefined;
  if (crc32(header.subarray(0, 36)) !== header.readUInt32BE(36)) return undefined;
  const version = header.readUInt16BE(8);
  if (version !== PACK_VERSION) {
    throw new ChronicleError(
      "FORMAT_UNSUPPORTED",
      `a pack has format version ${version}; this program knows ${PACK_VERSION}`,
      {
        hint: "Use a newer version of Chronicle.",
      },
    );
  }
  return header.toString("latin1", 10, 36);
}

export interface BlockInput {
  /** The hashes of the contents, 32 bytes each, concatenated. */
  readonly hashes: Uint8Array;
  readonly lengths: readonly number[];
  readonly raw: Uint8Array;
}

export interface EncodedBlock {
  readonly head: Buffer;
  readonly stored: Uint8Array;
}

export function encodeBlock(input: BlockInput): EncodedBlock {
  const count = input.lengths.length;
  const packed = compress(input.raw);
  const stored = packed ?? input.raw;
  const head = Buffer.allocUnsafe(BLOCK_HEAD_BYTES + BLOCK_ENTRY_BYTES * count);
  BLOCK_MAGIC.copy(head, 0);
  head[4] = packed === undefined ? CODEC_RAW : CODEC_ZSTD;
  head[5] = 0;
  head.writeUInt16BE(count, 6);
  head.writeUInt32BE(stored.length, 8);
  head.writeUInt32BE(input.raw.length, 12);
  head.writeUInt32BE(crc32(stored), 20);
  input.lengths.forEach((length, i) => {
    const at = BLOCK_HEAD_BYTES + BLOCK_ENTRY_BYTES * i;
    head.set(input.hashes.subarray(32 * i, 32 * i + 32), at);
    head.writeUInt32BE(length, at + 32);
  });
  head.writeUInt32BE(headCrc(head), 16);
  return { head, stored };
}

/**
 * Compresses the bytes to a zstd frame (level 1). Returns `undefined` if the bytes are fewer than `LEAST_TO_COMPRESS`,
 * or if compression saves less than 5%.
 */
export function compress(raw: Uint8Array): Buffer | undefined {
  if (raw.length < LEAST_TO_COMPRESS) return undefined;
  // Make one output buffer for the whole frame. With zlib's default buffers of 16 KiB, joining the buffers would take a
  // third of the time of this function.
  const chunkSize = raw.length + LEAST_TO_COMPRESS;
  const packed = zstdCompressSync(raw, { chunkSize, params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  if (packed.length <= raw.length * 0.95) return packed;
  freeBytes(packed);
  return undefined;
}

/** Unpacks one zstd frame. Returns `undefined` if the bytes are not a frame of exactly `rawLength` raw bytes. */
export function decompress(stored: Uint8Array, rawLength: number): Buffer | undefined {
  try {
    const chunkSize = Math.max(rawLength, LEAST_TO_COMPRESS);
    const raw = zstdDecompressSync(stored, { chunkSize, maxOutputLength: Math.max(rawLength, 1) });
    return raw.length === rawLength ? raw : undefined;
  } catch {
    // zlib throws many different errors for bytes that are no frame, and for a frame that is too large. Here, all these
    // errors mean damage.
    return undefined;
  }
}

/**
 * Returns the length of a block's head with its table. `first`: the first 24 bytes of the block. Returns `undefined` if
 * these bytes cannot begin a block. Does not check the CRC.
 */
export function blockHeadBytes(first: Uint8Array): number | undefined {
  const head = asBuffer(first);
  if (head.length < BLOCK_HEAD_BYTES || !head.subarray(0, 4).equals(BLOCK_MAGIC)) return undefined;
  const count = head.readUInt16BE(6);
  return count === 0 ? undefined : BLOCK_HEAD_BYTES + BLOCK_ENTRY_BYTES * count;
}

/**
 * Returns the head with its table; `undefined` if the bytes do not begin with a head and a table that match their CRC.
 */
export function decodeBlockHead(bytes: Uint8Array): BlockHead | undefined {
  const headBytes = blockHeadBytes(bytes);
  if (headBytes === undefined || bytes.length < headBytes) return undefined;
  const head = asBuffer(bytes).subarray(0, headBytes);
  if (headCrc(head) !== head.readUInt32BE(16)) return undefined;
  const codec = head[4];
  const storedLength = head.readUInt32BE(8);
  const rawLength = head.readUInt32BE(12);
  const entries: BlockEntry[] = [];
  let at = 0;
  for (let pos = BLOCK_HEAD_BYTES; pos < headBytes; pos += BLOCK_ENTRY_BYTES) {
    const length = head.readUInt32BE(pos + 32);
    entries.push({ hash: hashFromBytes(head.subarray(pos, pos + 32)), at, length });
    at += length;
  }
  const fits = at === rawLength && rawLength <= LARGE_BYTES && storedLength <= rawLength;
  if (!fits || head[5] !== 0 || (codec === CODEC_RAW ? storedLength !== rawLength : codec !== CODEC_ZSTD))
    return undefined;
  return {
    codec: codec === CODEC_RAW ? "raw" : "zstd",
    entries,
    storedLength,
    rawLength,
    storedCrc: head.readUInt32BE(20),
    headBytes,
    blockBytes: headBytes + storedLength,
  };
}

/** Returns the concatenated contents; `undefined` if they cannot be unpacked. Does not check their hashes. */
export function unpackBlock(head: BlockHead, stored: Uint8Array): Buffer | undefined {
  if (stored.length !== head.storedLength) return undefined;
  return head.codec === "raw" ? asBuffer(stored) : decompress(stored, head.rawLength);
}

/**
 * True if the stored bytes match their CRC. A read of a single content does not need this check, because such a read
 * checks the content by its hash.
 */
export function isStoredWhole(head: BlockHead, stored: Uint8Array): boolean {
  return stored.length === head.storedLength && crc32(stored) === head.storedCrc;
}

/**
 * Returns the number of bytes that a content of this length takes up in a block: its table entry and its share of the
 * stored bytes.
 */
export function storedShare(head: Pick<BlockHead, "storedLength" | "rawLength">, length: number): number {
  const body = head.rawLength === 0 ? 0 : Math.round((head.storedLength * length) / head.rawLength);
  return BLOCK_ENTRY_BYTES + body;
}

function headCrc(head: Buffer): number {
  return crc32(head.subarray(20), crc32(head.subarray(0, 16)));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
