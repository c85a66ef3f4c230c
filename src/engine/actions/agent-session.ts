import type { SessionStart } from "../../api/action-api.ts";
import type { SessionShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft, Head } from "../../core/values/event.ts";
import { decodeSession, encodeSession, type SessionRecord } from "../../core/records/records.ts";
import { abandoning, lookOf } from "./abandon-actions.ts";
import { actionOfEvent, openActions, type Session } from "../facts/actions.ts";
import { ageLimit, goingOn, openBrackets } from "../facts/brackets.ts";
import { capture } from "../capture/capture.ts";
import { checkSessionId } from "./check-action.ts";
import { withCommit } from "../commit/commit.ts";
import { type Context, foldersOf } from "../log/context.ts";
import { pathsOfSession } from "../facts/changes-within.ts";
import { isOwnerId, ownerOf } from "../log/owner-process.ts";
import { readEvent, readEvents } from "../log/read-events.ts";
import { notOfAnAgent, refuseTakenId } from "../facts/taken-ids.ts";
import { endSession, findSession, listSessions, sessionShape } from "./session.ts";
import { checkActorName } from "../../core/records/actor-name.ts";

export interface AgentSessionDraft {
  readonly id: string;
  readonly actor: string;
  /**
   * The agent's process. Default: none. A session without a process is open until its end is reported, or until it is
   * idle (see `endIdleSessions`).
   */
  readonly pid?: number | null;
  readonly notes?: readonly string[];
}

/**
 * Begins an agent's session, or resumes one that has ended. Does nothing if the session is open. Throws `USAGE` if the
 * id, the actor's name or the process id is malformed, or if the id is taken.
 */
export async function startAgentSession(context: Context, start: SessionStart = {}): Promise<SessionShape> {
  checkActorName(start.actor);
  if (!isOwnerId(start.pid)) {
    throw new ChronicleError("USAGE", "the session cannot be begun: pid is not a process id", {
      hint: "leave pid out, or give null",
    });
  }
  const id = start.id === undefined ? context.newId() : checkSessionId(start.id);
  await withCommit(context, async (commit) => {
    const draft = await beginningOf(
      context,
      { ...start, id, actor: start.actor ?? "agent" },
      {
        head: await commit.head(),
        ahead: 0,
      },
    );
    if (draft !== undefined) await commit.append([draft]);
  });
  return sessionShape(await sessionOf(context, id));
}

/**
 * Returns the event that begins or resumes an agent's session; `undefined` if the session is open. `ahead` is the
 * number of events that will be appended between `head` and this event. Throws `USAGE` if the id belongs to anything
 * that is not an agent's session, such as a run.
 */
export async function beginningOf(
  context: Context,
  { id, actor, pid, notes }: AgentSessionDraft,
  { head, ahead }: { readonly head: Head; readonly ahead: number },
): Promise<EventDraft | undefined> {
  const { agents } = await openBrackets(context, head);
  if (agents.some((one) => one.id === id)) return undefined;
  const row = await context.index.record(`session:${id}`);
  const before = row === undefined ? undefined : decodeSession((await readEvent(context, row)).record);
  if (before?.kind !== "agent") await refuseTakenId(context, id);
  const fresh: SessionRecord = {
    kind: "agent",
    state: "running",
    command: [],
    started: new Date(context.now()).toISOString(),
    ended: null,
    exitCode: null,
    signal: null,
    paths: foldersOf(context.worktree.roots).map((root) => root.folder),
    fromSeq: head.seq + ahead + 1,
    merkleRoots: [],
    snapshots: 0,
    changed: 0,
    networkEvents: [],
    notes: (notes ?? []).map((note) => note.toWellFormed()),
    actor: actor.toWellFormed(),
    ...ownerOf(context, pid ?? 0),
    omittedChanges: [],
    within: {},
  };
  // A resumed session keeps the fields of its earlier record, except for the state, the end and the process.
  const { pidMark: _earlier, pidSpace: _where, ...kept } = before ?? fresh;
  const record = { ...kept, state: fresh.state, ended: null, ...ownerOf(context, fresh.pid) };
  return { op: "upsert", recordId: `session:${id}`, record: encodeSession(record) };
}

