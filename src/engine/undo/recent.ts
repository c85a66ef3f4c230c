import type { RecentItem, RecentShape } from "../../api/workspace-api.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { decodeIntent } from "../../core/records/records.ts";
import { decodeReplica, originOfRecordId } from "../../core/records/replica-record.ts";
import { decodeWriteBack } from "../../core/records/write-back.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom, historyStart } from "../log/history-start.ts";
import { prunedBy } from "../facts/pruning.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";
import { leastOf, addAll } from "../../util/long-lists.ts";
import { firstFill } from "../facts/brought-paths.ts";
import { isUndone, listOperations, stackOf } from "./operations.ts";
import type { Step } from "./step.ts";
import { listSessions } from "../actions/session.ts";
import { activeTransactions } from "../facts/transactions.ts";
import { countChanges } from "./transaction.ts";
import { listSnapshots, type Snapshot } from "../read/snapshot.ts";

/** A line of the list of recent work. The item is made only if the line is shown. */
interface RecentLine {
  readonly seq: number;
  readonly item: () => RecentItem | Promise<RecentItem>;
}

/**
 * Returns the newest `limit` lines of recent work, newest first: snapshots, operations, open transactions, watches, and
 * changes that a sync brought. `undoable` is the id of the operation that an undo without arguments would undo; `null`
 * if there is none.
 */
export async function recentWork(context: Context, limit = 20): Promise<RecentShape> {
  const snapshots = await listSnapshots(context);
  const lines: RecentLine[] = [
    ...snapshotLines(context, snapshots),
    ...(await operationLines(context, snapshots)),
    ...(await transactionLines(context)),
    ...(await watchLines(context)),
  ];
  addAll(lines, await syncLines(context, { between: lines.map(({ seq }) => seq), most: limit }));
  lines.sort((a, b) => b.seq - a.seq);
  const items: RecentItem[] = [];
  for (const { item } of lines.slice(0, limit)) items.push(await item());
  const undoable = stackOf(await listOperations(context)).undoable.at(-1);
  return { items, undoable: undoable ?? null };
}

/** True for a snapshot that gets a line of its own, because it belongs to no session and was not compacted away. */
function isOfItsOwn(snapshot: Snapshot): boolean {
  return snapshot.session === undefined && snapshot.compactedBy === undefined;
}

function snapshotLines(context: Context, snapshots: readonly Snapshot[]): RecentLine[] {
  const own = snapshots.filter(isOfItsOwn);
  return own.map((one, i) => ({ seq: one.seq, item: () => snapshotItem(context, one, own[i - 1]?.seq ?? 0) }));
}

/** `previous`: the event of the previous snapshot with a line of its own, or 0 if there is none. */
async function snapshotItem(context: Context, snapshot: Snapshot, previous: number): Promise<RecentItem> {
  const { name, message, cause } = snapshot;
  const baseline = cause === "baseline";
  const named = [name, message].filter((text) => text !== undefined).join(": ");
  const what = cause === "before-session" ? "edits before a run" : "snapshot";
  return {
    kind: baseline ? "baseline" : "snapshot",
    id: snapshot.id,
    timestamp: snapshot.ts,
    summary: baseline ? `baseline of ${snapshot.entries} ${snapshot.entries === 1 ? "path" : "paths"}` : named || what,
    snapshot: snapshot.number,
    ...(baseline
      ? { changed: snapshot.changed ?? snapshot.entries, back: `chronicle restore ${snapshot.number}` }
      : await beforeSnapshot(context, snapshot, previous)),
  };
}

async function isStateGone(context: Context, seq: number): Promise<boolean> {
  const start = await historyStart(context);
  // The state right before a compaction is still known, because it is the state of the base.
  if (start !== undefined && seq < start.seq && seq !== start.firstLine - 1) return true;
  return (await prunedBy(context, seq, seq + 1)) !== undefined;
}

const PAGE = 200;

/** The causes of edits that a capture attributes to no work, or to an open transaction. */
const OF_CAPTURES: ReadonlySet<unknown> = new Set(["capture", "transaction"]);

/**
 * Returns the number of paths that the edits before a snapshot changed, and the command that restores the state before
 * these edits. The command is empty if that state was pruned or compacted away. Counts the edits in the log if the log
 * still has them, because the snapshot's own count includes changes that have lines of their own.
 */
async function beforeSnapshot(
  context: Context,
  { seq, changed: all }: Snapshot,
  previous: number,
): Promise<Pick<RecentItem, "back" | "changed">> {
  const start = await historyStart(context);
  // The log no longer has the edits, so the snapshot's own count is shown.
  if (start !== undefined && seq < start.seq) return { back: "", changed: all ?? 0 };
  const changed = new Set<string>();
  let first = seq;
  for await (const event of capturedBefore(context, seq, previous)) {
    changed.add(event.recordId);
    first = event.seq;
  }
  const back = (await isStateGone(context, first - 1)) ? "" : `chronicle restore seq:${first - 1}`;
  return { back, changed: changed.size };
}

