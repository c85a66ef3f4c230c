import { sha256 } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { readFully } from "../../disk/write-fully.ts";
import type { BlobPlace } from "../blob-index.ts";
import { BlobRowsBuilder, type BlobRows } from "../blob-rows.ts";
import {
  BLOCK_HEAD_BYTES,
  BLOCK_MAGIC,
  blockHeadBytes,
  decodeBlockHead,
  decodePackHeader,
  PACK_HEADER_BYTES,
  storedShare,
  unpackBlock,
  type BlockEntry,
  type BlockHead,
} from "../block.ts";
import { hashToBytes, type Hash } from "../../core/values/hash.ts";

const WINDOW_BYTES = 1024 * 1024;

export type PackPart =
  | { readonly kind: "block"; readonly offset: number; readonly head: BlockHead }
  | { readonly kind: "garbage"; readonly from: number; readonly to: number };

/** Returns the `length` bytes at an offset, or fewer if the file ends earlier. */
export function readAt(disk: Disk, fd: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, readFully(disk, fd, bytes, offset));
}

/** Returns the ULID in the header of an open pack; `undefined` if the header is damaged. */
export function readPackUlid(disk: Disk, fd: number): string | undefined {
  return decodePackHeader(readAt(disk, fd, 0, PACK_HEADER_BYTES));
}

/**
 * Yields the blocks of an open pack between two offsets. Reads only the heads of the blocks. Bytes that do not begin
 * with a valid head are garbage, up to the next valid head. A block that extends beyond `to` is garbage, too.
 */
export function* scanPack(disk: Disk, fd: number, from: number, to: number): Generator<PackPart> {
  for (let offset = from; offset < to;) {
    const head = readBlockHead(disk, fd, offset);
    if (head !== undefined && offset + head.blockBytes <= to) {
      yield { kind: "block", offset, head };
      offset += head.blockBytes;
      continue;
    }
    const next = findBlock(disk, fd, offset + 1, to) ?? to;
    yield { kind: "garbage", from: offset, to: next };
    offset = next;
  }
}

/** Returns the unpacked contents of a block; `undefined` if they cannot be unpacked. Does not check their hashes. */
export function readBlock(disk: Disk, fd: number, offset: number, head: BlockHead): Buffer | undefined {
  return unpackBlock(head, readStored(disk, fd, offset, head));
}

export function readStored(disk: Disk, fd: number, offset: number, head: BlockHead): Buffer {
  return readAt(disk, fd, offset + head.headBytes, head.storedLength);
}

/**
 * Returns the contents whose bytes do not match their hash. Returns all contents if the block could not be unpacked
 * (`raw` is `undefined`).
 */
export function damagedIn(head: BlockHead, raw: Buffer | undefined): readonly BlockEntry[] {
  if (raw === undefined) return head.entries;
  return head.entries.filter(({ hash, at, length }) => sha256(raw.subarray(at, at + length)) !== hash);
}

type PlaceInBlock = Pick<Extract<BlobPlace, { kind: "pack" }>, "blockBytes" | "at" | "length">;

/** True if a block holds the content exactly as the index says. */
export function isPlaceIn(head: BlockHead, hash: Hash, place: PlaceInBlock): boolean {
  return (
    head.blockBytes === place.blockBytes &&
    head.entries.some((one) => one.hash === hash && one.at === place.at && one.length === place.length)
  );
}

/**
 * Adds a row for each content of a block. `pack`: the position of the pack in the list of packs to which the rows
 * refer.
 */
export function addBlockRows(rows: BlobRowsBuilder, pack: number, offset: number, head: BlockHead): void {
  for (const { hash, at, length } of head.entries) {
    const stored = storedShare(head, length);
    rows.add(hashToBytes(hash), { pack, block: offset, blockBytes: head.blockBytes, at, length, stored });
  }
}

/**
 * Returns the rows of all blocks between two offsets. Reads only the heads of the blocks, so the caller must know that
 * all bytes of the blocks are durable.
 */
export function rowsByHeads(disk: Disk, fd: number, from: number, to: number): BlobRows {
  const rows = new BlobRowsBuilder();
  for (const part of scanPack(disk, fd, from, to)) {
    if (part.kind === "block") addBlockRows(rows, 0, part.offset, part.head);
  }
  return rows.build();
}

/**
 * Returns the rows of the sound blocks at the beginning of a range, and the offset at which these blocks end. They end
 * before the first garbage, or before the first block with a damaged content.
 */
export function checkTail(
  disk: Disk,
  fd: number,
  from: number,
  to: number,
): { readonly rows: BlobRows; readonly end: number } {
  const rows = new BlobRowsBuilder();
  let end = from;
  for (const part of scanPack(disk, fd, from, to)) {
    if (part.kind === "garbage") break;
    if (damagedIn(part.head, readBlock(disk, fd, part.offset, part.head)).length > 0) break;
    addBlockRows(rows, 0, part.offset, part.head);
    end = part.offset + part.head.blockBytes;
  }
  return { rows: rows.build(), end };
}

function readBlockHead(disk: Disk, fd: number, offset: number): BlockHead | undefined {
  const first = readAt(disk, fd, offset, 4096);
  const headBytes = blockHeadBytes(first);
  if (headBytes === undefined) return undefined;
  return decodeBlockHead(headBytes <= first.length ? first : readAt(disk, fd, offset, headBytes));
}

function findBlock(disk: Disk, fd: number, from: number, to: number): number | undefined {
  for (let start = from; start + BLOCK_HEAD_BYTES <= to;) {
    const window = readAt(disk, fd, start, Math.min(WINDOW_BYTES, to - start));
    if (window.length < BLOCK_HEAD_BYTES) return undefined;
    for (let at = window.indexOf(BLOCK_MAGIC); at >= 0; at = window.indexOf(BLOCK_MAGIC, at + 1)) {
      const head = readBlockHead(disk, fd, start + at);
      if (head !== undefined && start + at + head.blockBytes <= to) return start + at;
    }
    // Two successive windows overlap by one byte less than the length of the magic, so that a magic across their border
    // is found.
    start += window.length - (BLOCK_MAGIC.length - 1);
  }
  return undefined;
}
