import type { IterationCause } from "../core/file-record.ts";
import { decodeSession, type SessionRecord } from "../core/records.ts";
import type { Context } from "./context.ts";
import { readEvent } from "./read-events.ts";

/** Whose work a captured change is. */
export interface Attribution {
  readonly cause: IterationCause;
  readonly actor: string;
  readonly session?: string;
  /** Several runs were going on: any of these may have done it. */
  readonly candidates?: readonly string[];
}

interface OpenSession {
  readonly id: string;
  readonly kind: "run" | "watch";
}

/** What was read of a session's last event, so that a capture need not read every session again. */
interface Seen {
  readonly seq: number;
  readonly running: SessionRecord | undefined;
}

const seen = new WeakMap<object, Map<string, Seen>>();

/**
 * A change belongs to the only run that is going on, whoever captures it; else, with no run, to the only watch; with
 * several runs to nobody: it is `ambiguous`, with its candidates, and no undo of a run takes it along.
 */
export async function attribute(context: Context, cause: IterationCause): Promise<Attribution> {
  const open = await openSessions(context);
  const runs = open.filter((one) => one.kind === "run");
  const bracket = runs.length > 0 ? runs : open;
  const [only, second] = bracket;
  if (only === undefined) return { cause, actor: context.actor };
  if (second === undefined) return { cause: only.kind, actor: context.actor, session: only.id };
  return { cause, actor: "ambiguous", candidates: bracket.map((one) => one.id) };
}

/** The sessions whose process is alive, and has not ended them. */
async function openSessions(context: Context): Promise<OpenSession[]> {
  const known = seen.get(context.index) ?? new Map<string, Seen>();
  seen.set(context.index, known);
  const open: OpenSession[] = [];
  for (const row of await context.index.openRecords("session:")) {
    let session = known.get(row.recordId);
    if (session?.seq !== row.seq) {
      const record = decodeSession((await readEvent(context, row)).record);
      session = { seq: row.seq, running: record.state === "running" ? record : undefined };
      known.set(row.recordId, session);
    }
    const { running } = session;
    if (running === undefined || running.kind === "agent" || !isAlive(context, running.pid)) continue;
    open.push({ id: row.recordId.slice("session:".length), kind: running.kind });
  }
  return open;
}

function isAlive({ processes }: Context, pid: number): boolean {
  return pid === processes.pid || processes.isAlive(pid);
}
