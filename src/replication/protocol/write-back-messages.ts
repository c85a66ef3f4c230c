import * as z from "zod";
import { count, hash, isState, name, pathFields, plainName, sandboxId, stateFields } from "./fields.ts";
import { MAX_ENTRIES } from "./limits.ts";

/** A replica's own changes on their way to the origin. An entry is identified by the replica and its `local_seq`. */

const entry = z
  .strictObject({
    local_seq: z.int().min(1),
    /** The hash of its event in the replica's own log. */
    event_hash: hash.optional(),
    ...stateFields,
    mtime_ms: count,
    /**
     * The origin's event on which the change is based: the last one of this path that the replica had applied; 0 if
     * none.
     */
    master_rowid_seen: count,
    actor: plainName,
    session: plainName.optional(),
    turn: plainName.optional(),
    action: plainName.optional(),
  })
  .refine(isState, "the fields of the state do not agree");

/**
 * The reason why an entry was not taken. After `unavailable` it must be sent again; after the others that does not
 * help.
 */
const reason = z.enum([
  /** The origin has a later state of this path. */
  "stale",
  /** It claims to have seen an event that does not exist, or is not about this path. */
  "causal-lie",
  "hash-mismatch",
  "path",
  "filtered",
  "read-only",
  "too-large",
  /** The replica no longer has the content. */
  "content-missing",
  /** The origin has erased the content. */
  "erased",
  /** The origin cannot take anything at present: nothing of the whole batch was decided. */
  "unavailable",
]);

export const writeBack = z
  .strictObject({
    type: z.literal("WriteBack"),
    sandbox_id: sandboxId,
    entries: z.array(entry).min(1).max(MAX_ENTRIES),
  })
  .refine(
    ({ entries }) => entries.every(({ local_seq }, i) => i === 0 || local_seq > (entries[i - 1]?.local_seq ?? 0)),
    "the entries do not ascend by local_seq",
  );

/** The place that keeps the losing side of a conflict. */
const kept = z.strictObject({
  content_hash: hash.nullable(),
  /** The iteration that it became, or the conflict that holds it. */
  iteration: z.int().min(1).optional(),
  conflict_id: name.optional(),
  /** A copy of it in the workspace. */
  copy: z.strictObject(pathFields).optional(),
});

export const writeBackResult = z.strictObject({
  type: z.literal("WriteBackResult"),
  accepted: z
    .array(
      z.strictObject({
        local_seq: z.int().min(1),
        /** Both are 0 if there never was anything, and there is nothing. */
        master_iteration: count,
        /** The event that it became, or that had already made the same change. */
        sequence: count,
      }),
    )
    .max(MAX_ENTRIES),
  rejected: z
    .array(
      z.strictObject({
        local_seq: z.int().min(1),
        reason,
        /** The last event of this path, if that is the reason. */
        current_sequence: count.optional(),
        kept: kept.optional(),
      }),
    )
    .max(MAX_ENTRIES),
});
