import * as z from "zod";
import { bytes, count, hash, namesPath, pathFields } from "./fields.ts";
import { INLINE_BELOW_BYTES, MAX_CHUNK_BYTES, MAX_CHUNKS, MAX_PIECE_BYTES } from "./limits.ts";

/** Contents by their hashes. Either side may ask, since the origin may lack a written-back content. */

const length = z.int().min(1).max(MAX_PIECE_BYTES);

export const contentFetchRequest = z.strictObject({
  type: z.literal("ContentFetchRequest"),
  content_hash: hash,
  /** The requested piece. If omitted: the whole content, or its manifest if it is longer than one piece. */
  offset: count.optional(),
  length: length.optional(),
});

const chunk = z.strictObject({ hash, offset: count, size: z.int().min(1).max(MAX_CHUNK_BYTES) });

/** Adjacent chunks that make up the whole content, all of equal size except for the last one. */
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
    /** Size of the whole content. */
    size: z.int().min(0),
    /** Offset of the piece. */
    offset: count,
    chunk_manifest: chunkManifest.optional(),
  })
  .refine(({ content, size, offset, chunk_manifest }) => {
    if (offset + content.length > size) return false;
    if (chunk_manifest !== undefined) return chunk_manifest.total_size === size;
    return content.length > 0 || size === 0;
  }, "the piece does not lie in the content");

export const contentNotFound = z.strictObject({ type: z.literal("ContentNotFound"), content_hash: hash });

/**
 * A small content that the next event of this path may name. The receiver may make it durable before that event comes.
 */
export const contentAhead = z
  .strictObject({
    type: z.literal("ContentAhead"),
    ...pathFields,
    content_hash: hash,
    content: bytes(INLINE_BELOW_BYTES - 1),
  })
  .refine(namesPath, "is the root");
