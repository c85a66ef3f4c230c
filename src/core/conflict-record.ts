import type { Entry } from "./entry.ts";
import type { EventDraft, RecordBody } from "./event.ts";
import { decodePath, decodeState, encodePath, encodeState } from "./file-record.ts";
import type { Hash } from "./hash.ts";
import type { ConflictReason } from "./merge-entry.ts";
import type { WorkspacePath } from "./path.ts";
import { optionalText, text } from "./record-fields.ts";

/** How a conflict was settled. `withdrawn`: the undo that met it was taken back itself. */
export type ConflictEnd = "current" | "undo" | "merged" | "withdrawn";

/** `conflict:<id>`: what an undo wanted, where it did not merge with later work. All contents are kept. */
export interface ConflictRecord {
  readonly path: WorkspacePath;
  readonly state: "open" | "settled";
  readonly settled?: ConflictEnd;
  readonly reason: ConflictReason;
  /** The intent that met it. */
  readonly undo: string;
  readonly met: string;
  /** As the work left it; as it was left standing; as the undo would have it. */
  readonly base: Entry | undefined;
  readonly current: Entry | undefined;
  readonly wanted: Entry | undefined;
}

/** A conflict record with its id. */
export interface IdentifiedConflict {
  readonly id: string;
  readonly record: ConflictRecord;
}

/** A conflict record as JSON: states as in plans. */
export function encodeConflict(record: ConflictRecord): RecordBody {
  const { path, state, settled, reason, undo, met, base, current, wanted } = record;
  return {
    ...encodePath(path),
    state,
    ...(settled === undefined ? {} : { settled }),
    reason,
    undo,
    met,
    base: encodeState(base),
    current: encodeState(current),
    wanted: encodeState(wanted),
  };
}

/** The conflict record in a body. Throws `LOG_DAMAGED`. */
export function decodeConflict(body: RecordBody): ConflictRecord {
  const path = decodePath(body);
  const settled = optionalText(body, "settled");
  return {
    path,
    state: text(body, "state") as ConflictRecord["state"],
    ...(settled === undefined ? {} : { settled: settled as ConflictEnd }),
    reason: text(body, "reason") as ConflictReason,
    undo: text(body, "undo"),
    met: text(body, "met"),
    base: decodeState(path, body["base"]),
    current: decodeState(path, body["current"]),
    wanted: decodeState(path, body["wanted"]),
  };
}

/** The event that writes a conflict record. */
export function conflictDraft({ id, record }: IdentifiedConflict): EventDraft {
  return { op: "upsert", recordId: `conflict:${id}`, record: encodeConflict(record) };
}

/** The contents that a conflict needs while it is open. */
export function contentsOfConflict({ base, current, wanted }: ConflictRecord): Hash[] {
  return [base, current, wanted].flatMap((entry) => entry?.hash ?? []);
}
