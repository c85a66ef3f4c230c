import * as z from "zod";
import { bytes, hash } from "./fields.ts";
import { MAX_ASKED, MAX_BLOCKS_BYTES, MAX_NOT_IN_BLOCKS } from "./limits.ts";

/** Many contents at once, as blocks of a pack (docs/format.md). Requires the capability `blocks`. */

/** Bytes of one hash. */
const HASH_BYTES = 32;

export const blocksRequest = z.strictObject({
  type: z.literal("BlocksRequest"),
  /** The requested contents: 32 bytes each, concatenated. */
  hashes: bytes(MAX_ASKED * HASH_BYTES).refine(
    ({ length }) => length > 0 && length % HASH_BYTES === 0,
    "is one hash or more",
  ),
});

const hashes = z.array(hash).max(MAX_NOT_IN_BLOCKS);

/** Part of the answer to one or more requests. */
export const blocksResponse = z.strictObject({
  type: z.literal("BlocksResponse"),
  /** Whole blocks, concatenated, that contain only requested contents. */
  blocks: bytes(MAX_BLOCKS_BYTES),
  /** Contents that the origin does not have. */
  absent: hashes,
  /** Contents that it has but that do not go in a block: to be asked for by `ContentFetchRequest`. */
  apart: hashes,
});
