import type { RecentItem, RecentOptions } from "../../api/recent-api.ts";
import type { UndoStack } from "../../core/records/undo-stack.ts";
import { quoteCommand } from "../../core/shell/quote-command.ts";
import type { Context } from "../log/context.ts";
import { historyStart } from "../log/history-start.ts";
import { doneIntents } from "../log/intents.ts";
import { addAll } from "../../util/long-lists.ts";
import { optional } from "../../util/optional.ts";
import { listSessions } from "../actions/session.ts";
import type { LoggedAction, Session } from "../facts/actions.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { actionsEver, activeTransactions, allTransactions } from "../facts/transactions.ts";
import { listSnapshots, type Snapshot } from "../read/snapshot.ts";
import { isUndone, listOperations, stackOf } from "./operations.ts";
import { type Burst, changesInView, type RecentChanges } from "./recent-changes.ts";
import { backTo, burstsOfSnapshots, lineOfBurst, type WholeLook } from "./recent-edits.ts";
import { type RecentLine, type Who, whoOf } from "./recent-line.ts";
import { isStateGone } from "./recent-state.ts";
import { syncLines } from "./recent-syncs.ts";
import { isOfTurn, shapeOfAction, turnLines } from "./recent-turns.ts";
import { type RecentView, turnsGoingOn } from "./recent-view.ts";
import type { Step } from "./step.ts";
import { titleOfUndo } from "./title-of-undo.ts";
import { countChanges } from "./transaction.ts";

export interface Story {
  /** The newest line first. */
  readonly lines: readonly RecentLine[];
  readonly operations: readonly LoggedOperation[];
  /** True if the view is the whole history. */
  readonly isWhole: boolean;
  /** The seqs of the last changes of lines that may go on after the view. */
  readonly going: readonly number[];
}

/** The steps at the end of the whole history, which the lines of a view need that ends earlier. */
export interface NewestSteps {
  /** The ids of the operations that the next `undo` and the next `redo` select; `null` if there is none. */
  readonly undoable: string | null;
  readonly redoable: string | null;
  /** The id of the last operation that did anything. */
  readonly last: string | undefined;
}

interface Facts {
  readonly view: RecentView;
  readonly operations: readonly LoggedOperation[];
  readonly stack: UndoStack;
  /** The id of the last operation that did anything. */
  readonly last: string | undefined;
  readonly sessions: readonly Session[];
  readonly snapshots: readonly Snapshot[];
  readonly actions: readonly LoggedAction[];
  readonly looks: readonly WholeLook[];
  readonly isUndone: (operation: string) => boolean;
}

/**
 * Returns a line for everything that happened in the view, the newest first. `most`: the number of lines that the
 * caller needs. `newest`: required for a view that ends before the head.
 */
export async function storyIn(
  view: RecentView,
  { actions: isWithIdle = false, most, newest }: StoryOptions,
): Promise<Story> {
  const { context, after } = view;
  const facts = await factsOf(view, newest);
  const { operations, snapshots } = facts;
  const borders = [
    ...snapshots.filter(isOfItsOwn).map(({ seq }) => seq),
    ...operations.filter(({ isPart }) => isPart !== true).map(({ toSeq }) => toSeq),
  ].sort((a, b) => a - b);
  const changes = await changesInView(view, borders);
  const lines: RecentLine[] = [
    ...snapshotAndEditLines(facts, changes),
    ...(await operationLines(facts, changes)),
    ...openRunLines(facts, changes),
    ...turnLines(context, facts.actions, { ...facts, after, changes, isWithIdle, goingOn: await goingOn(facts) }),
    ...(isWithIdle ? idleLines(facts) : []),
    ...(await transactionLines(context, changes)),
  ];
  const syncs = await syncLines(view, { between: lines.map(({ seq }) => seq), most });
  addAll(lines, syncs.lines);
  return {
    lines: lines.filter(({ seq }) => seq > after).sort((a, b) => b.seq - a.seq),
    operations,
    isWhole: after === 0 && newest === undefined,
    going: [...syncs.going, ...(changes.going === undefined ? [] : [changes.going.last])],
  };
}

interface StoryOptions extends RecentOptions {
  readonly most: number;
  readonly newest: NewestSteps | undefined;
}

