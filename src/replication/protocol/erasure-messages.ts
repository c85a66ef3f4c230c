import * as z from "zod";
import { bytes, count } from "./fields.ts";
import { MAX_ERASURES_BYTES, MAX_PIECE_BYTES } from "./limits.ts";

/** The erasures of the state at which a full reconciliation ends. Requires the capability `erasures`. */

export const erasuresRequest = z.strictObject({
  type: z.literal("ErasuresRequest"),
  /** The event that `FullResyncRequired` has named. */
  sequence: count,
  /** Offset of the requested piece. */
  offset: count,
});

export const erasuresResponse = z
  .strictObject({
    type: z.literal("ErasuresResponse"),
    sequence: count,
    offset: count,
    /** Length of all rows. */
    total: z.int().min(0).max(MAX_ERASURES_BYTES),
    /** Record rows of a base (docs/format.md), or a piece of them. */
    rows: bytes(MAX_PIECE_BYTES),
  })
  .refine(
    ({ offset, total, rows }) => rows.length === Math.min(MAX_PIECE_BYTES, total - offset),
    "the piece is not as long as it can be",
  );
