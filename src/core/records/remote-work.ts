import type { LogEvent } from "../values/event.ts";
import { changesOf } from "../values/file-record.ts";

/**
 * Work that was done in another copy of the workspace and arrived by a sync. This log has no records of the work's
 * session, turn and action. Only the file events of the work name them.
 */
export interface RemoteWorkRow {
  /** The replica that wrote the work back; `""` if the work came from the origin. */
  readonly replica: string;
  /** The session, the turn and the action; `""` if none is named. At least one of the three is not empty. */
  readonly session: string;
  readonly turn: string;
  readonly action: string;
  /** The actor of the last event. */
  readonly actor: string;
  /** The seqs and the times of the first and the last event. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstTs: string;
  readonly lastTs: string;
  readonly events: number;
}

/**
 * Collects the remote work of events, which must be in ascending order. Returns one row for each combination of
 * replica, session, turn and action. Throws `LOG_DAMAGED` for an invalid event.
 */
export function remoteWorkIn(events: Iterable<LogEvent>): RemoteWorkRow[] {
  const found = new Map<string, RemoteWorkRow>();
  for (const event of events) {
    const row = rowOf(event);
    if (row !== undefined) noteRemoteWork(found, row);
  }
  return [...found.values()];
}

/** Adds a row to the known rows. The row must be later than the known row with the same key. */
export function noteRemoteWork(known: Map<string, RemoteWorkRow>, row: RemoteWorkRow): void {
  const key = JSON.stringify([row.replica, row.session, row.turn, row.action]);
  const { firstSeq, firstTs, events } = known.get(key) ?? { ...row, events: 0 };
  known.set(key, { ...row, firstSeq, firstTs, events: events + row.events });
}

function rowOf(event: LogEvent): RemoteWorkRow | undefined {
  // Most events do not come from another copy of the workspace, and need not be decoded.
  if (event.record["cause"] !== "replica") return undefined;
  const [change] = changesOf(event);
  if (change === undefined) return undefined;
  const { seq, ts } = event;
  const { session = "", turn = "", action = "", actor, replica } = change.file;
  if (session === "" && turn === "" && action === "") return undefined;
  const times = { firstSeq: seq, lastSeq: seq, firstTs: ts, lastTs: ts, events: 1 };
  return { replica: replica?.id ?? "", session, turn, action, actor, ...times };
}
