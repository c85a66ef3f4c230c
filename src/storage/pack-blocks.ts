import { sha256Bytes } from "../core/values/hash.ts";
import type { BlobBlock } from "./blob-block.ts";
import { decodeBlockHead, encodeBlock, MAX_BLOCK_ENTRIES, SHARED_BLOCK_BYTES } from "./block.ts";

/** Packs contents of at most 8 MiB each into blocks, in order. Small contents share a block, as in packs. */
export function* packBlocks(contents: Iterable<Uint8Array>): Generator<BlobBlock> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for (const content of contents) {
    const isFull = bytes + content.length > SHARED_BLOCK_BYTES || held.length === MAX_BLOCK_ENTRIES;
    if (held.length > 0 && isFull) {
      yield blockOf(held);
      held = [];
      bytes = 0;
    }
    held.push(content);
    bytes += content.length;
  }
  if (held.length > 0) yield blockOf(held);
}

function blockOf(contents: readonly Uint8Array[]): BlobBlock {
  const { head, stored } = encodeBlock({
    hashes: Buffer.concat(contents.map(sha256Bytes)),
    lengths: contents.map(({ length }) => length),
    raw: contents.length === 1 && contents[0] !== undefined ? contents[0] : Buffer.concat(contents),
  });
  const decoded = decodeBlockHead(head);
  if (decoded === undefined) throw new Error("the encoded block cannot be decoded");
  const { entries, rawLength } = decoded;
  return { bytes: Buffer.concat([head, stored]), entries, rawLength, head: decoded };
}
