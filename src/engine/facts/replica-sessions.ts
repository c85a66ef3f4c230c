import type { SessionShape } from "../../api/shapes.ts";
import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import type { Context } from "../log/context.ts";

/**
 * Returns the sessions that ran at replicas of this workspace, oldest first, by the events that came from there. What
 * they ran, and whether they go on, is known at the replica alone.
 */
export async function replicaSessions({ index }: Context): Promise<SessionShape[]> {
  const found = new Map<string, SessionShape>();
  for (const row of await index.remoteWork()) {
    if (row.replica === "" || row.session === "") continue;
    const key = JSON.stringify([row.replica, row.session]);
    const known = found.get(key);
    found.set(key, known === undefined ? sessionOf(row) : joined(known, row));
  }
  return [...found.values()].sort((a, b) => a.from_seq - b.from_seq);
}

function sessionOf({
  session,
  replica,
  actor,
  firstSeq,
  lastSeq,
  firstTs,
  lastTs,
  events,
}: RemoteWorkRow): SessionShape {
  return {
    session_id: session,
    kind: "replica",
    replica,
    actor,
    started: firstTs,
    ended: lastTs,
    command: [],
    tracked_paths: [],
    exit_code: null,
    signal: null,
    snapshot_count: 0,
    merkle_roots: [],
    network_events: [],
    notes: [],
    state: "elsewhere",
    from_seq: firstSeq - 1,
    to_seq: lastSeq,
    changed: events,
  };
}

/**
 * Joins two rows of a session. Rows are ordered by their last events, so the first event of another turn may be
 * earlier.
 */
function joined(
  known: SessionShape,
  { actor, firstSeq, lastSeq, firstTs, lastTs, events }: RemoteWorkRow,
): SessionShape {
  const isEarlier = firstSeq - 1 < known.from_seq;
  return {
    ...known,
    actor,
    ...(isEarlier ? { started: firstTs, from_seq: firstSeq - 1 } : {}),
    ended: lastTs,
    to_seq: lastSeq,
    changed: known.changed + events,
  };
}
