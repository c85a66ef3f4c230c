import type { UndoShape } from "../api/shapes.ts";
import type { UndoOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import { sameEntry } from "../core/entry.ts";
import { ChronicleError } from "../core/errors.ts";
import { changeBetween, invert } from "../core/plan.ts";
import type { BlockedPath } from "../worktree/worktree.ts";
import { capture } from "./capture.ts";
import type { Context } from "./context.ts";
import { unrecordedChanges } from "./diff.ts";
import { interruptedNote, unfinished } from "./interrupted.ts";
import { type FinishedIntent, makeable, operate, settable, settle } from "./operate.ts";
import { changesOfOperation, listOperations, operationShape, stackOf, type LoggedOperation } from "./operations.ts";
import { blocked } from "./restore.ts";
import { closeAbandoned, listSessions, wordlessEnd } from "./session.ts";
import { changeShape, conflictShape, shownPath, skippedShape } from "./shape.ts";

type Direction = "undo" | "redo";

/** Takes the last operation back (or the one that is named). */
export async function undo(context: Context, options: UndoOptions = {}): Promise<UndoShape> {
  return reverse(context, "undo", options);
}

/** Does again what was undone last. */
export async function redo(context: Context, options: UndoOptions = {}): Promise<UndoShape> {
  return reverse(context, "redo", options);
}

async function reverse(context: Context, direction: Direction, options: UndoOptions): Promise<UndoShape> {
  const dryRun = options.dryRun === true;
  const interrupted = dryRun ? await unfinished(context) : await settle(context);
  if (interrupted.some((one) => isAsked(one, direction, options.operation)))
    return onlyFinished(context, interrupted, dryRun);
  const notes = interrupted.map((one) => interruptedNote(one, dryRun ? "would first finish" : "finished"));
  // A run whose process was killed is an operation as well, once it is closed.
  notes.push(...(dryRun ? await unclosedNotes(context) : await closeAbandoned(context)));
  const unrecorded = await lookOrCapture(context, options);
  const operations = await listOperations(context);
  const stack = stackOf(operations);
  const operation = pick(operations, stack[direction === "undo" ? "undoable" : "redoable"], {
    direction,
    asked: options.operation,
  });
  const own = await changesOfOperation(context, operation);
  const wanted = direction === "undo" ? invert(own) : own;
  const { clean, edited } = await sort(context, wanted, unrecorded);
  const forced = options.force === true;
  const changes = makeable(forced ? [...clean, ...edited.map((one) => one.change)] : clean);
  const shape = operationShape(operation, stack);
  const left = edited.map((one) => one.blocked);
  if (dryRun) {
    const skipped = (forced ? [] : left).map(skippedShape);
    return {
      operation: shape,
      changes: changes.map(changeShape),
      undo_id: null,
      skipped,
      conflicts: [],
      dry_run: true,
      finished: [],
      notes,
      unmerged: [],
    };
  }
  if (left.length > 0 && !forced) throw editedSince(left, direction);
  const done = await operate(context, {
    kind: direction,
    summary: `${direction} of ${operation.kind}: ${operation.summary}`,
    changes,
    target: operation.id,
    onBlocked: forced ? "skip" : "fail",
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  if (done.id === undefined && done.blocked.length > 0) throw blocked(done.blocked);
  const applied = new Set(done.applied);
  return {
    operation: shape,
    changes: changes.filter((change) => applied.has(change.path)).map(changeShape),
    undo_id: done.id ?? null,
    skipped: done.blocked.map(skippedShape),
    conflicts: done.conflicts.map(conflictShape),
    dry_run: false,
    finished: [],
    notes: [...notes, ...keptNotes(edited.filter(({ change }) => applied.has(change.path)))],
    unmerged: [],
  };
}

/** Was this what the caller wants? Then one killed and tried again is still one step. */
function isAsked({ intent }: FinishedIntent, direction: Direction, asked: string | undefined): boolean {
  if (asked === undefined) return true;
  return asked !== "" && intent.kind === direction && intent.target?.startsWith(asked) === true;
}

/** What finishing the interrupted operations did or would do, and nothing else. */
async function onlyFinished(
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
    undo_id: dryRun ? null : (last?.id ?? null),
    skipped: interrupted.flatMap((one) => one.blocked.map(skippedShape)),
    conflicts: interrupted.flatMap((one) => one.conflicts.map(conflictShape)),
    dry_run: dryRun,
    finished: interrupted.map((one) => interruptedNote(one, dryRun ? "would finish" : "finished")),
    notes: [],
    unmerged: [],
  };
}

async function unclosedNotes(context: Context): Promise<string[]> {
  return (await listSessions(context)).filter((one) => one.unclosed === true).map(wordlessEnd);
}

/** How many places of edits are told one by one. */
const MOST_KEPT = 20;

/** Where the edits are that `--force` took along: they are recorded, but no redo brings them back. */
function keptNotes(edited: readonly Edited[]): string[] {
  const kept = edited.filter(({ change }) => change.before !== undefined && change.before.kind !== "dir");
  const notes = kept.slice(0, MOST_KEPT).map(({ change, iteration }) => {
    const path = shownPath(change.path);
    return `${path} as it was before is ${path}@${iteration}`;
  });
  const more = kept.length - notes.length;
  return more === 0
    ? notes
    : [...notes, `${more} more that were edited: \`chronicle history PATH\` has their iterations`];
}

/** What is on disk and not recorded: nothing after a capture; looked up without recording for a dry run. */
async function lookOrCapture(context: Context, options: UndoOptions): Promise<readonly Change[]> {
  if (options.dryRun === true) return unrecordedChanges(context);
  await capture(context, { cause: "capture", ...(options.onProgress ? { onProgress: options.onProgress } : {}) });
  return [];
}

interface Asked {
  readonly direction: Direction;
  readonly asked: string | undefined;
}

function pick(
  operations: readonly LoggedOperation[],
  ids: readonly string[],
  { direction, asked }: Asked,
): LoggedOperation {
  if (asked === undefined) {
    const last = operations.find((one) => one.id === ids.at(-1));
    if (last !== undefined) return last;
    throw new ChronicleError("NOT_FOUND", `there is nothing to ${direction}`, {
      hint: "`chronicle list` shows what was done; `chronicle restore MOMENT` goes back to any moment",
    });
  }
  const matching = operations.filter((one) => asked !== "" && one.id.startsWith(asked));
  const only = matching[0];
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no operation ${JSON.stringify(asked)}`, {
      hint: "`chronicle list` shows them",
    });
  }
  if (matching.length > 1) {
    throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${matching.length} operations`, {
      hint: "give more of the id",
    });
  }
  return only;
}

