import { crc32 } from "node:zlib";
import { ChronicleError } from "../core/values/errors.ts";
import { hashFromBytes, hashToBytes, type Hash } from "../core/values/hash.ts";

/**
 * The format of `large/ab/<hash>.z`, a container: a content over 8 MiB in compressed pieces. (`large/ab/<hash>` without
 * `.z` is the content itself.) All integers are unsigned and big-endian.
 *
 * ```
 * header, 56 bytes                           piece, until the content is complete
 *  0  8  "CHRNLARG"                           0  4  stored length s
 *  8  2  version, 1                           4  4  raw length r, 1 to 1 MiB; only the last piece is shorter than 1 MiB
 * 10  2  0                                    8  4  CRC-32 of the s stored bytes
 * 12  8  length of the content               12  s  s = r: the bytes themselves; else one zstd frame of r raw bytes
 * 20 32  SHA-256 of the content
 * 52  4  CRC-32 of bytes 0 to 51
 * ```
 * The file ends with the last piece.
 */
export const LARGE_HEADER_BYTES = 56;
export const PIECE_HEAD_BYTES = 12;
/** The maximum number of raw bytes in one piece. */
export const PIECE_BYTES = 1024 * 1024;

const MAGIC = Buffer.from("CHRNLARG", "latin1");
const VERSION = 1;

export interface LargeHeader {
  readonly hash: Hash;
  readonly length: number;
}

export function encodeLargeHeader({ hash, length }: LargeHeader): Buffer {
  const header = Buffer.alloc(LARGE_HEADER_BYTES);
  MAGIC.copy(header, 0);
  header.writeUInt16BE(VERSION, 8);
  header.writeBigUInt64BE(BigInt(length), 12);
  hashToBytes(hash).copy(header, 20);
  header.writeUInt32BE(crc32(header.subarray(0, 52)), 52);
  return header;
}

/** Returns `undefined` if the bytes are not a header. Throws `FORMAT_UNSUPPORTED` for another version. */
export function decodeLargeHeader(header: Buffer): LargeHeader | undefined {
  if (header.length < LARGE_HEADER_BYTES || !header.subarray(0, 8).equals(MAGIC)) return undefined;
  if (crc32(header.subarray(0, 52)) !== header.readUInt32BE(52)) return undefined;
  const version = header.readUInt16BE(8);
  if (version !== VERSION) {
    throw new ChronicleError(
      "FORMAT_UNSUPPORTED",
      `a large content has format version ${version}; this program knows ${VERSION}`,
      {
        hint: "Use a newer version of Chronicle.",
      },
    );
  }
  return { hash: hashFromBytes(header.subarray(20, 52)), length: Number(header.readBigUInt64BE(12)) };
}

export function encodePiece(rawLength: number, stored: Uint8Array): Buffer {
  const head = Buffer.allocUnsafe(PIECE_HEAD_BYTES);
  head.writeUInt32BE(stored.length, 0);
  head.writeUInt32BE(rawLength, 4);
  head.writeUInt32BE(crc32(stored), 8);
  return Buffer.concat([head, stored]);
}

export interface PieceHead {
  readonly stored: number;
  readonly raw: number;
  /** The CRC-32 of the stored bytes. */
  readonly crc: number;
}

/** Returns the head of a piece; `undefined` if the head is cut off, or if a length in it is out of range. */
export function decodePieceHead(head: Buffer): PieceHead | undefined {
  if (head.length < PIECE_HEAD_BYTES) return undefined;
  const stored = head.readUInt32BE(0);
  const raw = head.readUInt32BE(4);
  return raw >= 1 && raw <= PIECE_BYTES && stored >= 1 && stored <= raw
    ? { stored, raw, crc: head.readUInt32BE(8) }
    : undefined;
}
