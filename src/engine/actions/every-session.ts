import type { SessionShape } from "../../api/shapes.ts";
import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import type { Context } from "../log/context.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { withCopiesThere } from "../facts/copies-there.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import { listSessions, sessionShape } from "./session.ts";

/** Returns all sessions, the oldest first: those that ran here, and those that ran at replicas. */
export async function everySession(context: Context): Promise<SessionShape[]> {
  const here = (await withCopiesThere(context, await listSessions(context))).map(sessionShape);
  return [...here, ...(await replicaSessions(context))].sort((a, b) => a.from_seq - b.from_seq);
}

/**
 * Finds a session by its id or the beginning of its id. If a session that ran here and a session of a replica have the
 * same id, returns the one that ran here. Throws `NOT_FOUND` or `AMBIGUOUS`.
 */
export async function findSessionAnywhere(context: Context, id: string): Promise<SessionShape> {
  const all = await everySession(context);
  const matching = meantBy(all, id, (one) => one.session_id);
  const here = matching.find((one) => one.session_id === id && one.replica === undefined);
  const [only, second] = matching;
  if (here !== undefined) return here;
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no session ${JSON.stringify(id)}`, {
      hint: "`chronicle sessions` lists the sessions",
    });
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(id)} stands for ${matching.length} sessions`, {
    hint: "give more of the id",
  });
}

/**
 * Returns the sessions that ran at replicas of this workspace, the oldest first. These sessions are derived from the
 * events that the replicas wrote. Only the replica knows the command of a session, and whether the session is still
 * running.
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
 * Adds the work of a row to a session. Rows are ordered by their last events, so a later row can have an earlier first
 * event.
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