/**
 * Ends an agent's session, and abandons its open actions. Does nothing if the session has ended. Throws `NOT_FOUND` for
 * an unknown id, and `USAGE` for a session that is not an agent's.
 */
export async function endAgentSession(context: Context, id: string): Promise<SessionShape> {
  const session = await sessionOf(context, id);
  if (session.state !== "running" && session.unclosed !== true) return sessionShape(session);
  const isOwn = (action: { readonly session?: string }): boolean => action.session === session.id;
  using _lease = await context.blobs.lease();
  await capture(context, {
    cause: "capture",
    isReported: true,
    ...(await lookOf(context, (await openActions(context)).filter(isOwn))),
    also: async (found) => {
      const open = (await openActions(context)).filter(isOwn);
      const abandoned = await abandoning(context, open, { found, reason: "its session has ended" });
      const { id: _id, seq: _seq, unclosed: _unclosed, ...record } = session;
      const span = { fromSeq: session.fromSeq, toSeq: found.head.seq };
      // Undone changes count as well, because a session's work can be undone and redone while the session is open.
      const before = await pathsOfSession(context, session.id, span);
      const now = found.changes.filter(({ by }) => by.session === session.id).map((change) => change.path);
      const changed = new Set([...before, ...now]).size;
      const ended = new Date(context.now()).toISOString();
      return [
        ...abandoned,
        {
          op: "upsert",
          recordId: `session:${session.id}`,
          record: encodeSession({ ...record, state: "ended", ended, changed }),
        },
      ];
    },
  });
  return sessionShape(await sessionOf(context, session.id));
}

/**
 * Abandons each agent's session that has no process and for which nothing was recorded for `UNOWNED_HOURS`. Some agents
 * never report the end of a session. If an abandoned session continues, its next action resumes it.
 */
export async function endIdleSessions(context: Context): Promise<void> {
  const idle = await idleSessions(context);
  for (const session of idle) {
    const { merkleRoots, snapshots, changed } = session;
    const end = { state: "abandoned", exitCode: null, signal: null, merkleRoots, snapshots, changed } as const;
    await endSession(context, session, end);
  }
}

/** Returns the sessions that `endIdleSessions` ends, with the number of their changed paths. */
async function idleSessions(context: Context): Promise<Session[]> {
  const unowned = (await listSessions(context)).filter(
    (one) => one.kind === "agent" && one.state === "running" && one.pid === 0,
  );
  const busy = new Set<string>();
  const isLongAgo = await ageLimit(context);
  if (unowned.length > 0) {
    const rows = (await context.index.records("action:")).filter((row) => !isLongAgo(row));
    const actions = (await readEvents(context, rows)).map(actionOfEvent);
    // Abandoning an action is no activity of its session. Therefore, an abandoned action counts only with the time at
    // which it began.
    const active = actions.filter((action) => action.state !== "abandoned" || !isLongAgo(action));
    for (const { session } of active) if (session !== undefined) busy.add(session);
    const going = await goingOn(context, await openActions(context));
    for (const { session } of going) if (session !== undefined) busy.add(session);
  }
  const idle: Session[] = [];
  for (const session of unowned) {
    const row = await context.index.record(`session:${session.id}`);
    if (row === undefined || !isLongAgo(row) || busy.has(session.id)) continue;
    const span = { fromSeq: session.fromSeq, toSeq: (await context.index.head()).seq };
    idle.push({ ...session, changed: (await pathsOfSession(context, session.id, span)).length });
  }
  return idle;
}

async function sessionOf(context: Context, id: string): ReturnType<typeof findSession> {
  const session = await findSession(context, id);
  if (session.kind !== "agent") throw notOfAnAgent(id);
  return session;
}
