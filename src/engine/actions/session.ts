import { isRestored } from "../../core/records/omitted-change.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import type { SessionShape } from "../../api/shapes.ts";
import type { Aside } from "../../core/records/aside.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft, Json } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { maskCommand } from "../../core/shell/mask-secrets.ts";
import { decodeSession, encodeSession, type SessionRecord } from "../../core/records/records.ts";
import { changedAsOmitted, changedAside, endOfAside } from "../capture/keep-aside.ts";
import { lostUnseen } from "../capture/lost-git.ts";
import { gitNotesOfUnseenEnd } from "../capture/git-work.ts";
import { closeDeadActions } from "./abandon-actions.ts";
import { openSessions } from "../facts/brackets.ts";
import { withCommit } from "../commit/commit.ts";
import { type Context, foldersOf } from "../log/context.ts";
import { changesOfSession, pathsOfSession } from "../facts/changes-within.ts";
import { loggedSessions, type Session } from "../facts/actions.ts";
import { RequestMeanwhile } from "../facts/taken-ids.ts";
import { readEvent } from "../log/read-events.ts";
import type { Place } from "../facts/nesting.ts";
import { isOwnerAlive, ownerOf } from "../log/owner-process.ts";
import { omittedChangeShape } from "../facts/omitted-changes.ts";
import { shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

interface SessionDraft {
  readonly kind: SessionRecord["kind"];
  readonly command: readonly string[];
  readonly networkEvents?: readonly unknown[];
  readonly notes?: readonly string[];
  /** Default: a new id. */
  readonly id?: string;
  /** The brackets within which the session begins. Default: none. */
  readonly place?: Place;
  /** The contents that were kept aside before the session. Default: none. */
  readonly aside?: Aside | undefined;
  /** The state of the git repositories before the session. Default: none. */
  readonly git?: Aside | undefined;
}

/**
 * Returns the open run with this id if this process began it earlier for the same request; `undefined` if no session
 * has this id. Throws `LOCKED` if the session belongs to another process or has ended.
 */
async function begunBefore(context: Context, id: string): Promise<Session | undefined> {
  const row = await context.index.record(`session:${id}`);
  if (row === undefined) return undefined;
  const event = await readEvent(context, row);
  const record = decodeSession(event.record);
  if (record.state === "running" && record.pid === context.processes.pid && isOwnerAlive(context, record)) {
    return { ...record, id, seq: event.seq, depth: event.recursionDepth };
  }
  throw new RequestMeanwhile(context.caller.requestId ?? id);
}

/**
 * Begins a session, and returns it. If this process already began a run with this id, returns that run. Throws `LOCKED`
 * if another process began a run with this id, or if the run with this id has ended.
 */
export async function beginSession(context: Context, draft: SessionDraft): Promise<Session> {
  const id = draft.id ?? context.newId();
  const { within, depth } = draft.place ?? { within: {}, depth: 0 };
  const networkEvents = (draft.networkEvents ?? []).map(asJson);
  return withCommit(context, async (commit) => {
    const head = await commit.head();
    const known = draft.kind === "run" ? await begunBefore(context, id) : undefined;
    if (known !== undefined) return known;
    const record: SessionRecord = {
      kind: draft.kind,
      state: "running",
      command: maskCommand(draft.command).map((word) => word.toWellFormed()),
      started: new Date(context.now()).toISOString(),
      ended: null,
      exitCode: null,
      signal: null,
      paths: foldersOf(context.worktree.roots).map((root) => root.folder),
      fromSeq: head.seq + 1,
      merkleRoots: [],
      snapshots: 0,
      changed: 0,
      networkEvents,
      notes: (draft.notes ?? []).map((note) => note.toWellFormed()),
      actor: context.caller.actor,
      ...ownerOf(context),
      omittedChanges: [],
      within,
      ...optional({ aside: draft.aside, git: draft.git }),
    };
    await commit.append([sessionDraft({ ...record, id, depth })]);
    return { ...record, id, seq: head.seq + 1, depth };
  });
}

/** Converts a caller's value to JSON. Throws `USAGE` for a value that JSON cannot represent. */
export function asJson(value: unknown): Json {
  try {
    const text: string | undefined = JSON.stringify(value);
    if (text !== undefined) return JSON.parse(text) as Json;
  } catch {
    // Circular values and big integers are refused below.
  }
  throw new ChronicleError("USAGE", "a network event is not a JSON value", {
    hint: "give objects, lists, texts, numbers, true, false or null",
  });
}

interface SessionEnd {
  readonly state: "ended" | "abandoned";
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly merkleRoots: readonly Hash[];
  readonly snapshots: number;
  readonly changed: number;
}

/**
 * Records the end of a session, whatever its present state is. Returns the ended session. `also`: other events of the
 * same commit, which precede the event of the session.
 */
export async function endSession(
  context: Context,
  session: Session,
  end: SessionEnd & { readonly also?: readonly EventDraft[] },
): Promise<Session> {
  const { also = [], ...rest } = end;
  const { git: _begun, ...begun } = session;
  return withCommit(context, async (commit) => {
    const ended = { ...begun, ...rest, ended: new Date(context.now()).toISOString() };
    const events = await commit.append([...also, sessionDraft(ended)]);
    return { ...ended, seq: events.at(-1)?.seq ?? session.seq };
  });
}

function sessionDraft(session: SessionRecord & Pick<Session, "id" | "depth">): EventDraft {
  return {
    op: "upsert",
    recordId: `session:${session.id}`,
    record: encodeSession(session),
    recursionDepth: session.depth,
  };
}

/** Returns all sessions, the oldest first. A session whose process is gone is returned as abandoned (`unclosed`). */
export async function listSessions(context: Context): Promise<Session[]> {
  const sessions: Session[] = [];
  for (const one of await loggedSessions(context)) {
    sessions.push(isGone(context, one) ? await asAbandoned(context, one) : one);
  }
  return sessions;
}

function isGone(context: Context, session: SessionRecord): boolean {
  // An agent's session without a process is open until its end is reported, or until `endIdleSessions` ends it.
  if (session.kind === "agent" && session.pid === 0) return false;
  return session.state === "running" && !isOwnerAlive(context, session);
}

/**
 * Returns the session in the state `abandoned`, with its number of changed paths and its changes to kept-aside paths.
 * Records nothing.
 */
async function asAbandoned(context: Context, session: Session): Promise<Session> {
  const { seq } = await context.index.head();
  const span = { fromSeq: session.fromSeq, toSeq: seq };
  const { length: changed } =
    session.kind === "agent"
      ? await pathsOfSession(context, session.id, span)
      : (await changesOfSession(context, session.id, span)).changes;
  const kept = session.aside === undefined ? [] : changedAsOmitted(await changedAside(context, session.aside));
  return { ...session, state: "abandoned", changed, seq, omittedChanges: kept, unclosed: true };
}

/** Finds a session by its whole id; a prefix does not match. Throws `NOT_FOUND` if there is no such session. */
export async function findSession(context: Context, id: string): Promise<Session> {
  const only = (await listSessions(context)).find((one) => one.id === id);
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no session ${JSON.stringify(id)}`, {
      hint: "`chronicle sessions` lists the sessions; `chronicle changes --session ID` shows the changes of a session that ran at a replica",
    });
  return only;
}

/**
 * Marks the open sessions whose processes are gone as abandoned, and closes the actions that nobody will finish. The
 * recorded changes stay, and can be undone. Returns a note on each session that was marked.
 */
export async function closeAbandoned(context: Context): Promise<readonly string[]> {
  const notes: string[] = [];
  for (const { id, seq, depth, record } of await openSessions(context)) {
    if (!isGone(context, record)) continue;
    const session = await asAbandoned(context, { ...record, id, seq, depth });
    notes.push(abandonedNote(await endAbandoned(context, session)));
  }
  await closeDeadActions(context);
  return notes;
}

async function endAbandoned(context: Context, session: Session): Promise<Session> {
  // The lease protects contents from the collector until the session's record names them.
  using _lease = await context.blobs.lease();
  const { aside: _before, ...rest } = session;
  const lost = await lostUnseen(context, session);
  const { changes, aside } = await endOfAside(context, session, lost);
  const notes = [...rest.notes, ...lost.notes, ...gitNotesOfUnseenEnd(session)];
  return await endSession(
    context,
    { ...rest, notes, omittedChanges: changes, ...optional({ aside }) },
    {
      state: "abandoned",
      exitCode: null,
      signal: null,
      merkleRoots: session.merkleRoots,
      snapshots: session.snapshots,
      changed: session.changed,
    },
  );
}

/** The maximum number of paths that a note names. */
const MOST_NAMED = 5;

/** Describes the changed kept-aside paths of a session whose process died before it could record their changes. */
function keptText({ omittedChanges }: Session): string {
  const kept = omittedChanges.filter(isRestored).map(({ path }) => shownPath(path));
  if (kept.length === 0) return "";
  const more = kept.length > MOST_NAMED ? ` and ${kept.length - MOST_NAMED} more` : "";
  return `, except for these paths, which were kept aside before the session: ${kept.slice(0, MOST_NAMED).join(", ")}${more} (undo restores them)`;
}

export function abandonedNote(session: Session): string {
  const what = session.command.length === 0 ? session.kind : session.command.join(" ");
  const paths = session.changed === 1 ? "1 changed path" : `${session.changed} changed paths`;
  return `the session ${session.id.slice(0, 8)} (${what}) ended without reporting its end: ${paths} recorded as its own; changes that were not recorded before its process died do not count as its work${keptText(session)}`;
}

export function sessionShape(session: Session): SessionShape {
  return {
    session_id: session.id,
    kind: session.kind,
    actor: session.actor,
    started: session.started,
    ended: session.ended,
    command: [...session.command],
    tracked_paths: [...session.paths],
    exit_code: session.exitCode,
    signal: session.signal,
    snapshot_count: session.snapshots,
    merkle_roots: [...session.merkleRoots],
    network_events: [...session.networkEvents],
    notes: session.unclosed === true ? [...session.notes, abandonedNote(session)] : [...session.notes],
    state: session.state,
    from_seq: session.fromSeq,
    to_seq: session.state === "running" ? null : session.seq,
    changed: session.changed,
    ...(session.omittedChanges.length === 0 ? {} : { omitted_changes: session.omittedChanges.map(omittedChangeShape) }),
  };
}

/**
 * The ids of the actions (of the library's `action(…)`) in whose callbacks the caller runs, outermost first. One
 * process may serve several agents at once, so the process id does not tell which agent calls.
 */
const surrounding = new AsyncLocalStorage<readonly string[]>();

/** Runs the callback of an action. Everything that the callback begins is within the action. */
export function insideAction<T>(id: string | undefined, work: () => T): T {
  return id === undefined ? work() : surrounding.run([...surroundingActions(), id], work);
}

/**
 * Returns the ids of the actions in whose callbacks the caller runs, outermost first. An operation must call this
 * function before it waits in the workspace's queue, while it still runs in its caller's context.
 */
export function surroundingActions(): readonly string[] {
  return surrounding.getStore() ?? [];
}