/**
 * Yields the events of the edits that captures recorded after event `after` and before event `before`, newest first.
 * Stops at a file event of an operation, a run, an action or a sync, because such work has a line of its own. Includes
 * plain edits in a transaction, because a transaction can stay open for long. The transaction's line also counts these
 * edits. Passes over events that change no file: a coverage, a setting, a session, a proposal.
 */
async function* capturedBefore(context: Context, before: number, after: number): AsyncGenerator<LogEvent> {
  let to = before - 1;
  while (to > after) {
    const rows = await context.index.events({ from: after + 1, to, limit: PAGE, descending: true });
    const ofFiles = rows.filter((row) => row.recordId.startsWith("file") && !isInBase(row));
    for (const event of await readEvents(context, ofFiles)) {
      if (!OF_CAPTURES.has(event.record["cause"])) return;
      yield event;
    }
    to = (rows.at(-1)?.seq ?? 0) - 1;
  }
}

async function operationLines(context: Context, snapshots: readonly Snapshot[]): Promise<RecentLine[]> {
  const operations = await listOperations(context);
  const stack = stackOf(operations);
  const alone = operations.filter((one) => one.isPart !== true);
  const last = alone.findLast(({ selective }) => selective?.isNothing !== true);
  return alone.map((one) => ({
    seq: one.toSeq,
    item: async () => {
      const snapshot = snapshots.find((taken) => taken.session === one.id);
      const isGone = await isStateGone(context, one.fromSeq);
      return {
        kind: one.kind,
        id: one.id,
        timestamp: one.ended ?? one.started,
        summary: one.summary,
        changed: one.changed,
        ...(snapshot === undefined ? {} : { snapshot: snapshot.number }),
        ...(isUndone(one, stack) ? { undone: true } : {}),
        back: isGone ? "" : wayBack({ operation: one, stack }, one === last),
      };
    },
  }));
}

/**
 * Returns the command that reverses an operation:
 * - `redo` for an undo, and `undo` for a redo. The operation must be the last one that did anything, and the command
 *   must reverse exactly this operation.
 * - For any other operation that can be undone, its undo.
 * - In all other cases, a restore of the state before the operation.
 */
function wayBack({ operation, stack }: Pick<Step, "operation" | "stack">, isLast: boolean): string {
  const { id, kind, fromSeq, target, selective } = operation;
  const next = { undo: stack.redoable.at(-1), redo: stack.undoable.at(-1) };
  if (isLast && kind === "undo" && next.undo === (selective === undefined ? target : id)) return "chronicle redo";
  if (isLast && kind === "redo" && next.redo === target) return "chronicle undo";
  if (kind === "undo" || kind === "redo" || !stack.undoable.includes(id)) return `chronicle restore seq:${fromSeq}`;
  return stack.undoable.at(-1) === id ? "chronicle undo" : `chronicle undo ${id.slice(0, 8)}`;
}

async function transactionLines(context: Context): Promise<RecentLine[]> {
  return (await activeTransactions(context))
    .filter(({ parent }) => parent === undefined)
    .map((one) => ({
      seq: one.fromSeq + 1,
      item: async () => ({
        kind: "transaction" as const,
        id: one.id,
        timestamp: one.startedAt,
        summary: `${one.name ?? `transaction ${one.id.slice(0, 8)}`} (open)`,
        changed: await countChanges(context, one),
        back: `chronicle transaction rollback ${one.id.slice(0, 8)}`,
      }),
    }));
}

async function watchLines(context: Context): Promise<RecentLine[]> {
  return (await listSessions(context))
    .filter((one) => one.kind === "watch" && one.state !== "running" && one.changed > 0)
    .map((one) => ({
      seq: one.seq,
      item: async () => {
        const isGone = await isStateGone(context, one.fromSeq);
        return {
          kind: "watch" as const,
          id: one.id,
          timestamp: one.ended ?? one.started,
          summary: "watched the folder",
          changed: one.changed,
          back: isGone ? "" : `chronicle restore ${one.id.slice(0, 8)}`,
        };
      },
    }));
}

/** Changes of a sync form one line if the pause between them is at most this long, in milliseconds. */
const PAUSE_MS = 120_000;

/** The number of events of a source that are read at once. */
const STRIDE = 500;

interface Brought {
  /** The event before the first of these changes. */
  readonly fromSeq: number;
  readonly seq: number;
  /** The time of event `seq`, in ISO-8601. */
  readonly ts: string;
  readonly changed: number;
}

/** A peer from which changes come. Recording its changes also writes an event of the record `recordId`. */
interface Source {
  readonly id: string;
  readonly summary: string;
  readonly recordId: string;
  /**
   * Returns the changes that were written with an event of the record; `undefined` if there are none. `before` is the
   * record's previous event, or 0.
   */
  readonly broughtBy: (event: LogEvent, before: number) => Brought | undefined;
}

interface SyncLine {
  readonly seq: number;
  readonly item: () => Promise<RecentItem>;
}

/**
 * Returns lines for the changes that came from origins (in a replica) and from replicas (in an origin). Consecutive
 * changes of one source form one line if the pause between them is short and nothing lies between them: no event with a
 * line of its own, and no other change of a file. `between` has the seqs of the events with lines of their own. Returns
 * at least the newest `most` lines of each source, or all if there are fewer.
 */
