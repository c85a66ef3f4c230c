import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { ChronicleError } from "../core/values/errors.ts";
import { sha256, type Hash } from "../core/values/hash.ts";
import { freeBytes } from "../util/free-bytes.ts";
import { decodeBlockHead, decompress, isStoredWhole, unpackBlock, type BlockEntry, type BlockHead } from "./block.ts";
import { decodeLargeHeader, decodePieceHead, LARGE_HEADER_BYTES, PIECE_HEAD_BYTES } from "./large-format.ts";

/**
 * Contents as a store keeps them: a block of a pack, or the container of one content over 8 MiB (docs/format.md,
 * "Packs"). Stores pass blocks and containers to each other unchanged, so that no content is compressed a second time.
 */
export interface BlobBlock {
  readonly bytes: Uint8Array;
  /** The contents, in the order in which they are concatenated. */
  readonly entries: readonly BlockEntry[];
  /** The total length of all contents, in bytes. */
  readonly rawLength: number;
  /** `undefined` for a container. */
  readonly head: BlockHead | undefined;
}

/**
 * The maximum length, in bytes, of a content that a store passes on in a container. The receiver unpacks a container in
 * one turn of the event loop, so a longer content would block its thread for too long.
 */
export const MAX_CONTAINER_CONTENT_BYTES = 64 * 1024 * 1024;

/**
 * Splits concatenated blocks and containers by their heads. Throws `INTEGRITY_VIOLATION` if the bytes do not consist of
 * whole blocks and containers, or if a head states a content length above the limits. The contents are not checked.
 */
export function splitBlocks(bytes: Uint8Array): BlobBlock[] {
  const blocks: BlobBlock[] = [];
  for (let at = 0; at < bytes.length;) {
    const rest = bytes.subarray(at);
    const block = readBlock(rest) ?? readContainer(rest);
    if (block === undefined) refuse("the bytes are not a sequence of whole blocks");
    blocks.push(block);
    at += block.bytes.length;
  }
  return blocks;
}

/**
 * Checks a block from another store. Throws `INTEGRITY_VIOLATION` if a content does not have its stated hash, or if the
 * stored bytes are not in a form that a store writes. Unpacks at most 8 MiB at a time.
 */
export function checkBlock(block: BlobBlock): void {
  const { head } = block;
  if (head === undefined) return checkContainer(block);
  const raw = openPacked(block, head);
  if (head.codec === "zstd") freeBytes(raw);
}

/** True if every piece of a container matches its checksum. */
export function isContainerWhole({ bytes }: BlobBlock): boolean {
  for (let at = LARGE_HEADER_BYTES; at < bytes.length;) {
    const head = decodePieceHead(asBuffer(bytes.subarray(at)));
    if (head === undefined) return false;
    const end = at + PIECE_HEAD_BYTES + head.stored;
    if (crc32(bytes.subarray(at + PIECE_HEAD_BYTES, end)) !== head.crc) return false;
    at = end;
  }
  return true;
}

/** Checks a block as `checkBlock` does, and returns its contents, concatenated. */
export function openBlock(block: BlobBlock): Buffer {
  const { head } = block;
  if (head !== undefined) return openPacked(block, head);
  checkContainer(block);
  return Buffer.concat([...rawPieces(block)], block.rawLength);
}

function readBlock(bytes: Uint8Array): BlobBlock | undefined {
  const head = decodeBlockHead(bytes);
  if (head === undefined || head.blockBytes > bytes.length) return undefined;
  const { entries, rawLength } = head;
  return { bytes: bytes.subarray(0, head.blockBytes), entries, rawLength, head };
}

function readContainer(bytes: Uint8Array): BlobBlock | undefined {
  const header = decodeLargeHeader(asBuffer(bytes));
  if (header === undefined || header.length > MAX_CONTAINER_CONTENT_BYTES) return undefined;
  const { hash, length } = header;
  let end = LARGE_HEADER_BYTES;
  for (let left = length; left > 0;) {
    const piece = decodePieceHead(asBuffer(bytes.subarray(end)));
    if (piece === undefined || piece.raw > left) return undefined;
    left -= piece.raw;
    end += PIECE_HEAD_BYTES + piece.stored;
  }
  if (end > bytes.length) return undefined;
  return { bytes: bytes.subarray(0, end), entries: [{ hash, at: 0, length }], rawLength: length, head: undefined };
}

