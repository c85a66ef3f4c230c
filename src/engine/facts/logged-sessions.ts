import { decodeSession, type SessionRecord } from "../../core/records/records.ts";
import type { Context } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";

/** One actor's run of work, as in the log. */
export interface Session extends SessionRecord {
  readonly id: string;
  /** The seq of its last event. */
  readonly seq: number;
  /** The number of runs and actions around it. */
  readonly depth: number;
  /** Set if its process is gone and its end is not written yet: it is shown as `closeAbandoned` would record it. */
  readonly unclosed?: true;
}

/** Returns all sessions of the log, oldest first. */
export async function loggedSessions(context: Context): Promise<Session[]> {
  const sessions: Session[] = [];
  for (const row of await context.index.records("session:")) {
    const event = await readEvent(context, row);
    const id = row.recordId.slice("session:".length);
    sessions.push({ ...decodeSession(event.record), id, seq: row.seq, depth: event.recursionDepth });
  }
  return sessions.sort((a, b) => a.fromSeq - b.fromSeq);
}
