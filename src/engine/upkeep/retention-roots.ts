import type { EventRow } from "../../storage/index-store.ts";
import { keepsAction, type PruneRecord } from "../../core/records/prune-record.ts";
import { keepsState, type KeptStates } from "../../core/tree/kept-states.ts";
import type { KeptMoment } from "../../core/records/retention.ts";
import { decodeTransaction } from "../../core/records/transaction-record.ts";
import { leastOf } from "../../util/long-lists.ts";
import { actionOfEvent, openRows, type LoggedAction } from "../facts/actions.ts";
import { openBrackets } from "../facts/brackets.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { pruningInForce } from "../facts/pruning.ts";
import { readEvent, readEvents } from "../log/read-events.ts";
import { unsentFrom } from "../facts/followed-origin.ts";
import { listSnapshots, type Snapshot } from "../read/snapshot.ts";
import { memoKey } from "../log/memo.ts";

export interface RetentionRoots {
  /**
   * The moments that can be restored, in the order of their states. A moment with a shield (a reason such as a pin) is
   * kept, whatever the rules say.
   */
  readonly moments: readonly KeptMoment[];
  /** The states at which the open runs and watches began. A pruning must keep them. */
  readonly states: readonly number[];
  /**
   * The seq of the first state that is kept, with all later states, whatever the rules say (see `Unfinished.hold`).
   * `Infinity` if the rules decide about all states.
   */
  readonly hold: number;
}

interface SeenAction {
  row: EventRow;
  /**
   * The action as it was read last, and the seq of the row from which it was read; `undefined` if the action was not
   * read yet.
   */
  read: { readonly seq: number; readonly action: LoggedAction } | undefined;
}

interface ActionView {
  seq: number;
  /**
   * Maps record ids to the actions that began after the floor, as it was when the view was built. If `belowRead` is
   * true, the map also has the actions that a pruning has kept below that floor.
   */
  readonly actions: Map<string, SeenAction>;
  belowRead: boolean;
  /**
   * The floor at the last update. If the floor is lower now, pruned states were brought back, and the view is built
   * again.
   */
  floor: number;
}

const views = memoKey<ActionView>("known actions");
const PAGE = 10_000;
const PREFIX = "action:";

async function viewOf(context: Context): Promise<ActionView> {
  const head = (await context.index.head()).seq;
  const floor = (await pruningInForce(context))?.floorSeq ?? 0;
  let view = context.memo.get(views);
  if (view === undefined || view.seq > head || view.floor > floor) {
    view = { seq: floor, actions: new Map(), belowRead: floor === 0, floor };
    context.memo.set(views, view);
  }
  view.floor = floor;
  while (view.seq < head) {
    const rows = await context.index.events({ from: view.seq + 1, to: head, limit: PAGE });
    for (const row of rows) if (row.recordId.startsWith(PREFIX)) see(view, row);
    view.seq = rows.length < PAGE ? head : (rows.at(-1)?.seq ?? head);
  }
  return view;
}

function see(view: ActionView, row: EventRow): void {
  const seen = view.actions.get(row.recordId);
  if (seen === undefined) view.actions.set(row.recordId, { row, read: undefined });
  else seen.row = row;
}

/**
 * Returns an upper bound of the number of actions that can still be rolled back. Reads only rows of the index, and no
 * line of the log.
 */
export async function mostActions(context: Context): Promise<number> {
  const { actions, belowRead } = await viewOf(context);
  if (belowRead) return actions.size;
  // Actions that a pruning has kept below its floor are not in the view yet.
  return actions.size + ((await pruningInForce(context))?.keptActions.length ?? 0);
}

export function forgetActions({ memo }: Context, pruned: readonly KeptMoment[]): void {
  for (const { kind, name } of pruned) if (kind === "action") memo.get(views)?.actions.delete(PREFIX + name);
}

/** Returns the actions that can still be rolled back, in order. Removes all others from the view. */
async function actionsKept(context: Context, pruning: PruneRecord | undefined): Promise<LoggedAction[]> {
  const view = await viewOf(context);
  if (!view.belowRead) await readBelow(context, view, pruning?.keptActions ?? []);
  const begins = (await indexedFrom(context)) ?? 1;
  await readActions(context, view);
  const kept: LoggedAction[] = [];
  for (const [recordId, { read }] of view.actions) {
    const action = read?.action;
    if (action === undefined) continue;
    if (keepsAction(pruning, action.fromSeq) && action.fromSeq >= begins - 1) kept.push(action);
    else view.actions.delete(recordId);
  }
  return kept.sort((a, b) => a.fromSeq - b.fromSeq);
}