function goingOn({ view, actions }: Facts): Promise<ReadonlySet<string>> {
  return turnsGoingOn(
    view,
    actions.filter(isOfTurn).map(({ session = "", turn }) => ({ session, turn })),
  );
}

async function factsOf(view: RecentView, newest: NewestSteps | undefined): Promise<Facts> {
  const { context } = view;
  const operations = await listOperations(context);
  const stack = endingWith(stackOf(operations), newest);
  const sessions = await listSessions(context);
  const snapshots = await listSnapshots(context);
  const byId = new Map(operations.map((one) => [one.id, one]));
  const undone = (id: string): boolean => {
    const operation = byId.get(id);
    return operation !== undefined && isUndone(operation, stack);
  };
  const actions = await actionsEver(context);
  return {
    view,
    operations,
    last: newest === undefined ? lastStep(operations) : newest.last,
    stack,
    sessions,
    snapshots,
    actions,
    looks: looksOf(snapshots, sessions),
    isUndone: undone,
  };
}

/** Returns the id of the last operation that did anything. */
export function lastStep(operations: readonly LoggedOperation[]): string | undefined {
  return operations.findLast(({ isPart, selective }) => isPart !== true && selective?.isNothing !== true)?.id;
}

/** Returns the stack with the last elements of the stack of the whole history. */
function endingWith(stack: UndoStack, newest: NewestSteps | undefined): UndoStack {
  if (newest === undefined) return stack;
  const ending = (ids: readonly string[], last: string | null): readonly string[] =>
    last === null ? ids : [...ids.filter((id) => id !== last), last];
  return { ...stack, undoable: ending(stack.undoable, newest.undoable), redoable: ending([], newest.redoable) };
}

/** Returns the moments at which the whole folder was scanned, in the order of the log. */
function looksOf(snapshots: readonly Snapshot[], sessions: readonly Session[]): WholeLook[] {
  const looks: WholeLook[] = snapshots.map(({ seq, ts }) => ({ seq, ts }));
  for (const { kind, fromSeq, seq, started, ended } of sessions) {
    if (kind === "agent") continue;
    looks.push({ seq: fromSeq, ts: started });
    if (ended !== null) looks.push({ seq, ts: ended });
  }
  return looks.sort((a, b) => a.seq - b.seq);
}

/** True for a snapshot that gets a line of its own, because it belongs to no session and was not compacted away. */
function isOfItsOwn(snapshot: Snapshot): boolean {
  return snapshot.session === undefined && snapshot.compactedBy === undefined;
}

function snapshotAndEditLines({ view, snapshots, looks }: Facts, { bursts }: RecentChanges): RecentLine[] {
  const { context, after } = view;
  const own = snapshots.filter(isOfItsOwn);
  const of = burstsOfSnapshots(own, bursts);
  const lines: RecentLine[] = [];
  const taken = new Set<Burst>();
  for (const snapshot of own) {
    const burst = of.get(snapshot.id);
    if (burst !== undefined) taken.add(burst);
    const isCut = after > 0 && (burst === undefined ? !bursts.some(isBefore(snapshot)) : burst.first - 1 <= after);
    if (snapshot.cause !== "before-session") lines.push({ ...lineOfSnapshot(context, snapshot, burst), isCut });
    else if (burst !== undefined) lines.push(lineOfBurst(context, burst, { after, looks }, snapshot));
  }
  for (const burst of bursts)
    // Edits within a transaction have no line of their own, because the line of the transaction counts them.
    if (!taken.has(burst) && burst.transaction === undefined) lines.push(lineOfBurst(context, burst, { after, looks }));
  return lines;
}

/** Returns a function that returns true for a burst that began before the snapshot was taken. */
function isBefore({ seq }: Snapshot): (burst: Burst) => boolean {
  return ({ first }) => first < seq;
}

function lineOfSnapshot(context: Context, snapshot: Snapshot, burst: Burst | undefined): RecentLine {
  const { name, message, cause, seq, actor } = snapshot;
  const isBaseline = cause === "baseline";
  const named = [name, message].filter((text) => text !== undefined).join(": ");
  const entries = `${snapshot.entries} ${snapshot.entries === 1 ? "path" : "paths"}`;
  return {
    kind: isBaseline ? "baseline" : "snapshot",
    id: snapshot.id,
    seq,
    fromSeq: (burst?.first ?? seq) - 1,
    timestamp: snapshot.ts,
    summary: isBaseline ? `baseline of ${entries}` : named || "snapshot",
    actor,
    who: whoOf(actor),
    changed: burst?.own.size ?? 0,
    own: burst?.own ?? new Map(),
    more: async () => ({
      snapshot: snapshot.number,
      ...(isBaseline
        ? { changed: snapshot.changed ?? snapshot.entries, back: `chronicle restore ${snapshot.number}` }
        : await beforeSnapshot(context, snapshot, burst)),
    }),
  };
}

