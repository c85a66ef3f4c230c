import type { LogEvent } from "../values/event.ts";
import { changesOf } from "../values/file-record.ts";

/**
 * Work that was done in another copy of the workspace and arrived by a sync. Its session, turn and action have no
 * records here: only its file events name them.
 */
export interface RemoteWorkRow {
  /** The replica that wrote it back; `""` if it came from the origin. */
  readonly replica: string;
  /** `""` if none is named. At least one of the three is not empty. */
  readonly session: string;
  readonly turn: string;
  readonly action: string;
  /** The actor of its last event. */
  readonly actor: string;
  /** Its first and last event, and their times. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstTs: string;
  readonly lastTs: string;
  readonly events: number;
}

/**
 * Collects such work from ascending events: one row for each replica, session, turn and action. Throws `LOG_DAMAGED`.
 */
export function remoteWorkIn(events: Iterable<LogEvent>): RemoteWorkRow[] {
  const found = new Map<string, RemoteWorkRow>();
  for (const event of events) {
    const row = rowOf(event);
    if (row !== undefined) noteRemoteWork(found, row);
  }
  return [...found.values()];
}

/** Merges a row into the known ones under its key. The row must be later than they are. */
export function noteRemoteWork(known: Map<string, RemoteWorkRow>, row: RemoteWorkRow): void {
  const key = JSON.stringify([row.replica, row.session, row.turn, row.action]);
  const { firstSeq, firstTs, events } = known.get(key) ?? { ...row, events: 0 };
  known.set(key, { ...row, firstSeq, firstTs, events: events + row.events });
}

function rowOf(event: LogEvent): RemoteWorkRow | undefined {
  // Most events are not from a replica and need not be decoded.
  if (event.record["cause"] !== "replica") return undefined;
  const [change] = changesOf(event);
  if (change === undefined) return undefined;
  const { seq, ts } = event;
  const { session = "", turn = "", action = "", actor, replica } = change.file;
  if (session === "" && turn === "" && action === "") return undefined;
  const times = { firstSeq: seq, lastSeq: seq, firstTs: ts, lastTs: ts, events: 1 };
  return { replica: replica?.id ?? "", session, turn, action, actor, ...times };
}