async function readActions(context: Context, { actions }: ActionView): Promise<void> {
  const stale = [...actions.values()].filter(({ row, read }) => read?.seq !== row.seq);
  const rows: EventRow[] = [];
  // The rows are looked up again, because a compaction may have moved their events after the view was updated.
  for (const { row } of stale) rows.push((await context.index.record(row.recordId)) ?? row);
  const events = await readEvents(context, rows);
  events.forEach((event, i) => {
    const seen = stale[i];
    if (seen !== undefined) seen.read = { seq: seen.row.seq, action: actionOfEvent(event) };
  });
}

/**
 * Adds the actions that are kept below the floor. The kept state of such an action is the state right before the first
 * event of the action.
 */
async function readBelow(context: Context, view: ActionView, kept: readonly number[]): Promise<void> {
  for (const state of kept) {
    const first = await context.index.locate(state + 1);
    if (first?.recordId.startsWith(PREFIX) !== true) continue;
    const row = await context.index.record(first.recordId);
    if (row !== undefined) see(view, row);
  }
  view.belowRead = true;
}

/**
 * Returns the moments that can be restored, and the states that unfinished work needs. A pruning decides which of these
 * moments are kept.
 */
export async function retentionRoots(context: Context, options: RetentionRootsOptions = {}): Promise<RetentionRoots> {
  const pruning = await pruningInForce(context);
  const actions = await actionsKept(context, pruning);
  const snapshots = (await listSnapshots(context)).filter(
    (one) => one.compactedBy === undefined && one.prunedBy === undefined,
  );
  const { transactions, hold, states } = await unfinished(context, pruning);
  const firsts = firstOfSessions(actions);
  const moments = [
    ...snapshots.map((one) => momentOfSnapshot(one, options)),
    ...actions.map((one) => momentOfAction(one, { transactions, firsts, options })),
  ];
  return { moments: moments.sort((a, b) => a.state - b.state), states, hold };
}

/** Options for the shields, the reasons why a moment stays in any case. */
export interface RetentionRootsOptions {
  /** True if a pinned moment has no shield because of its pin. */
  readonly dropPins?: boolean;
  /** True if the first action of a session has no shield because it is the first. */
  readonly dropFirsts?: boolean;
}

interface Unfinished {
  readonly transactions: ReadonlySet<string>;
  /**
   * The earlier of two states: the earliest state to which an active transaction can be rolled back, and the state
   * after the last event that the followed origin has answered. This state and all later states are kept. `Infinity` if
   * no transaction is active and no origin is followed.
   */
  readonly hold: number;
  /** The states at which the open runs and watches began. States that a pruning gave up are left out. */
  readonly states: readonly number[];
}

async function unfinished(context: Context, pruning: KeptStates | undefined): Promise<Unfinished> {
  const active = await openRows(context, "transaction:");
  const rolledBackTo: number[] = [];
  for (const row of active) rolledBackTo.push(decodeTransaction((await readEvent(context, row)).record).fromSeq);
  const { runs, watches } = await openBrackets(context);
  const unsent = (await unsentFrom(context)) ?? Number.POSITIVE_INFINITY;
  // The states before and after the event that begins a run or a watch are both kept. They have the same files, but
  // messages and lists name the state after the event.
  const begun = [...runs, ...watches].flatMap(({ record: { fromSeq } }) => [fromSeq - 1, fromSeq]);
  return {
    transactions: new Set(active.map((row) => row.recordId.slice("transaction:".length))),
    hold: Math.min(leastOf(rolledBackTo), unsent),
    states: begun.filter((state) => keepsState(pruning, state)),
  };
}

function firstOfSessions(actions: readonly LoggedAction[]): ReadonlySet<string> {
  const firsts = new Map<string, string>();
  for (const { session, id } of actions) if (session !== undefined && !firsts.has(session)) firsts.set(session, id);
  return new Set(firsts.values());
}

function momentOfSnapshot(snapshot: Snapshot, { dropPins }: RetentionRootsOptions): KeptMoment {
  const { number, stateSeq, ts, name } = snapshot;
  const moment = { kind: "snapshot" as const, name: String(number), state: stateSeq, ts: Date.parse(ts) };
  if (number === 0) return { ...moment, shield: "baseline" };
  if (name !== undefined) return { ...moment, shield: "named" };
  return snapshot.pinned && dropPins !== true ? { ...moment, shield: "pinned" } : moment;
}

interface Judging {
  readonly transactions: ReadonlySet<string>;
  readonly firsts: ReadonlySet<string>;
  readonly options: RetentionRootsOptions;
}

function momentOfAction(action: LoggedAction, { transactions, firsts, options }: Judging): KeptMoment {
  const moment = { kind: "action" as const, name: action.id, state: action.fromSeq, ts: Date.parse(action.ts) };
  if (action.pinned && options.dropPins !== true) return { ...moment, shield: "pinned" };
  const isOpen = action.state === "open" || (action.transaction !== undefined && transactions.has(action.transaction));
  if (isOpen) return { ...moment, shield: "open" };
  return firsts.has(action.id) && options.dropFirsts !== true ? { ...moment, shield: "first" } : moment;
}
