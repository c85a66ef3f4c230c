import type { Entry } from "../values/entry.ts";
import type { EventDraft, RecordBody } from "../values/event.ts";
import { decodePath, decodeState, encodePath, encodeState } from "../values/file-record.ts";
import type { Hash } from "../values/hash.ts";
import type { ConflictReason } from "../tree/merge-text.ts";
import type { WorkspacePath } from "../values/path.ts";
import { oneOf, optionalText, text, whole } from "../values/record-fields.ts";
import { optional } from "../../util/optional.ts";

/**
 * The way in which a conflict was settled.
 * - `current`: the path keeps its state. In a sync, that is the folder's state.
 * - `undo`: the path gets the state that the undo wanted. In a sync, that is the origin's state.
 * - `merged`: the path gets a merged content.
 * - `withdrawn`: the undo that caused the conflict was itself undone, or a folder and its origin agree again without a
 *   person's decision.
 */
export type ConflictEnd = "current" | "undo" | "merged" | "withdrawn";

/** The additional fields of a conflict between a folder and its origin. */
export interface SyncConflict {
  /** The id of the origin's workspace. */
  readonly origin: string;
  /** The seq of the origin's event that recorded `base`; 0 if the origin never had the path. */
  readonly baseSeq: number;
  /** The seq of the origin's event that recorded `wanted`; 0 if the origin never had the path. */
  readonly upstreamSeq: number;
  /**
   * The seq of the origin's event up to which the folder had been reconciled before the conflict. The state after this
   * event is the base of all paths beneath the conflict's path.
   */
  readonly since?: number;
  /** Only for a `blocked` conflict: a text for messages that says why the origin's state cannot be written. */
  readonly detail?: string;
}

/**
 * `conflict:<id>`: a conflict. Either an undo wanted a state that did not merge with later work, or the states of a
 * folder and its origin did not merge (`sync`). The contents of all these states are kept.
 */
export interface ConflictRecord {
  readonly path: WorkspacePath;
  readonly state: "open" | "settled";
  /** The way in which the conflict was settled. Omitted while the conflict is open. */
  readonly settled?: ConflictEnd;
  /**
   * The reason of the conflict. Two reasons occur only in a sync. With `blocked`, the origin's state cannot be written
   * to the folder. With `collision`, the folder's disk treats the path's name as that of another path in the folder.
   */
  readonly reason: ConflictReason | "blocked" | "collision";
  /** The id of the intent that caused the conflict; `""` for a sync. */
  readonly undo: string;
  /** Set only for a conflict between a folder and its origin. */
  readonly sync?: SyncConflict;
  /** The time at which the conflict was found, in ISO 8601 UTC. */
  readonly met: string;
  /**
   * The three states of the path; `undefined` if the path did not exist:
   * - `base`: the state that the undone work left. In a sync, the state on which the folder's side is based.
   * - `current`: the state that the path keeps. In a sync, the folder's state.
   * - `wanted`: the state that the undo would restore. In a sync, the origin's state.
   */
  readonly base: Entry | undefined;
  readonly current: Entry | undefined;
  readonly wanted: Entry | undefined;
}

export interface IdentifiedConflict {
  readonly id: string;
  readonly record: ConflictRecord;
}

/** Encodes a conflict record. The states are encoded as in plans. */
export function encodeConflict(record: ConflictRecord): RecordBody {
  const { path, state, settled, reason, undo, sync, met, base, current, wanted } = record;
  return {
    ...encodePath(path),
    state,
    ...optional({ settled }),
    reason,
    ...(sync === undefined ? { undo } : encodeSync(sync)),
    met,
    base: encodeState(base),
    current: encodeState(current),
    wanted: encodeState(wanted),
  };
}

function encodeSync({ origin, baseSeq, upstreamSeq, since, detail }: SyncConflict): RecordBody {
  const told = detail === undefined ? {} : { detail: detail.toWellFormed() };
  const before = since === undefined ? {} : { since };
  return { cause: "sync", origin, base_seq: baseSeq, upstream_seq: upstreamSeq, ...before, ...told };
}

function decodeSync(body: RecordBody): SyncConflict | undefined {
  if (body["cause"] !== "sync") return undefined;
  const detail = optionalText(body, "detail");
  return {
    origin: text(body, "origin"),
    baseSeq: whole(body, "base_seq"),
    upstreamSeq: whole(body, "upstream_seq"),
    ...(body["since"] === undefined ? {} : { since: whole(body, "since") }),
    ...optional({ detail }),
  };
}

const STATES: ReadonlySet<ConflictRecord["state"]> = new Set(["open", "settled"]);
const ENDS: ReadonlySet<ConflictEnd> = new Set(["current", "undo", "merged", "withdrawn"]);
const REASONS: ReadonlySet<ConflictReason> = new Set([
  "content",
  "binary",
  "mode",
  "kind",
  "deleted",
  "edited",
  "created",
  "folder",
]);
const SYNC_REASONS: ReadonlySet<ConflictRecord["reason"]> = new Set([...REASONS, "blocked", "collision"] as const);

/** Decodes a conflict record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeConflict(body: RecordBody): ConflictRecord {
  const path = decodePath(body);
  const state = oneOf(body, "state", STATES);
  const settled = body["settled"] === undefined ? undefined : oneOf(body, "settled", ENDS);
  const sync = decodeSync(body);
  return {
    path,
    state,
    ...optional({ settled }),
    reason: oneOf(body, "reason", sync === undefined ? REASONS : SYNC_REASONS),
    undo: sync === undefined ? text(body, "undo") : "",
    ...optional({ sync }),
    met: text(body, "met"),
    base: decodeState(path, body["base"]),
    current: decodeState(path, body["current"]),
    wanted: decodeState(path, body["wanted"]),
  };
}

export function conflictDraft({ id, record }: IdentifiedConflict): EventDraft {
  return { op: "upsert", recordId: `conflict:${id}`, record: encodeConflict(record) };
}

/**
 * Returns the contents that a conflict needs while it is open. Leaves out the content of `wanted` if the conflict is
 * `blocked`, because the lack of this content can be the cause of the conflict. In that case, the sync requests the
 * content again.
 */
export function contentsOfConflict({ base, current, wanted, reason }: ConflictRecord): Hash[] {
  return [base, current, reason === "blocked" ? undefined : wanted].flatMap((entry) => entry?.hash ?? []);
}
