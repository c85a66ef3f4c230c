import { crc32 } from "node:zlib";
import { createHash } from "node:crypto";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { ByteRange } from "../blob-store.ts";
import { readFully } from "../../disk/write-fully.ts";
import { corrupt } from "./blob-trouble.ts";
import { decompress } from "../block.ts";
import {
  decodeLargeHeader,
  decodePieceHead,
  LARGE_HEADER_BYTES,
  PIECE_BYTES,
  PIECE_HEAD_BYTES,
} from "../large-format.ts";
import { readAt } from "./pack-scan.ts";

export interface LargeSource {
  readonly path: string;
  readonly packed: boolean;
  readonly hash: Hash;
}

/**
 * Returns the length of the content; `undefined` if there is no such file, or if its header is invalid or names another
 * content.
 */
export function largeLength(disk: Disk, { path, packed, hash }: LargeSource): number | undefined {
  const stat = disk.lstat(path);
  if (stat?.kind !== "file") return undefined;
  if (!packed) return stat.size;
  const fd = disk.open(path, "read");
  try {
    const header = decodeLargeHeader(readAt(disk, fd, 0, LARGE_HEADER_BYTES));
    return header?.hash === hash ? header.length : undefined;
  } finally {
    disk.close(fd);
  }
}

export interface ReadLargeOptions {
  /** Called for each piece with the number of bytes that the piece takes up in the file. */
  readonly onStored?: (bytes: number) => void;
  /**
   * True to check the checksum of each piece of a packed file, in addition to the hash of the whole content. The
   * checksums also detect changes in the compressed bytes that do not change the unpacked content.
   */
  readonly isStrict?: boolean;
}

/**
 * Yields the content in pieces of at most 1 MiB. If the content is damaged, throws `BLOB_CORRUPT` before the last
 * piece, so that a reader never gets all bytes of a damaged content.
 */
export function* readLarge(disk: Disk, source: LargeSource, options: ReadLargeOptions = {}): Generator<Buffer> {
  const fd = disk.open(source.path, "read");
  try {
    const digest = createHash("sha256");
    const pieces = source.packed ? packedPieces(disk, fd, source, options.isStrict === true) : rawPieces(disk, fd);
    let last: Buffer | undefined;
    for (const { raw, stored } of pieces) {
      digest.update(raw);
      options.onStored?.(stored);
      if (last !== undefined) yield last;
      last = raw;
    }
    if (digest.digest("hex") !== source.hash) throw corrupt(source.hash, source.path, "its bytes have another hash");
    if (last !== undefined) yield last;
  } finally {
    disk.close(fd);
  }
}

/**
 * Yields a range of the content in pieces of at most 1 MiB. Checks the checksums of the pieces of a container. A raw
 * file has no checksums, so nothing is checked. The hash is never checked.
 */
export function* readLargeRange(disk: Disk, source: LargeSource, { start, end }: ByteRange): Generator<Buffer> {
  const fd = disk.open(source.path, "read");
  try {
    if (!source.packed) {
      for (const { raw } of rawPieces(disk, fd, { start, end })) yield raw;
      return;
    }
    let at = 0;
    for (const { head, position } of pieceHeads(disk, fd, source)) {
      if (at >= end) return;
      const from = at;
      at += head.raw;
      if (at <= start) continue;
      const raw = unpackPiece(disk, fd, { source, head, position, isStrict: true });
      yield raw.subarray(Math.max(0, start - from), Math.max(0, end - from));
    }
  } finally {
    disk.close(fd);
  }
}

interface Piece {
  readonly raw: Buffer;
  readonly stored: number;
}

function* rawPieces(
  disk: Disk,
  fd: number,
  { start, end }: ByteRange = { start: 0, end: Number.POSITIVE_INFINITY },
): Generator<Piece> {
  for (let position = start; position < end;) {
    const raw = readAt(disk, fd, position, Math.min(PIECE_BYTES, end - position));
    if (raw.length === 0) return;
    position += raw.length;
    yield { raw, stored: raw.length };
  }
}

function* packedPieces(disk: Disk, fd: number, source: LargeSource, isStrict: boolean): Generator<Piece> {
  let end = LARGE_HEADER_BYTES;
  for (const { head, position } of pieceHeads(disk, fd, source)) {
    const stored = PIECE_HEAD_BYTES + head.stored;
    end = position + stored;
    yield { raw: unpackPiece(disk, fd, { source, head, position, isStrict }), stored };
  }
  if (disk.fstat(fd).size !== end) throw corrupt(source.hash, source.path, "there are bytes after its end");
}

interface PlacedPiece {
  readonly head: NonNullable<ReturnType<typeof decodePieceHead>>;
  readonly position: number;
}

function* pieceHeads(disk: Disk, fd: number, { hash, path }: LargeSource): Generator<PlacedPiece> {
  const header = decodeLargeHeader(readAt(disk, fd, 0, LARGE_HEADER_BYTES));
  if (header?.hash !== hash) throw corrupt(hash, path, "its header is damaged");
  let position = LARGE_HEADER_BYTES;
  for (let left = header.length; left > 0;) {
    const head = decodePieceHead(readAt(disk, fd, position, PIECE_HEAD_BYTES));
    if (head === undefined || head.raw > left) throw corrupt(hash, `${path} at byte ${position}`, "a piece is damaged");
    yield { head, position };
    position += PIECE_HEAD_BYTES + head.stored;
    left -= head.raw;
  }
}

interface WantedPiece extends PlacedPiece {
  readonly source: LargeSource;
  readonly isStrict: boolean;
}

function unpackPiece(disk: Disk, fd: number, { source, head, position, isStrict }: WantedPiece): Buffer {
  const stored = Buffer.allocUnsafe(head.stored);
  const whole = readFully(disk, fd, stored, position + PIECE_HEAD_BYTES) === head.stored;
  const isWhole = whole && (!isStrict || crc32(stored) === head.crc);
  const raw = head.stored === head.raw ? stored : decompress(stored, head.raw);
  if (isWhole && raw !== undefined) return raw;
  throw corrupt(source.hash, `${source.path} at byte ${position}`, "a piece is damaged");
}
