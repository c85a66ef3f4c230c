import { decodeSession, type SessionRecord } from "../../core/records/records.ts";
import type { Context } from "../log/context.ts";
import { readEvent, readEvents } from "../log/read-events.ts";
import type { ActionShape } from "../../api/action-shapes.ts";
import { GIT } from "../../core/records/git-record.ts";
import { decodeAction, type ActionRecord, type BegunAt } from "../../core/records/action-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Head, LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { keepsAction, type PruneRecord } from "../../core/records/prune-record.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { catchUp } from "../log/catch-up.ts";
import { omittedChangeShape } from "./omitted-changes.ts";
import { pruningInForce } from "./pruning.ts";
import { coverageShape, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";
import { memoKey } from "../log/memo.ts";

const PREFIX = "action:";

export interface LoggedAction extends ActionRecord {
  readonly id: string;
  /** The seq of the action's first event: the snapshot that was made before the action. */
  readonly seq: number;
  readonly hash: Hash;
  readonly ts: string;
  readonly recursionDepth: number;
  readonly begun: BegunAt;
  readonly lastSeq: number;
}

export function actionOfEvent(event: Pick<LogEvent, "recordId" | "record" | keyof SealedPlace>): LoggedAction {
  const record = decodeAction(event.record);
  const { seq, hash, ts, recursionDepth } = event;
  const begun = record.begun ?? { seq, hash, ts, depth: recursionDepth };
  return {
    ...record,
    id: event.recordId.slice(PREFIX.length),
    seq: begun.seq,
    hash: begun.hash,
    ts: begun.ts,
    recursionDepth: begun.depth,
    begun,
    lastSeq: seq,
  };
}

type SealedPlace = Pick<LogEvent, "seq" | "hash" | "ts" | "recursionDepth">;

const open = memoKey<Map<string, LoggedAction>>("open actions");
const rowsAt = memoKey<{ readonly hash: string; readonly rows: readonly EventRow[] }>("open rows");

/**
 * Returns, for all unfinished records whose ids begin with `prefix`, the rows of their last events. `at`: the head, if
 * the caller holds the lock and knows the head.
 */
export async function openRows(context: Context, prefix: string, at?: Head): Promise<readonly EventRow[]> {
  const { index, memo } = context;
  const { hash } = at ?? (await index.head());
  let known = memo.get(rowsAt);
  if (known?.hash !== hash) {
    known = { hash, rows: await index.openRecords("") };
    memo.set(rowsAt, known);
  }
  return known.rows.filter((row) => row.recordId.startsWith(prefix));
}

/** Returns the actions that are not finished, oldest first, in the state that their last events record. */
export async function openActions(context: Context, at?: Head): Promise<LoggedAction[]> {
  const known = context.memo.get(open);
  const now = new Map<string, LoggedAction>();
  for (const row of await openRows(context, PREFIX, at)) {
    const seen = known?.get(row.recordId);
    now.set(row.recordId, seen?.lastSeq === row.seq ? seen : actionOfEvent(await readEvent(context, row)));
  }
  context.memo.set(open, now);
  return [...now.values()].sort((a, b) => a.seq - b.seq);
}

/** Remembers an action that has just begun, so that its event need not be read. */
export function noteOpenAction(context: Context, action: LoggedAction): void {
  context.memo.get(open)?.set(PREFIX + action.id, action);
}

/** Returns the action with this complete id, in the state that its last event records; `undefined` if there is none. */
export async function actionById(context: Context, id: string): Promise<LoggedAction | undefined> {
  const row = await context.index.record(PREFIX + id);
  if (row === undefined) return undefined;
  const seen = context.memo.get(open)?.get(row.recordId);
  return seen?.lastSeq === row.seq ? seen : actionOfEvent(await readEvent(context, row));
}

const decoded = memoKey<Map<number, LoggedAction>>("decoded actions");

/**
 * Makes the context remember each action that `actionsOfRows` decodes. Only for a context that lives as long as one
 * request.
 */
export function keepActions({ memo }: Pick<Context, "memo">): void {
  memo.set(decoded, new Map());
}

/** Returns the actions in the states that the events of these rows record, in the order of the rows. */
export async function actionsOfRows(context: Context, rows: readonly EventRow[]): Promise<LoggedAction[]> {
  const known = context.memo.get(decoded);
  if (known === undefined) return (await readEvents(context, rows)).map(actionOfEvent);
  const unread = rows.filter((row) => !known.has(row.seq));
  for (const event of await readEvents(context, unread)) known.set(event.seq, actionOfEvent(event));
  return rows.flatMap((row) => known.get(row.seq) ?? []);
}

/** Returns all actions that still have a snapshot, oldest first. */
export async function listActions(context: Context): Promise<LoggedAction[]> {
  const pruning = await pruningInForce(context);
  const rows = await context.index.records(PREFIX);
  const wanted = pruning === undefined ? rows : await unprunedRows(context, rows, pruning);
  const actions = await actionsOfRows(context, wanted);
  return actions.filter(({ fromSeq }) => keepsAction(pruning, fromSeq)).sort((a, b) => a.seq - b.seq);
}

/**
 * Returns the rows of all actions that are not pruned, without reading their events. The result may also contain rows
 * of pruned actions. Each seq in `keptActions` names the state right before the first event of an action that is not
 * pruned.
 */
async function unprunedRows(
  { index }: Context,
  rows: readonly EventRow[],
  { floorSeq, keptActions }: PruneRecord,
): Promise<EventRow[]> {
  const firsts = await Promise.all(keptActions.map((state) => index.locate(state + 1)));
  const ids = new Set(firsts.map((row) => row?.recordId));
  return rows.filter((row) => row.seq > floorSeq || ids.has(row.recordId));
}

/** Returns the ids of the runs, actions and operations that have changed the state of git. */
export async function changersOfGit({ index }: Pick<Context, "index">): Promise<ReadonlySet<string>> {
  return new Set((await index.records(GIT)).map(({ recordId }) => recordId.slice(GIT.length)));
}

/** Returns the `most` closed actions whose last events are the latest, in the order of these events. */
export async function latestActions(context: Context, most: number): Promise<LoggedAction[]> {
  const rows = (await context.index.records(PREFIX)).filter((row) => !row.open);
  const latest = rows.toSorted((a, b) => a.seq - b.seq).slice(-most);
  return (await readEvents(context, latest)).map(actionOfEvent);
}

/**
 * Finds an action by its id, by the beginning of its id, or by the id that the agent gave to the tool call. Throws
 * `NOT_FOUND` or `AMBIGUOUS`.
 */
export async function findAction(context: Context, id: string): Promise<LoggedAction> {
  try {
    return await lookUp(context, id);
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
    // Another process may have begun the action just now, and the index may not have it yet.
    await catchUp(context, { recover: false });
    return lookUp(context, id);
  }
}

async function lookUp(context: Context, id: string): Promise<LoggedAction> {
  const exact = await actionById(context, id);
  if (exact !== undefined) return exact;
  const rows = isBeginning(id) ? await context.index.records(PREFIX + id) : [];
  // A call's id can be short, such as `c2`, and can by chance be the beginning of another action's id. With `CERTAIN`
  // or more characters, this does not happen.
  const called = rows.length > 0 && id.length >= CERTAIN ? [] : await actionsOfCall(context, id);
  if (called.length > 0 || rows.length === 0) return only(called, id);
  return actionOfEvent(await readEvent(context, only(rows, id)));
}

/** The length, in characters, at which the beginning of a UUID v4 can no longer equal that of another id by chance. */
const CERTAIN = 8;

async function actionsOfCall(context: Context, id: string): Promise<LoggedAction[]> {
  const isCall = (action: LoggedAction): boolean => id !== "" && action.toolCall === id;
  const going = (await openActions(context)).filter(isCall);
  return going.length > 0 ? going : (await listActions(context)).filter(isCall);
}

function isBeginning(id: string): boolean {
  return /^[0-9a-f][0-9a-f-]{0,35}$/i.test(id);
}

function only<T extends { readonly seq: number }>(found: readonly T[], id: string): T {
  const [first] = found;
  if (first === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no action ${JSON.stringify(id)}`, {
      hint: "`chronicle actions` lists them",
      data: { action: id },
    });
  }
  if (found.length === 1) return first;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(id)} stands for ${found.length} actions`, {
    hint: "give more of the id; `chronicle actions` lists them",
    data: { action: id, seqs: found.map((one) => one.seq) },
  });
}

interface LastBegun {
  readonly upTo: number;
  readonly at: { readonly seq: number; readonly hash: Hash } | undefined;
  /** The record ids of actions that began no later than `at`. No later event of these actions needs to be read. */
  readonly seen: Set<string>;
}

const lastBegun = memoKey<LastBegun>("last begun action");

/**
 * The maximum number of new events after which a search continues from the result of the previous search. After more
 * new events, the search starts anew.
 */
const MOST_NEW = 2_000;

/** The number of latest events that a new search reads first. */
const RECENT = 32;

/**
 * Returns the hash of the first event of the action that began last, up to event `headSeq`; empty if there is no
 * action.
 */
export async function lastBegunHash(context: Context, headSeq: number): Promise<Hash | ""> {
  const known = context.memo.get(lastBegun);
  const isNear = known !== undefined && known.upTo <= headSeq && headSeq - known.upTo <= MOST_NEW;
  const seen = isNear ? known.seen : new Set<string>();
  const at = isNear
    ? await latestBegun(context, await eventsUpTo(context, known.upTo + 1, headSeq), known)
    : await lookUpBegun(context, headSeq);
  context.memo.set(lastBegun, { upTo: headSeq, at, seen });
  return at?.hash ?? "";
}

/**
 * Finds the first event of the action that began last. Reads the latest events of the log. If these events do not show
 * which action began last, also reads the last event of each action.
 */
async function lookUpBegun(context: Context, headSeq: number): Promise<LastBegun["at"]> {
  const from = Math.max(1, headSeq - RECENT + 1);
  const at = await latestBegun(context, await eventsUpTo(context, from, headSeq));
  // An action without an event in this range began before the range, and so before the action that was found in the
  // range.
  if (at !== undefined && at.seq >= from) return at;
  return latestBegun(context, await context.index.records(PREFIX));
}

function eventsUpTo({ index }: Context, from: number, to: number): Promise<readonly EventRow[]> {
  return index.events({ from, to });
}

/**
 * Returns the first event of the action that began last: `known.at`, or the later first event of an action with an
 * event in `rows`. `rows` must be sorted, the oldest event first.
 */
async function latestBegun(
  context: Context,
  rows: readonly EventRow[],
  known?: Pick<LastBegun, "at" | "seen">,
): Promise<LastBegun["at"]> {
  let at = known?.at;
  // The newest row is visited first. No action of an older row can have begun later than that row.
  for (const row of rows.toReversed()) {
    if (!isOfAction(row) || known?.seen.has(row.recordId) === true) continue;
    if (at !== undefined && row.seq <= at.seq) break;
    const { seq, hash } = actionOfEvent(await readEvent(context, row));
    if (at === undefined || seq > at.seq) at = { seq, hash };
  }
  return at;
}

function isOfAction(row: EventRow): boolean {
  return row.recordId.startsWith(PREFIX);
}

/**
 * The maximum number of actions in `seen`. If this number is reached, all actions in `seen` are forgotten, because most
 * of them were closed long ago.
 */
const MOST_SEEN = 1_000;

export function noteBegun(context: Context, { id, seq, hash }: LoggedAction): void {
  const seen = context.memo.get(lastBegun)?.seen ?? new Set<string>();
  if (seen.size >= MOST_SEEN) seen.clear();
  seen.add(PREFIX + id);
  context.memo.set(lastBegun, { upTo: seq, at: { seq, hash }, seen });
}

/** Returns an action in the form of the API. */
export function actionShape(action: LoggedAction): ActionShape {
  return {
    id: action.id,
    timestamp: action.ts,
    action_type: action.type,
    action_summary: action.summary,
    files_backed_up: action.files.map((file) => shownPath(file.path)),
    outside: [...action.outside],
    previous_hash: action.previous,
    hash: action.hash,
    transaction_id: action.transaction ?? null,
    state: action.state,
    scope: action.scope,
    actor: action.actor,
    session: action.session ?? null,
    turn: action.turn ?? null,
    tool_call: action.toolCall ?? null,
    recursion_depth: action.recursionDepth,
    seq: action.seq,
    from_seq: action.fromSeq,
    ended: action.ended,
    changed: action.changed,
    pinned: action.pinned,
    coverage: coverageShape(action.coverage),
    ...optional({ reason: action.reason }),
    ...(action.omittedChanges.length === 0 ? {} : { omitted_changes: action.omittedChanges.map(omittedChangeShape) }),
  };
}

/** A session: one actor's run of work, as the log records it. */
export interface Session extends SessionRecord {
  readonly id: string;
  readonly seq: number;
  /** The number of runs and actions around the session. */
  readonly depth: number;
  /**
   * Set if the process of the session is gone and the end of the session is not recorded yet. The other fields are as
   * `closeAbandoned` would record them.
   */
  readonly unclosed?: true;
}

/** Returns all sessions, in the order in which they began. Their field `seq` is the seq of the session's last event. */
export async function loggedSessions(context: Context): Promise<Session[]> {
  const sessions: Session[] = [];
  for (const row of await context.index.records("session:")) {
    const event = await readEvent(context, row);
    const id = row.recordId.slice("session:".length);
    sessions.push({ ...decodeSession(event.record), id, seq: row.seq, depth: event.recursionDepth });
  }
  return sessions.sort((a, b) => a.fromSeq - b.fromSeq);
}
