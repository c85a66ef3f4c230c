import * as z from "zod";
import { bytes, count, hash, namesPath, pathFields } from "./fields.ts";
import { INLINE_BELOW_BYTES, MAX_CHUNK_BYTES, MAX_CHUNKS, MAX_PIECE_BYTES } from "./limits.ts";

/** Contents by their hashes. Either side asks, for a written-back content may be missing at the origin. */

const length = z.int().min(1).max(MAX_PIECE_BYTES);

export const contentFetchRequest = z.strictObject({
  type: z.literal("ContentFetchRequest"),
  content_hash: hash,
  /** A piece of it. Left out: the whole content, or its manifest where that is more than one piece. */
  offset: count.optional(),
  length: length.optional(),
});

const chunk = z.strictObject({ hash, offset: count, size: z.int().min(1).max(MAX_CHUNK_BYTES) });

/** Chunks of equal size, but for the last one, which lie next to each other and are the whole content. */
const chunkManifest = z
  .strictObject({
    total_size: z.int().min(1),
    chunk_size: z.int().min(1).max(MAX_CHUNK_BYTES),
    chunks: z.array(chunk).min(1).max(MAX_CHUNKS),
  })
  .refine(({ total_size, chunk_size, chunks }) => {
    if (chunks.length !== Math.ceil(total_size / chunk_size)) return false;
    return chunks.every(
      ({ offset, size }, i) => offset === i * chunk_size && size === Math.min(chunk_size, total_size - offset),
    );
  }, "the chunks are not the content");

export const contentFetchResponse = z
  .strictObject({
    type: z.literal("ContentFetchResponse"),
    content_hash: hash,
    content: bytes(MAX_PIECE_BYTES),
    /** Of the whole content. */
    size: z.int().min(0),
    /** Where the piece begins. */
    offset: count,
    chunk_manifest: chunkManifest.optional(),
  })
  .refine(({ content, size, offset, chunk_manifest }) => {
    if (offset + content.length > size) return false;
    if (chunk_manifest !== undefined) return chunk_manifest.total_size === size;
    return content.length > 0 || size === 0;
  }, "the piece does not lie in the content");

export const contentNotFound = z.strictObject({ type: z.literal("ContentNotFound"), content_hash: hash });

/** A small content that the next event of this path will name, or not: whoever wants it may make it durable before that comes. */
export const contentAhead = z
  .strictObject({
    type: z.literal("ContentAhead"),
    ...pathFields,
    content_hash: hash,
    content: bytes(INLINE_BELOW_BYTES - 1),
  })
  .refine(namesPath, "is the root");
