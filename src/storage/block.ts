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
 * The ULID identifies a pack, whose file name changes when it is sealed. Codec 0: s = r. Codec 1: one zstd frame that
 * unpacks to r bytes, used if it saves at least 5%. By the first CRC, a scan finds where blocks begin. The contents are
 * checked by their SHA-256. The second CRC is for `verify`: it detects changed bits of a zstd frame that do not affect
 * the contents.
 */
export const PACK_HEADER_BYTES = 40;
/** The length of a block's head, before its table, in bytes. */
export const BLOCK_HEAD_BYTES = 24;
const BLOCK_ENTRY_BYTES = 36;
/** The length above which a content is a file of its own, in bytes. */
export const LARGE_BYTES = 8 * 1024 * 1024;
/** The maximum number of contents in one block. */
export const MAX_BLOCK_ENTRIES = 0xffff;
/**
 * The maximum of raw bytes in a block that small contents share. Shared blocks were measured to be faster and smaller
 * than one for each content.
 */
export const SHARED_BLOCK_BYTES = 256 * 1024;
/** The four bytes with which a block begins. */
export const BLOCK_MAGIC = Buffer.from("CBLK", "latin1");

const PACK_MAGIC = Buffer.from("CHRNPACK", "latin1");
const PACK_VERSION = 1;
const CODEC_RAW = 0;
const CODEC_ZSTD = 1;
/** The length from which bytes are compressed. Below it, the overhead of a frame exceeds what it could save. */
const LEAST_TO_COMPRESS = 64;

/** A content of a block: its offset and length in the unpacked bytes. */
export interface BlockEntry {
  readonly hash: Hash;
  readonly at: number;
  readonly length: number;
}

/** The fields of a block's head and table. */
export interface BlockHead {
  readonly codec: "raw" | "zstd";
  readonly entries: readonly BlockEntry[];
  readonly storedLength: number;
  readonly rawLength: number;
  readonly storedCrc: number;
  /** The length of the head with its table, in bytes. */
  readonly headBytes: number;
  /** The length of the whole block, in bytes. */
  readonly blockBytes: number;
}

/** Encodes the header of the pack with this ULID (26 ASCII characters). */
export function encodePackHeader(ulid: string): Buffer {
  const header = Buffer.alloc(PACK_HEADER_BYTES);
  PACK_MAGIC.copy(header, 0);
  header.writeUInt16BE(PACK_VERSION, 8);
  header.write(ulid, 10, 26, "latin1");
  header.writeUInt32BE(crc32(header.subarray(0, 36)), 36);
  return header;
}

/**
 * Decodes the ULID in a pack's header. Returns `undefined` if the bytes are not a header. Throws `FORMAT_UNSUPPORTED`
 * for another version.
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

/** The contents to encode as one block. */
export interface BlockInput {
  /** The hashes of the contents, 32 bytes each, concatenated. */
  readonly hashes: Uint8Array;
  readonly lengths: readonly number[];
  /** The contents, concatenated. */
  readonly raw: Uint8Array;
}

/** A block in two parts, to be written one after the other. */
export interface EncodedBlock {
  readonly head: Buffer;
  readonly stored: Uint8Array;
}

/** Encodes a block. Compresses the contents if that saves at least 5%. */
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

/** Compresses the bytes to a zstd frame (level 1). Returns `undefined` if it saves less than 5%. */
export function compress(raw: Uint8Array): Buffer | undefined {
  if (raw.length < LEAST_TO_COMPRESS) return undefined;
  // The whole frame gets one output buffer, because joining zlib's buffers of 16 KiB would take a third of the time.
  const chunkSize = raw.length + LEAST_TO_COMPRESS;
  const packed = zstdCompressSync(raw, { chunkSize, params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  if (packed.length <= raw.length * 0.95) return packed;
  freeBytes(packed);
  return undefined;
}

/** Unpacks one zstd frame. Returns `undefined` if the bytes are not a frame of exactly this many raw bytes. */
export function decompress(stored: Uint8Array, rawLength: number): Buffer | undefined {
  try {
    const chunkSize = Math.max(rawLength, LEAST_TO_COMPRESS);
    const raw = zstdDecompressSync(stored, { chunkSize, maxOutputLength: Math.max(rawLength, 1) });
    return raw.length === rawLength ? raw : undefined;
  } catch {
    // zlib throws many different errors for bytes that are not a frame, or too large a frame. All mean damage here.
    return undefined;
  }
}

/**
 * Returns the length of a block's head with its table, from its first 24 bytes; `undefined` if these cannot be a head.
 * Only `decodeBlockHead` checks the CRC.
 */
export function blockHeadBytes(first: Uint8Array): number | undefined {
  const head = asBuffer(first);
  if (head.length < BLOCK_HEAD_BYTES || !head.subarray(0, 4).equals(BLOCK_MAGIC)) return undefined;
  const count = head.readUInt16BE(6);
  return count === 0 ? undefined : BLOCK_HEAD_BYTES + BLOCK_ENTRY_BYTES * count;
}

/** Decodes a block's head and table. Returns `undefined` if the bytes do not begin with both, with the right CRC. */
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

/**
 * Returns the contents of a block, concatenated; `undefined` if they cannot be unpacked. Does not check their hashes.
 */
export function unpackBlock(head: BlockHead, stored: Uint8Array): Buffer | undefined {
  if (stored.length !== head.storedLength) return undefined;
  return head.codec === "raw" ? asBuffer(stored) : decompress(stored, head.rawLength);
}

/**
 * Returns true if the stored bytes have the CRC with which they were written. Reads do not need this check, because
 * each content is checked by its hash, and a damaged content does not affect the others.
 */
export function isStoredWhole(head: BlockHead, stored: Uint8Array): boolean {
  return stored.length === head.storedLength && crc32(stored) === head.storedCrc;
}

/** Returns the share of a block's bytes that a content of this length takes up. */
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