async function syncLines(
  context: Context,
  { between, most }: { readonly between: readonly number[]; readonly most: number },
): Promise<SyncLine[]> {
  const borders = between.toSorted((a, b) => a - b);
  const lines: SyncLine[] = [];
  const filled = (await firstFill(context)) ?? 0;
  for (const source of [...(await origins(context)), ...(await replicas(context))]) {
    for (const run of await runsOf(context, source, { borders, most }))
      lines.push(lineOf(context, source, { run, filled }));
  }
  return lines;
}

interface SyncRun {
  readonly run: readonly Brought[];
  /** The event at which this replica first had all files of the origin, or 0 if there is none. */
  readonly filled: number;
}

function lineOf(context: Context, { id, summary }: Source, { run, filled }: SyncRun): SyncLine {
  const [last, first] = [run[0] as Brought, run.at(-1) as Brought];
  const item = async (): Promise<RecentItem> => ({
    kind: "sync",
    id,
    timestamp: last.ts,
    summary,
    changed: run.reduce((sum, one) => sum + one.changed, 0),
    // A restore to a state before the first fill would remove everything that came from the origin, so no restore is
    // offered.
    back:
      first.fromSeq >= filled && (await isHeld(context, first.fromSeq)) ? `chronicle restore seq:${first.fromSeq}` : "",
  });
  return { seq: last.seq, item };
}

async function isHeld(context: Context, seq: number): Promise<boolean> {
  const begins = (await indexedFrom(context)) ?? 1;
  return seq >= begins - 1 && (await prunedBy(context, seq, seq + 1)) === undefined;
}

async function origins(context: Context): Promise<Source[]> {
  const rows = await context.index.records("replica:");
  return (await readEvents(context, rows)).map(({ recordId, record }) => {
    const { url, workspace } = decodeReplica(record);
    const id = originOfRecordId(recordId) ?? "";
    const summary = `from ${url}${workspace === undefined ? "" : `#${workspace}`}`;
    return { id, summary, recordId: `intent:${id}`, broughtBy: stepOf };
  });
}

/** Returns the changes of a finished step of a sync; `undefined` if the event does not finish the step's intent. */
function stepOf({ seq, ts, record }: LogEvent): Brought | undefined {
  const { state, fromSeq, paths, skipped = 0 } = decodeIntent(record);
  return state === "done" ? { fromSeq, seq, ts, changed: paths - skipped } : undefined;
}

async function replicas(context: Context): Promise<Source[]> {
  const prefix = "writeback:";
  return (await context.index.records(prefix)).map(({ recordId }) => {
    const id = recordId.slice(prefix.length);
    return { id, summary: `from the replica ${id.slice(0, 8)}`, recordId, broughtBy: writtenBy };
  });
}

/** Returns the accepted changes that became events after the previous answer to the replica. */
function writtenBy({ seq, ts, record }: LogEvent, before: number): Brought | undefined {
  const { accepted } = decodeWriteBack(record);
  const became = new Set(accepted.map(({ sequence }) => sequence).filter((one) => one > before));
  return became.size === 0 ? undefined : { fromSeq: leastOf(became) - 1, seq, ts, changed: became.size };
}

interface Reach {
  readonly borders: readonly number[];
  readonly most: number;
}

/**
 * Groups the changes of a source into runs that form one line each. The runs, and the changes in each run, are ordered
 * from the newest to the oldest. Stops reading once there are more than `most` runs.
 */
async function runsOf(
  context: Context,
  { recordId, broughtBy }: Source,
  { borders, most }: Reach,
): Promise<Brought[][]> {
  const all = await context.index.recordHistory(recordId);
  const rows = all.filter((row) => !isInBase(row));
  const compacted = all.findLast(isInBase)?.seq ?? 0;
  const runs: Brought[][] = [];
  for (let end = rows.length; end > 0 && runs.length <= most; end -= STRIDE) {
    const start = Math.max(0, end - STRIDE);
    const events = await readEvents(context, rows.slice(start, end));
    for (const [i, event] of [...events.entries()].reverse()) {
      const one = broughtBy(event, rows[start + i - 1]?.seq ?? compacted);
      if (one === undefined || one.changed <= 0) continue;
      const run = runs.at(-1);
      if (run === undefined || !(await isContinued(context, one, { later: run.at(-1) as Brought, borders })))
        runs.push([one]);
      else run.push(one);
    }
  }
  return runs;
}

/** True if the pause between `one` and `later` is short, and nothing lies between them. */
async function isContinued(
  context: Context,
  one: Brought,
  { later, borders }: { readonly later: Brought; readonly borders: readonly number[] },
): Promise<boolean> {
  // If the clock was set back in between, the difference is negative.
  if (Math.abs(Date.parse(later.ts) - Date.parse(one.ts)) > PAUSE_MS) return false;
  if (borders.some((seq) => seq > one.seq && seq < later.seq)) return false;
  return (await context.index.touched(one.seq, later.fromSeq)).length === 0;
}
