import { markOf } from "../../core/log/commit-mark.ts";
import type { LogEvent, RecordBody } from "../../core/values/event.ts";
import { refuseOtherFormat } from "../../core/records/workspace-record.ts";
import type { Hash } from "../../core/values/hash.ts";
import { decodeSentinel, sentinelId } from "../../core/records/sentinel.ts";
import type { EventLog } from "../../storage/event-log.ts";
import type { HistoryContext } from "./context.ts";
import { readEvent } from "./read-events.ts";

/**
 * The seq of the baseline, which is the first event with files. Event 1 is the record of the workspace, and event 2
 * names the signer.
 */
export const BASELINE_SEQ = 3;

/**
 * The beginning of a history whose first events are missing. Such a history begins with an anchor, or with a sentinel:
 * the `compact` event that is the first line of a log whose earlier lines were dropped.
 */
export interface HistoryStart {
  /** The seq of the sentinel or the anchor. The state after this event is the earliest that can be restored. */
  readonly seq: number;
  /** The seq of the first line in the log: the seq of the sentinel, or the seq right after that of the anchor. */
  readonly firstLine: number;
  readonly ts: string;
  readonly root: Hash;
}

/** Returns the seq of the oldest line in the log or its archive. */
export async function oldestSeq(log: EventLog): Promise<number> {
  if (log.firstSeq === 1) return 1;
  return (await log.archived())[0]?.first ?? log.firstSeq;
}

/**
 * Returns the seq of the first event whose line is in the log; `undefined` if the index is empty. After an anchor, this
 * is the event right after the anchor. Otherwise, the seq is read from the index.
 */
export async function indexedFrom({ index, workspaceId, anchor }: HistoryContext): Promise<number | undefined> {
  if (anchor !== undefined) return anchor.seq + 1;
  const begin = await index.locate(1);
  const [first] =
    begin === undefined ? await index.events({ from: 1, to: Number.MAX_SAFE_INTEGER, limit: 1 }) : [begin];
  if (first === undefined) return undefined;
  if (first.offset >= 0) return first.seq;
  // The first rows are those of the sentinel's base, which have negative offsets. The sentinel itself is therefore
  // found by its id.
  return (await index.recordHistory(sentinelId(workspaceId)))[0]?.seq;
}

/**
 * Returns the beginning of the history; `undefined` if the history begins at event 1. If there is no anchor, reads the
 * index, and returns `undefined` also if the index is empty.
 */
export async function historyStart(context: HistoryContext): Promise<HistoryStart | undefined> {
  const { anchor } = context;
  if (anchor !== undefined) return { seq: anchor.seq, firstLine: anchor.seq + 1, ts: anchor.ts, root: anchor.root };
  const seq = await indexedFrom(context);
  if (seq === undefined || seq === 1) return undefined;
  const row = await context.index.locate(seq);
  if (row === undefined) return undefined;
  const { root } = decodeSentinel(await readEvent(context, row));
  return { seq, firstLine: seq, ts: row.ts, root };
}

/**
 * Throws `FORMAT_UNSUPPORTED` if the first event names a format other than that of this version of Chronicle. A log of
 * format 1 marks no ends of commits. Without this check, such a log would look like one torn commit.
 */
export function refuseOtherHistory(event: LogEvent): void {
  const { op, recordId, record } = event;
  if (op === "compact") {
    const inner = (record["workspace"] ?? {}) as RecordBody;
    // The sentinel of a record store names no format. If a sentinel has no mark of the end of a commit either, its
    // format is 1.
    refuse(inner["format"] ?? (markOf(event) === undefined ? 1 : undefined), "this history");
  } else if (recordId.startsWith("workspace:")) refuse(record["format"], "this workspace");
  else if (recordId.startsWith("store:")) refuse(record["format"], "this record store");
}

function refuse(format: unknown, what: string): void {
  if (typeof format === "number") refuseOtherFormat(format, what);
}