/** Returns the command that restores the state before the burst of edits that a snapshot recorded. */
async function beforeSnapshot(
  context: Context,
  { seq, changed }: Snapshot,
  burst: Burst | undefined,
): Promise<Pick<RecentItem, "back"> & Partial<RecentItem>> {
  const start = await historyStart(context);
  // If the log no longer has the edits, the line shows the number of changes that the snapshot recorded.
  if (start !== undefined && seq < start.seq) return { back: "", changed: changed ?? 0 };
  return { back: await backTo(context, burst?.first ?? seq) };
}

async function operationLines(facts: Facts, { byOwner }: RecentChanges): Promise<RecentLine[]> {
  const { view, operations, snapshots, actions } = facts;
  const { context } = view;
  const alone = operations.filter((one) => one.isPart !== true);
  const actors = await actorsOf(context);
  const byId = new Map(actions.map((one) => [one.id, one]));
  const runs = new Map(facts.sessions.map((one) => [one.id, one]));
  return alone.flatMap((one): RecentLine[] => {
    const action = byId.get(one.id);
    if (one.kind === "action" && action !== undefined && isOfTurn(action)) return [];
    const { actor, who, session } = doerOf(one, { action, actors });
    const own = ["run", "action", "transaction"].includes(one.kind) ? { own: byOwner.get(one.id) ?? new Map() } : {};
    return [
      {
        kind: one.kind,
        id: one.id,
        seq: one.toSeq,
        fromSeq: one.fromSeq,
        timestamp: one.ended ?? one.started,
        summary: one.summary,
        ...{ actor, who, session, changed: one.changed, isCounted: true },
        ...own,
        ...(one.kind === "undo" || one.kind === "redo"
          ? { title: () => titleOfUndo(one, { history: view.history, operations, actions, sessions: facts.sessions }) }
          : {}),
        more: async () => {
          const snapshot = snapshots.find((taken) => taken.session === one.id);
          const undone = isUndone(one, facts.stack);
          return {
            ...(snapshot === undefined ? {} : { snapshot: snapshot.number }),
            ...(undone ? { undone: true } : {}),
            ...endOf(action ?? runs.get(one.id)),
            back: (await isStateGone(context, one.fromSeq))
              ? ""
              : wayBack({ operation: one, stack: facts.stack }, one.id === facts.last),
          };
        },
        ...(one.kind === "run" ? { beneath: () => beneathRun(facts, one.id) } : {}),
      },
    ];
  });
}

/** Returns the fields that say how an action or a run ended. */
function endOf(work: LoggedAction | Session | undefined): Pick<RecentItem, "outcome" | "exit_code" | "signal"> {
  if (work === undefined) return {};
  const { state } = work;
  const { exitCode, signal } = "exitCode" in work ? work : { exitCode: null, signal: null };
  const isFailed = (exitCode ?? 0) !== 0 || signal !== null || state === "failed";
  const outcome = state === "abandoned" || state === "denied" ? state : isFailed ? "failed" : undefined;
  return optional({ outcome, exit_code: exitCode ?? undefined, signal: signal ?? undefined });
}

const MOST_BENEATH = 200;

function beneathRun({ actions, isUndone: undone }: Facts, run: string): ReturnType<NonNullable<RecentLine["beneath"]>> {
  const own = actions.filter((one) => one.run === run).slice(0, MOST_BENEATH);
  return own.map((one) => shapeOfAction(one, undone));
}

interface Doer {
  readonly actor: string;
  readonly who: Who;
  readonly session?: string | undefined;
}

function doerOf(
  { id, kind }: LoggedOperation,
  { action, actors }: { readonly action: LoggedAction | undefined; readonly actors: ReadonlyMap<string, string> },
): Doer {
  if (action !== undefined) {
    const { actor, recursionDepth, session } = action;
    return { actor, who: whoOf(actor, recursionDepth), session };
  }
  const actor = actors.get(id) ?? "";
  return kind === "run" ? { actor, who: "command", session: id } : { actor, who: whoOf(actor) };
}