function openPacked({ bytes, entries }: BlobBlock, head: BlockHead): Buffer {
  const stored = bytes.subarray(head.headBytes);
  if (!isStoredWhole(head, stored)) refuse("the checksum of a block differs");
  if (head.codec === "zstd" && !isOneFrame(stored, head.rawLength))
    refuse("the bytes of a block are not one zstd frame of the stated length");
  const raw = unpackBlock(head, stored);
  if (raw === undefined) refuse("a block cannot be unpacked");
  for (const { hash, at, length } of entries) mustBe(hash, sha256(raw.subarray(at, at + length)));
  return raw;
}

function checkContainer(block: BlobBlock): void {
  const digest = createHash("sha256");
  for (const raw of rawPieces(block)) {
    digest.update(raw);
    freeBytes(raw);
  }
  for (const { hash } of block.entries) mustBe(hash, digest.digest("hex") as Hash);
}

/** Yields the unpacked pieces of a container. Each piece has its own memory, which the consumer can free. */
function* rawPieces({ bytes }: BlobBlock): Generator<Buffer> {
  for (let at = LARGE_HEADER_BYTES; at < bytes.length;) {
    const head = decodePieceHead(asBuffer(bytes.subarray(at)));
    if (head === undefined) refuse("a piece of a content is damaged");
    const stored = bytes.subarray(at + PIECE_HEAD_BYTES, at + PIECE_HEAD_BYTES + head.stored);
    if (crc32(stored) !== head.crc) refuse("the checksum of a piece differs");
    const isPacked = head.stored < head.raw;
    if (isPacked && !isOneFrame(stored, head.raw))
      refuse("the bytes of a piece are not one zstd frame of the stated length");
    const raw = isPacked ? decompress(stored, head.raw) : Buffer.from(stored);
    if (raw === undefined) refuse("a piece cannot be unpacked");
    yield raw;
    at += PIECE_HEAD_BYTES + head.stored;
  }
}

function mustBe(hash: Hash, found: Hash): void {
  if (found !== hash) refuse(`a content with the stated hash ${hash} has the hash ${found}`);
}

function refuse(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const MAGIC = 0xfd2fb528;
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;

/**
 * Maps the value of Frame_Content_Size_flag to the length, in bytes, of the field Frame_Content_Size. If
 * Single_Segment_flag is set, the value 0 means one byte instead.
 */
const LENGTH_BYTES = [0, 2, 4, 8];
const RLE = 1;
const RESERVED = 3;

/**
 * True if the bytes are exactly one zstd frame (RFC 8878, section 3.1.1). The frame must have no dictionary and a
 * window of at most 8 MiB, and its stated length, if any, must be `rawLength`. The content of the frame is not checked.
 *
 * This check comes before any zstd library reads bytes from another store. Such libraries ignore bytes after the first
 * frame, skip skippable frames, and allocate whatever memory a header asks for.
 */
export function isOneFrame(bytes: Uint8Array, rawLength: number): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 6 || view.getUint32(0, true) !== MAGIC) return false;
  const descriptor = view.getUint8(4);
  const isSingle = (descriptor & 0x20) !== 0;
  const isPlain = (descriptor & 0x08) === 0 && (descriptor & 0x03) === 0;
  if (!isPlain || (!isSingle && windowBytes(view.getUint8(5)) > MAX_WINDOW_BYTES)) return false;
  const flag = descriptor >> 6;
  const lengthBytes = flag === 0 && isSingle ? 1 : (LENGTH_BYTES[flag] ?? 0);
  const lengthAt = isSingle ? 5 : 6;
  const blocksAt = lengthAt + lengthBytes;
  if (blocksAt > bytes.length || (lengthBytes > 0 && saidLength(view, lengthAt, lengthBytes) !== rawLength))
    return false;
  const end = endOfBlocks(view, blocksAt);
  return end !== undefined && end + ((descriptor & 0x04) === 0 ? 0 : 4) === bytes.length;
}

function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function saidLength(view: DataView, at: number, bytes: number): number {
  if (bytes === 1) return view.getUint8(at);
  if (bytes === 2) return view.getUint16(at, true) + 256;
  return bytes === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
}

/**
 * Returns the end of the last block; `undefined` if the bytes end before the last block does, or if a block has the
 * reserved type.
 */
function endOfBlocks(view: DataView, from: number): number | undefined {
  for (let at = from; at + 3 <= view.byteLength;) {
    const head = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    const kind = (head >> 1) & 3;
    if (kind === RESERVED) return undefined;
    at += 3 + (kind === RLE ? 1 : head >> 3);
    if ((head & 1) === 1) return at <= view.byteLength ? at : undefined;
  }
  return undefined;
}
