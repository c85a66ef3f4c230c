import { crc32 } from "node:zlib";
import { createHash } from "node:crypto";
import type { Hash } from "../../core/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { readFully } from "../../disk/write-fully.ts";
import { corrupt } from "./blob-trouble.ts";
import { decompress } from "./block.ts";
import {
  decodeLargeHeader,
  decodePieceHead,
  LARGE_HEADER_BYTES,
  PIECE_BYTES,
  PIECE_HEAD_BYTES,
} from "./large-format.ts";
import { readAt } from "./pack-scan.ts";

/** A file that holds one large content. */
export interface LargeSource {
  readonly path: string;
  readonly packed: boolean;
  readonly hash: Hash;
}

/** The length of the content that a file holds, from its header or its size; `undefined` when there is no sound file. */
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
  /** Is told the bytes read from the file. */
  readonly onStored?: (bytes: number) => void;
  /** Also refuse changed bytes that mean nothing for the content. */
  readonly isStrict?: boolean;
}

/**
 * The content of a large file, in pieces of at most 1 MiB. Throws `BLOB_CORRUPT` as soon as it is seen to be wrong, at
 * the latest at its end.
 */
export function* readLarge(disk: Disk, source: LargeSource, options: ReadLargeOptions = {}): Generator<Buffer> {
  const fd = disk.open(source.path, "read");
  try {
    const digest = createHash("sha256");
    const pieces = source.packed ? packedPieces(disk, fd, source, options.isStrict === true) : rawPieces(disk, fd);
    for (const { raw, stored } of pieces) {
      digest.update(raw);
      options.onStored?.(stored);
      yield raw;
    }
    if (digest.digest("hex") !== source.hash) throw corrupt(source.hash, source.path, "its bytes have another hash");
  } finally {
    disk.close(fd);
  }
}

interface Piece {
  readonly raw: Buffer;
  readonly stored: number;
}

function* rawPieces(disk: Disk, fd: number): Generator<Piece> {
  for (let position = 0; ;) {
    const raw = readAt(disk, fd, position, PIECE_BYTES);
    if (raw.length === 0) return;
    position += raw.length;
    yield { raw, stored: raw.length };
  }
}

function* packedPieces(disk: Disk, fd: number, source: LargeSource, isStrict: boolean): Generator<Piece> {
  const { hash, path } = source;
  const header = decodeLargeHeader(readAt(disk, fd, 0, LARGE_HEADER_BYTES));
  if (header?.hash !== hash) throw corrupt(hash, path, "its header is damaged");
  let position = LARGE_HEADER_BYTES;
  for (let left = header.length; left > 0;) {
    const head = decodePieceHead(readAt(disk, fd, position, PIECE_HEAD_BYTES));
    if (head === undefined || head.raw > left) throw corrupt(hash, `${path} at byte ${position}`, "a piece is damaged");
    const stored = Buffer.allocUnsafe(head.stored);
    const whole = readFully(disk, fd, stored, position + PIECE_HEAD_BYTES) === head.stored;
    const isWhole = whole && (!isStrict || crc32(stored) === head.crc);
    const raw = head.stored === head.raw ? stored : decompress(stored, head.raw);
    if (!isWhole || raw === undefined) throw corrupt(hash, `${path} at byte ${position}`, "a piece is damaged");
    position += PIECE_HEAD_BYTES + head.stored;
    left -= head.raw;
    yield { raw, stored: PIECE_HEAD_BYTES + head.stored };
  }
  if (disk.fstat(fd).size !== position) throw corrupt(hash, path, "there are bytes behind its end");
}
