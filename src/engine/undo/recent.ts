import type { RecentItem, RecentShape } from "../../api/workspace-api.ts";
import type { Context } from "../log/context.ts";
import type { UndoStack } from "../../core/records/undo-stack.ts";
import { addAll } from "../../util/long-lists.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { isUndone, listOperations, stackOf } from "./operations.ts";
import { prunedBy } from "../facts/pruning.ts";
import { historyStart } from "../log/history-start.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";
import { listSessions } from "../actions/session.ts";
import { syncLines } from "../read/sync-lines.ts";
import { activeTransactions } from "../facts/transactions.ts";
import { listSnapshots, type Snapshot } from "../read/snapshot.ts";

/** A line of it, which is made only if it is shown. */
export interface RecentLine {
  readonly seq: number;
  readonly item: () => RecentItem | Promise<RecentItem>;
}

/** Recent work as people think of it, newest first. */
export async function recentWork(context: Context, limit = 20): Promise<RecentShape> {
  const snapshots = await listSnapshots(context);
  const lines: RecentLine[] = [
    ...snapshots.filter(isOfItsOwn).map((one) => ({ seq: one.seq, item: () => snapshotItem(context, one) })),
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

/** Snapshots that a session took are part of its line; nothing goes back to what is compacted away. */
function isOfItsOwn(snapshot: Snapshot): boolean {
  return snapshot.session === undefined && snapshot.compactedBy === undefined;
}

async function snapshotItem(context: Context, snapshot: Snapshot): Promise<RecentItem> {
  const baseline = snapshot.cause === "baseline";
  const named =
    snapshot.message ?? snapshot.name ?? (snapshot.cause === "before-session" ? "edits before a run" : "snapshot");
  return {
    kind: baseline ? "baseline" : "snapshot",
    id: snapshot.id,
    timestamp: snapshot.ts,
    summary: baseline ? `baseline of ${snapshot.entries} ${snapshot.entries === 1 ? "path" : "paths"}` : named,
    snapshot: snapshot.number,
    ...(baseline
      ? { changed: snapshot.changed ?? snapshot.entries, back: `chronicle restore ${snapshot.number}` }
      : await beforeSnapshot(context, snapshot)),
  };
}

/** Was the state right after an event pruned or compacted away? */
async function isStateGone(context: Context, seq: number): Promise<boolean> {
  const start = await historyStart(context);
  // A compaction changes no file: the state right before it is that of its base.
  if (start !== undefined && seq < start.seq && seq !== start.firstLine - 1) return true;
  return (await prunedBy(context, seq, seq + 1)) !== undefined;
}

/** Events that are looked at together. */
const PAGE = 200;

/**
 * The command that goes back to before the edits which were recorded for a snapshot (none where that state was pruned or compacted away), and how
 * many paths those edits changed: the snapshot itself counts from the one before, with all that had a line of its own since.
 */
async function beforeSnapshot(
  context: Context,
  { seq, changed: all }: Snapshot,
): Promise<Pick<RecentItem, "back" | "changed">> {
  const start = await historyStart(context);
  // The edits before it are in no line of the log any more: it counts from the snapshot before it.
  if (start !== undefined && seq < start.seq) return { back: "", changed: all ?? 0 };
  const changed = new Set<string>();
  let first = seq;
  for (let isWithin = true; isWithin;) {
    const rows = await context.index.events({ from: 1, to: first - 1, limit: PAGE, descending: true });
    // They stand right before it. What an operation, a run or an action has done has a line of its own.
    const events = await readEvents(
      context,
      rows.filter((row) => !isInBase(row)),
    );
    const end = events.findIndex(
      ({ recordId, record }) => !recordId.startsWith("file") || record["cause"] !== "capture",
    );
    const edits = end === -1 ? events : events.slice(0, end);
    for (const { recordId } of edits) changed.add(recordId);
    first -= edits.length;
    isWithin = end === -1 && events.length === PAGE;
  }
  const back = (await isStateGone(context, first - 1)) ? "" : `chronicle restore seq:${first - 1}`;
  return { back, changed: changed.size };
}

async function operationLines(context: Context, snapshots: readonly Snapshot[]): Promise<RecentLine[]> {
  const operations = await listOperations(context);
  const stack = stackOf(operations);
  const alone = operations.filter((one) => one.isPart !== true);
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
        back: isGone ? "" : wayBack(one, stack, one === alone.at(-1)),
      };
    },
  }));
}

/**
 * The command that goes back to before an operation: one step where it is the last, else to the moment itself. An undo that
 * was redone can be done again, which is not the way to before it.
 */
function wayBack(operation: LoggedOperation, stack: UndoStack, isLast: boolean): string {
  const { id, kind, fromSeq } = operation;
  if (isLast && kind === "undo") return "chronicle redo";
  if (isLast && kind === "redo") return "chronicle undo";
  const isStep = kind !== "undo" && kind !== "redo";
  if (isStep && stack.undoable.at(-1) === id) return "chronicle undo";
  if (isStep && stack.undoable.includes(id)) return `chronicle undo ${id.slice(0, 8)}`;
  return `chronicle restore seq:${fromSeq}`;
}

/** Transactions that are open. Those that were committed are operations. */
async function transactionLines(context: Context): Promise<RecentLine[]> {
  return (await activeTransactions(context))
    .filter(({ parent }) => parent === undefined)
    .map((one) => ({
      seq: one.fromSeq + 1,
      item: () => ({
        kind: "transaction" as const,
        id: one.id,
        timestamp: one.startedAt,
        summary: `${one.name ?? `transaction ${one.id.slice(0, 8)}`} (open)`,
        changed: 0,
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