interface Edited {
  readonly change: Change;
  readonly blocked: BlockedPath;
  /** The last iteration that is recorded of it; 0: none. */
  readonly iteration: number;
}

/** Changes whose path is still what the operation left, and those that were edited since. */
async function sort(
  context: Context,
  wanted: readonly Change[],
  unrecorded: readonly Change[],
): Promise<{ readonly clean: Change[]; readonly edited: Edited[] }> {
  const { seq } = await context.index.head();
  const rows = await context.index.iterationsAt(
    wanted.map((change) => change.path),
    seq,
  );
  const onDisk = new Map(unrecorded.map((change) => [change.path, change]));
  const clean: Change[] = [];
  const edited: Edited[] = [];
  wanted.forEach((change, i) => {
    const pending = onDisk.get(change.path);
    const present = pending === undefined ? rows[i]?.entry : pending.after;
    const needed = changeBetween(change.path, present, change.after);
    if (needed === undefined) return;
    if (sameEntry(present, change.before) || sameEntry(present, settable(change.before))) clean.push(needed);
    else
      edited.push({
        change: needed,
        blocked: { path: change.path, reason: "changed", detail: "it was edited since" },
        iteration: rows[i]?.iteration ?? 0,
      });
  });
  return { clean, edited };
}

function editedSince(paths: readonly BlockedPath[], direction: Direction): ChronicleError {
  const shown = paths.slice(0, 8).map((one) => shownPath(one.path));
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  return new ChronicleError(
    "REFUSED",
    `nothing was changed, because these were edited since: ${shown.join(", ")}${more}`,
    {
      hint: `\`chronicle ${direction} --force\` takes them along (what is there now is recorded first); \`--dry-run\` shows what it would do`,
      data: { edited: paths.map(skippedShape) },
    },
  );
}