/** Returns a map from the ids of runs, transactions and finished intents to their actors. */
async function actorsOf(context: Context): Promise<ReadonlyMap<string, string>> {
  const actors = new Map<string, string>();
  for (const { id, actor } of [...(await listSessions(context)), ...(await allTransactions(context))])
    actors.set(id, actor);
  for (const { id, intent } of await doneIntents(context)) actors.set(id, intent.actor);
  return actors;
}

/** Returns lines for the runs that have not ended. A run within another run has no line of its own. */
function openRunLines({ sessions, view }: Facts, { byOwner }: RecentChanges): RecentLine[] {
  const open = sessions.filter(
    (one) => one.kind === "run" && one.state === "running" && one.within.run === undefined && one.ended === null,
  );
  return open.map(({ id, actor, command, started, fromSeq }) => {
    const own = byOwner.get(id) ?? new Map();
    return {
      kind: "run",
      id,
      seq: view.head,
      fromSeq,
      timestamp: started,
      summary: quoteCommand(command),
      ...{ actor, who: "command", session: id },
      changed: own.size,
      own,
      more: async () => ({ open: true, back: "" }),
    };
  });
}

/**
 * Returns lines for the actions that are no operations, because they changed nothing or are still open. Leaves out
 * actions of turns and of runs.
 */
function idleLines({ actions, operations, view }: Facts): RecentLine[] {
  const known = new Set(operations.map(({ id }) => id));
  const idle = actions.filter((one) => !isOfTurn(one) && one.run === undefined && !known.has(one.id));
  return idle.map((one) => ({
    kind: "action",
    id: one.id,
    seq: one.lastSeq,
    fromSeq: one.fromSeq,
    timestamp: one.ended ?? one.ts,
    summary: one.summary,
    ...{ actor: one.actor, who: whoOf(one.actor, one.recursionDepth), session: one.session },
    changed: one.changed ?? 0,
    own: new Map(),
    more: async () => ({
      ...(one.state === "open" ? { open: true as const } : {}),
      ...endOf(one),
      back: (await isStateGone(view.context, one.fromSeq)) ? "" : `chronicle restore seq:${one.fromSeq}`,
    }),
  }));
}

/**
 * Returns the command that reverses an operation:
 * - For the last operation that did anything, if it is an undo or a redo: `chronicle redo` or `chronicle undo`. This
 *   holds only if the command reverses exactly this operation.
 * - For an operation that can be undone: `chronicle undo`, if needed with the id of the operation.
 * - In all other cases: a restore of the state before the operation.
 */
function wayBack({ operation, stack }: Pick<Step, "operation" | "stack">, isLast: boolean): string {
  const { id, kind, fromSeq, target, selective } = operation;
  const next = { undo: stack.redoable.at(-1), redo: stack.undoable.at(-1) };
  if (isLast && kind === "undo" && next.undo === (selective === undefined ? target : id)) return "chronicle redo";
  if (isLast && kind === "redo" && next.redo === target) return "chronicle undo";
  if (kind === "undo" || kind === "redo" || !stack.undoable.includes(id)) return `chronicle restore seq:${fromSeq}`;
  return stack.undoable.at(-1) === id ? "chronicle undo" : `chronicle undo ${id.slice(0, 8)}`;
}

async function transactionLines(context: Context, { byOwner }: RecentChanges): Promise<RecentLine[]> {
  return (await activeTransactions(context))
    .filter(({ parent }) => parent === undefined)
    .map((one) => ({
      kind: "transaction" as const,
      id: one.id,
      seq: one.fromSeq + 1,
      fromSeq: one.fromSeq,
      timestamp: one.startedAt,
      summary: `${one.name ?? `transaction ${one.id.slice(0, 8)}`} (open)`,
      actor: one.actor,
      who: whoOf(one.actor),
      session: one.session,
      changed: 0,
      isCounted: true,
      isOpen: true,
      own: byOwner.get(one.id) ?? new Map(),
      more: async () => ({
        open: true as const,
        changed: await countChanges(context, one),
        back: `chronicle transaction rollback ${one.id.slice(0, 8)}`,
      }),
    }));
}
