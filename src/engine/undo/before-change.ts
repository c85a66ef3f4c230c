import type { UndoShape } from "../../api/shapes.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { type FinishedIntent, openIntents, restOf, settle } from "../capture/operate.ts";
import type { BeforeChange } from "../capture/operation-queue.ts";
import { closeAbandoned, listSessions, abandonedNote } from "../actions/session.ts";
import { orphanNotes } from "../facts/transactions.ts";
import { changeShape, conflictShape, shownPath, skippedShape } from "../log/shape.ts";
import { notesOfCopies } from "../log/tell-of-copies.ts";
import { listOperations, operationShape, stackOf } from "./operations.ts";
import { unrecordedChanges } from "../read/diff.ts";

/**
 * Finishes operations that a crash interrupted, and closes sessions and actions whose process is gone. `OperationQueue`
 * calls this function before each change.
 */
export async function endBefore(context: Context): Promise<BeforeChange> {
  const finished = await settle(context);
  // A run whose process was killed is closed, so that it becomes an operation that can be undone.
  return { finished, closed: await closeAbandoned(context) };
}

/** Returns what `endBefore` would do now. Changes nothing. */
export async function wouldEndBefore(context: Context): Promise<BeforeChange> {
  const finished = await unfinished(context);
  const killed = (await listSessions(context)).filter((one) => one.unclosed === true).map(abandonedNote);
  return { finished, closed: [...killed, ...(await orphanNotes(context))] };
}

async function unfinished(context: Context): Promise<FinishedIntent[]> {
  const open = await openIntents(context);
  if (open.length === 0) return [];
  const { seq } = await context.index.head();
  const pending = new Map((await unrecordedChanges(context)).map((change) => [change.path, change]));
  const found: FinishedIntent[] = [];
  for (const { id, intent } of open) {
    const { changes: plan, state } = await restOf(context, { id, intent });
    const rows = await context.index.iterationsAt(
      plan.map((change) => change.path),
      seq,
    );
    const changes: Change[] = [];
    const blocked: BlockedPath[] = [];
    plan.forEach((change, i) => {
      const seen = pending.get(change.path);
      const present = seen === undefined ? rows[i]?.entry : seen.after;
      const needed = changeBetween(change.path, present, change.after);
      if (needed === undefined) return;
      if (isOnItsWay(present, change)) changes.push(needed);
      else blocked.push({ path: change.path, reason: "changed", detail: "it was edited since" });
    });
    found.push({ id, intent, state, changes, blocked, conflicts: [] });
  }
  return found;
}

/**
 * True if the path may still be as the interrupted change left it. The path can be in its state before the change, or
 * absent. The path can also be a folder that Chronicle made writable for the time of the change. If the change replaces
 * a file by a file, an absent path counts as edited, because such a change is usually one rename.
 */
function isOnItsWay(present: Entry | undefined, { before, after }: Change): boolean {
  if (present === undefined) return before?.kind !== "file" || after?.kind !== "file";
  if (sameEntry(present, before)) return true;
  return present.kind === "dir" && (before?.kind === "dir" || after?.kind === "dir");
}

export function finishedNotes({ finished }: BeforeChange, dryRun: boolean): string[] {
  return notesOn(finished, dryRun ? "would first finish" : "finished");
}

/** The number of interrupted writes up to which each write has a note of its own. */
const MOST_WRITES = 3;

/**
 * Returns a note on each operation. If there are many writes, one note counts them, because a killed server leaves a
 * write of each client. A write that left a file alone, or kept a copy of it, always has a note of its own. `verb`: see
 * `interruptedNote`.
 */
function notesOn(finished: readonly FinishedIntent[], verb: string): string[] {
  const isPlain = ({ intent, state, blocked, conflicts }: FinishedIntent): boolean =>
    intent.kind === "write" && state === "done" && blocked.length + conflicts.length === 0;
  const writes = finished.filter(isPlain);
  const [first] = writes;
  if (first === undefined || writes.length <= MOST_WRITES) return finished.map((one) => interruptedNote(one, verb));
  const paths = counted(writes.reduce((sum, { changes }) => sum + changes.length, 0));
  const others = finished.filter((one) => !isPlain(one)).map((one) => interruptedNote(one, verb));
  return [...others, `${verb} ${writes.length} interrupted writes (${paths}); the first: ${first.intent.summary}`];
}

/**
 * Returns notes on finished operations that changed files, left files alone or kept copies of them. Leaves out the
 * steps of a sync, because the sync reports them itself.
 */
export function settledNotes(before: BeforeChange): string[] {
  const isTold = ({ intent, changes, blocked, conflicts }: FinishedIntent): boolean =>
    intent.kind !== "replica" && changes.length + blocked.length + conflicts.length > 0;
  return finishedNotes({ ...before, finished: before.finished.filter(isTold) }, false);
}

export function beforeNotes(before: BeforeChange, dryRun: boolean): string[] {
  return [...finishedNotes(before, dryRun), ...before.closed];
}

/**
 * Returns a note on an interrupted operation. `verb` says what was done with the operation, or what would be done, such
 * as `would finish`.
 */
function interruptedNote({ intent, state, changes, blocked, conflicts }: FinishedIntent, verb: string): string {
  const left = blocked.map((one) => shownPath(one.path));
  const rest = left.length === 0 ? "" : `; left alone (edited since): ${left.slice(0, 5).join(", ")}`;
  const what = state === "abandoned" ? "taking back the" : "the";
  const copies = notesOfCopies(conflicts.map(conflictShape)).map((note) => `; ${note}`);
  return `${verb} ${what} interrupted ${intent.summary} (${counted(changes.length)}${rest})${copies.join("")}`;
}

function counted(paths: number): string {
  return paths === 1 ? "1 path" : `${paths} paths`;
}

/**
 * Returns the answer of an undo or redo that only finishes interrupted operations, or that would only finish them in a
 * dry run.
 */
export async function onlyFinished(
  context: Context,
  interrupted: readonly FinishedIntent[],
  dryRun: boolean,
): Promise<UndoShape> {
  const operations = await listOperations(context);
  const last = interrupted.at(-1);
  const operation = operations.find((one) => one.id === (last?.intent.target ?? last?.id));
  return {
    operation: operation === undefined ? null : operationShape(operation, stackOf(operations)),
    changes: interrupted.flatMap((one) => one.changes.map(changeShape)),
    undo_id: dryRun || last?.isNothing === true ? null : (last?.id ?? null),
    skipped: interrupted.flatMap((one) => one.blocked.map(skippedShape)),
    conflicts: interrupted.flatMap((one) => one.conflicts.map(conflictShape)),
    dry_run: dryRun,
    finished: notesOn(interrupted, dryRun ? "would finish" : "finished"),
    notes: [],
    direction: last?.intent.kind === "redo" ? "redo" : "undo",
    unmerged: [],
  };
}

/**
 * Calls `attempt` until it resolves to a value other than `undefined`. `undefined` means that `attempt` found an
 * interrupted operation under the lock, or must run again for a reason of its own. Interrupted operations are finished
 * before each further call.
 */
export async function untilSettled<T>(context: Context, attempt: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const done = await attempt();
    if (done !== undefined) return done;
    await settle(context);
  }
}
