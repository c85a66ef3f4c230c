import type { LogEvent } from "../values/event.ts";
import { changesOf } from "../values/file-record.ts";

/**
 * Work that was done in another copy of the workspace and arrived by a sync. This log has no records of the work's
 * session, turn and action. Only the work's file events name the session, the turn and the action.
 */
export interface RemoteWorkRow {
  /** The replica that wrote the work back; `""` if the work came from the origin. */
  readonly replica: string;
  /**
   * The ids of the session, the turn and the action. An id that the events do not name is `""`. At least one of the
   * three is not empty.
   */
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
 * Collects the remote work that events record. The events must be in ascending order. Returns one row for each
 * combination of replica, session, turn and action. Throws `LOG_DAMAGED` for an invalid event.
 */
export function remoteWorkIn(events: Iterable<LogEvent>): RemoteWorkRow[] {
  const found = new Map<string, RemoteWorkRow>();
  for (const event of events) {
    const row = rowOf(event);
    if (row !== undefined) noteRemoteWork(found, row);
  }
  return [...found.values()];
}

/**
 * Adds a row to the known rows. If a known row has the same replica, session, turn and action, merges the two rows. The
 * added row must be the later one.
 */
export function noteRemoteWork(known: Map<string, RemoteWorkRow>, row: RemoteWorkRow): void {
  const key = JSON.stringify([row.replica, row.session, row.turn, row.action]);
  const { firstSeq, firstTs, events } = known.get(key) ?? { ...row, events: 0 };
  known.set(key, { ...row, firstSeq, firstTs, events: events + row.events });
}

/** The fields of an event that name the work of another copy. */
const NAMES = ["session", "turn", "action"] as const;

function rowOf(event: LogEvent): RemoteWorkRow | undefined {
  // Most events do not come from another copy of the workspace, or name no work there. They need not be decoded.
  const { record } = event;
  if (record["cause"] !== "replica" || NAMES.every((name) => record[name] === undefined)) return undefined;
  const [change] = changesOf(event);
  if (change === undefined) return undefined;
  const { seq, ts } = event;
  const { session = "", turn = "", action = "", actor, replica } = change.file;
  if (session === "" && turn === "" && action === "") return undefined;
  const times = { firstSeq: seq, lastSeq: seq, firstTs: ts, lastTs: ts, events: 1 };
  return { replica: replica?.id ?? "", session, turn, action, actor, ...times };
}
