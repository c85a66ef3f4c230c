import * as z from "zod";
import { count, hash, isState, namesPath, pathFields, sandboxId, stateFields } from "./fields.ts";
import { MAX_LINES_BYTES, MAX_NOTIFIED_LINE } from "./limits.ts";
import { MAX_LINE_BYTES } from "../../core/log/chain.ts";
import type { RecordBody } from "../../core/values/event.ts";

/**
 * The origin's events on their way to a replica. Each line is sent once, in order, in one of the first three messages.
 */

/** An event's line exactly as in the log, without the newline. */
const line = z.string().min(1).max(MAX_NOTIFIED_LINE);

export const notification = z
  .strictObject({ type: z.literal("Notification"), sequence: z.int().min(1), ...stateFields, line })
  .refine(isState, "the fields of the state do not agree");

/** A deletion and the creation of the same content elsewhere, as two adjacent events that are applied together. */
export const rename = z
  .strictObject({
    type: z.literal("Rename"),
    /** The deletion's sequence; the creation is the next event. */
    sequence: z.int().min(1),
    from: z.strictObject(pathFields).refine(namesPath, "is the root"),
    to: z.strictObject(pathFields).refine(namesPath, "is the root"),
    kind: z.enum(["file", "symlink"]),
    content_hash: hash,
    size: z.int().min(0),
    permissions: z.int().min(0).max(0o7777),
    lines: z.tuple([line, line]),
  })
  .refine(
    ({ from, to }) => from.filepath !== to.filepath || from.filepath_b64 !== to.filepath_b64 || from.root !== to.root,
    "both paths are the same",
  );

export const events = z
  .strictObject({
    type: z.literal("Events"),
    first_sequence: z.int().min(1),
    last_sequence: z.int().min(1),
    /** Whole lines with their newlines; or, with `part`, bytes of one line with its newline. */
    lines: z.custom<Uint8Array>(
      (value) => value instanceof Uint8Array && value.length > 0 && value.length <= MAX_LINES_BYTES,
      `is 1 to ${MAX_LINES_BYTES} bytes`,
    ),
    part: z
      .strictObject({
        offset: count,
        total: z
          .int()
          .min(1)
          .max(MAX_LINE_BYTES + 1),
      })
      .optional(),
  })
  .refine(({ first_sequence, last_sequence, lines, part }) => {
    if (part !== undefined) return first_sequence === last_sequence && part.offset + lines.length <= part.total;
    // A line has at least two bytes, including its newline.
    const most = lines.length / 2;
    return last_sequence >= first_sequence && last_sequence - first_sequence < most && lines.at(-1) === 0x0a;
  }, "the sequences and the lines do not agree");

export const ack = z.strictObject({ type: z.literal("Ack"), up_to_sequence: count });

export const barrierRequest = z.strictObject({ type: z.literal("BarrierRequest"), sequence: count });

export const barrierConfirmation = z.strictObject({
  type: z.literal("BarrierConfirmation"),
  /** The event that was asked about. */
  sequence: count,
  satisfied: z.boolean(),
  current_sequence: count,
});

export const catchupRequest = z.strictObject({
  type: z.literal("CatchupRequest"),
  sandbox_id: sandboxId,
  since_sequence: count,
});

/** An object as in JSON; its reader checks what it holds. */
const body = z.custom<RecordBody>((value) => value !== null && typeof value === "object" && !Array.isArray(value));

/** The end of a full reconciliation: the event, and the state after it. */
const anchor = z.strictObject({
  /** The hash of event `current_sequence`. */
  event_hash: hash,
  /** The Merkle root of the files after it, and the frontier of the log tree. */
  root: hash,
  frontier: z.array(hash).max(53),
  /** The workspace record in force then, and its event. */
  record: body,
  sequence: z.int().min(1),
  ts: z.string().max(64),
});

export const fullResyncRequired = z.strictObject({
  type: z.literal("FullResyncRequired"),
  /**
   * `compacted`: those lines are in an archive. `too-far`: beyond the limit. `diverged`: the replica's head is not in
   * this chain.
   */
  reason: z.enum(["compacted", "too-far", "diverged"]),
  current_sequence: count,
  /** For a replica that can reconcile (`tree`). */
  anchor: anchor.optional(),
});
