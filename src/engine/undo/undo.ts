import type { UndoShape } from "../../api/shapes.ts";
import type { UndoOptions } from "../../api/workspace-api.ts";
import { type Change, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import { greatestOf, leastOf } from "../../util/long-lists.ts";
import { changeBetween, invert } from "../../core/tree/plan.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import { beforeNotes, onlyFinished } from "./before-change.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { changeFiles, type FilePlan, beingWritten, changedMeanwhile } from "../capture/change-files.ts";
import { conflictsOfStep } from "./conflicts.ts";
import type { Context } from "../log/context.ts";
import { databaseUnits } from "../log/database-units.ts";
import type { OwnChange } from "../facts/first-event.ts";
import { keepersWithin } from "../facts/keepers.ts";
import { settable } from "../capture/operate.ts";
import type { OwnWork } from "../facts/own-changes.ts";
import type { PathClaim } from "../state/proved-rows.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { isUndone, listOperations, operationShape, stackOf } from "./operations.ts";
import { type BackTo, backTo, type SkippedPath } from "../capture/seen-absent.ts";
import { changesToInvert, crossedStep, inversionOf, partStep, type Step, stepMeant, type StepWork } from "./step.ts";
import { selectorOf } from "./selection.ts";
import { shownPath, skippedShape } from "../log/shape.ts";
import { type Inversion, planInversion, type InversionOptions, undoShape } from "./invert-operation.ts";
import { asideOfStep, lostNotes } from "../capture/undo-aside.ts";
import { unrecordedBy } from "../capture/unreadable-now.ts";
import { undoSelection } from "./undo-selection.ts";

type Direction = Step["direction"];

/** Takes the last operation back, or the one that is named, or somebody's work. */
export async function undo(
  context: Context,
  options: UndoOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<UndoShape> {
  if (selectorOf(options) !== undefined) {
    if (options.operation === undefined) return undoSelection(context, options, before);
    throw new ChronicleError("USAGE", "an operation and a selection are two different undos", {
      hint: "give one of them",
    });
  }
  return reverse(context, "undo", { options, before });
}

/** Redoes what was undone last. */
export async function redo(
  context: Context,
  options: UndoOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<UndoShape> {
  if (selectorOf(options) !== undefined) {
    throw new ChronicleError("USAGE", "redo takes no selection", { hint: "give the id of the undo, or nothing" });
  }
  return reverse(context, "redo", { options, before });
}

interface Asking {
  readonly options: UndoOptions;
  readonly before: BeforeChange;
}

async function reverse(context: Context, direction: Direction, { options, before }: Asking): Promise<UndoShape> {
  const dryRun = options.dryRun === true;
  if (await hasFinished(context, direction, { options, before })) return onlyFinished(context, before.finished, dryRun);
  const notes = beforeNotes(before, dryRun);
  return changeFiles(context, { ...options, look: { absentRoot: "known" } }, (present) =>
    planStep(context, { direction, asked: options.operation, present, notes }),
  );
}

interface StepHow extends Omit<InversionOptions, "left"> {
  readonly direction: Direction;
  /** The operation that is named; `undefined`: the last one. */
  readonly asked: string | undefined;
}

/** The step that is meant, as a plan. It is found after the capture, which catches up with operations of other processes. */
async function planStep(context: Context, asking: StepHow): Promise<FilePlan<UndoShape>> {
  const { present } = asking;
  const operations = await listOperations(context);
  const stack = stackOf(operations);
  const picked = pick(operations, stack[asking.direction === "undo" ? "undoable" : "redoable"], asking);
  const step = { ...stepMeant(operations, { direction: asking.direction, operation: picked }), operations, stack };
  const { direction, operation } = step;
  const works = direction === "undo" ? await worksWithin(context, operation) : [];
  const lost = await lostNotes(context, works);
  const keepers = direction === "undo" ? await keepersWithin(context, new Set([operation.id])) : [];
  const left = await unrecordedBy(context, keepers, present);
  const how = { present, notes: [...asking.notes, ...lost], left };
  const inversion = await inversionOf(context, step);
  if (inversion !== undefined) return planInversion(context, inversion, how);
  const own = await changesToInvert(context, step);
  const all = await sort(context, own, present.unrecorded);
  // If the operation is done again already, only what an undo has left can be missing.
  const sorted = direction === "redo" && !isUndone(operation, stack) ? { ...all, edited: [] } : all;
  const part = present.force ? undefined : await partOver(context, step, sorted);
  if (part !== undefined) return planInversion(context, part, how);
  return planWhole(context, step, {
    ...how,
    command: `chronicle ${asking.direction} ${picked.id.slice(0, 8)}`,
    own,
    sorted,
  });
}

/** The step in part, where that is all right for each path that was edited since. */
async function partOver(context: Context, step: Step, { edited }: Sorted): Promise<Inversion | undefined> {
  if (edited.length === 0) return undefined;
  const paths = edited.flatMap(({ change, with: cause }) => (cause === undefined ? [change.path] : []));
  const crossed = await crossedStep(context, step, paths);
  if (crossed !== undefined) return crossed;
  const written = await beingWritten(context, paths);
  const leaves = new Map<WorkspacePath, SkippedPath>();
  for (const { change, with: cause } of edited) {
    if (!written.has(cause ?? change.path)) return undefined;
    leaves.set(change.path, changedMeanwhile(change.path, cause));
  }
  return partStep(context, step, leaves);
}

/** The operation, and of a transaction the actions and runs in it. */
async function worksWithin(context: Context, { id, kind }: LoggedOperation): Promise<readonly string[]> {
  if (kind !== "transaction") return [id];
  return (await keepersWithin(context, new Set([id]))).map((one) => one.id);
}

interface WholeStep extends InversionOptions {
  /** The command that names this step, whatever is done meanwhile. */
  readonly command: string;
  /** The operation's own work. */
  readonly own: OwnWork;
  readonly sorted: Sorted;
}

/** The plan that takes an operation back as a whole (or does it again): each path as it was, nothing is merged. */
async function planWhole(
  context: Context,
  step: Step,
  { notes, present, left: unrecorded, command, own, sorted: { clean, edited, now } }: WholeStep,
): Promise<FilePlan<UndoShape>> {
  const { direction, operation, stack } = step;
  const forced = present.force;
  const left = forced ? [] : edited.map((one) => one.blocked);
  if (left.length > 0) throw editedSince(left, command);
  const conflicts = await conflictsOfStep(context, operation, direction);
  const isEmpty = clean.length + edited.length === 0;
  const aside = isEmpty ? await asideOfStep(context, { kind: direction, target: operation.id }) : undefined;
  const isNothing = isEmpty && isUndone(operation, stack) === (direction === "undo") && aside?.changes.length === 0;
  // If nothing else is to be done and something is in the way, the operation stays to be undone.
  const inTheWay = aside?.changes.length === 0 && own.changes.length === 0 ? settleable(aside.blocked) : [];
  return {
    kind: direction,
    summary: `${direction} of ${operation.kind}: ${operation.summary}`,
    target: operation.id,
    wanted: forced ? [...clean, ...edited.map((one) => one.change)] : clean,
    claims: [...own.claims, ...now],
    back: backOf(operation, own.changes),
    folders: "whole",
    conflicts: () => conflicts,
    // Another undo of it, which undoes nothing, would be what a redo does again.
    isNothing: isNothing || inTheWay.length > 0,
    skipped: [...unrecorded, ...inTheWay],
    isWhole: true,
    // Leaves out the paths that were changed meanwhile, if the operation may be done in part.
    otherwise: async () => {
      const part = forced ? undefined : await partStep(context, step);
      return part === undefined ? undefined : planInversion(context, part, { present, notes, left: unrecorded });
    },
    report: (done) => {
      const changed = new Set(done.changes.map(({ path }) => path));
      const taken = done.dryRun ? [] : edited.filter(({ change }) => changed.has(change.path));
      return undoShape(done, {
        operation: operationShape(operation, stack),
        direction,
        notes,
        taken: keptNotes(taken),
        again: direction === "redo" ? undefined : `\`${command}\``,
        nothing: isNothing && inTheWay.length + unrecorded.length === 0 ? NOTHING_LEFT[direction] : undefined,
        unmerged: [],
      });
    },
  };
}

const NOTHING_LEFT = { undo: "it was undone already", redo: "it is not undone" } as const;

/**
 * Returns the blocked paths of what was kept aside if moving something else away unblocks them; none if some were
 * freed, since those do not come back.
 */
function settleable(blocked: readonly BlockedPath[]): readonly BlockedPath[] {
  return blocked.every(({ reason }) => reason !== "content-missing") ? blocked : [];
}

/**
 * Each path goes back to the state before the first of these changes, and before the operation. A run's own changes go back
 * to its start alone: rules that the run itself wrote say nothing about what was there before it.
 */
function backOf({ fromSeq }: LoggedOperation, own: readonly OwnChange[]): (path: WorkspacePath) => BackTo {
  const firsts = new Map(own.map(({ path, first }) => [path, first]));
  return (path) => {
    const first = firsts.get(path) ?? { seq: fromSeq + 1, isWritten: false };
    const back = backTo(first, fromSeq);
    return first.isRun === true ? { ...back, seqs: [fromSeq] } : back;
  };
}

/**
 * Whether what was finished just now is what the caller wants: one killed and tried again is still one step. What an origin
 * brings is nobody's wish here.
 */
async function hasFinished(context: Context, direction: Direction, { options, before }: Asking): Promise<boolean> {
  const finished = before.finished.filter(({ intent }) => intent.kind !== "replica");
  const asked = options.operation;
  if (asked === undefined || finished.length === 0) return finished.length > 0;
  const targetsOf = (kind: Direction): string[] =>
    finished.flatMap(({ intent }) => (intent.kind === kind ? (intent.target ?? []) : []));
  const operations = await listOperations(context);
  const known = new Set([...targetsOf(direction), ...operations.map((one) => one.id)]);
  const [only, second] = meantBy([...known], asked, (one) => one);
  if (only === undefined || second !== undefined) return false;
  const operation = operations.find((one) => one.id === only);
  if (operation === undefined) return targetsOf(direction).includes(only);
  const meant = stepMeant(operations, { direction, operation });
  return targetsOf(meant.direction).includes(meant.operation.id);
}

/** The most places of edits that are told one by one. */
const MOST_KEPT = 20;

/** Names the iterations that hold the edits which `--force` took along. */
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

function pick(
  operations: readonly LoggedOperation[],
  ids: readonly string[],
  { direction, asked }: Pick<StepHow, "direction" | "asked">,
): LoggedOperation {
  if (asked === undefined) {
    const last = operations.find((one) => one.id === ids.at(-1));
    if (last !== undefined) return last;
    throw new ChronicleError("NOT_FOUND", `there is nothing to ${direction}`, {
      hint: "`chronicle list` shows what was done; `chronicle restore MOMENT` goes back to any moment",
    });
  }
  const matching = meantBy(operations, asked, (one) => one.id);
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

const EDITED = "it was edited since";

interface Edited {
  readonly change: Change;
  /** The edited file of a database with which this one is one unit. */
  readonly with?: WorkspacePath;
  readonly blocked: BlockedPath;
  /** The last iteration that is recorded of it; 0: none. */
  readonly iteration: number;
}

interface Sorted {
  readonly clean: readonly Change[];
  readonly edited: readonly Edited[];
  /** The present states that the index told. */
  readonly now: readonly PathClaim[];
}

/** Changes whose path is still what the operation left, and those that were edited since. */
async function sort(context: Context, own: StepWork, unrecorded: readonly Change[]): Promise<Sorted> {
  const wanted = invert(own.changes);
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
        blocked: { path: change.path, reason: "changed", detail: EDITED },
        iteration: rows[i]?.iteration ?? 0,
      });
  });
  const now = wanted.map(({ path }, i) => ({ path, now: { entry: rows[i]?.entry } }));
  return sortUnits(context, { clean, edited, now }, { own, wanted, unrecorded });
}

/**
 * A database is edited with all that lies beside it: its files go back to one state that it had, that before the operation.
 */
async function sortUnits(
  context: Context,
  sorted: Sorted,
  { own, wanted, unrecorded }: { readonly own: StepWork } & Record<"wanted" | "unrecorded", readonly Change[]>,
): Promise<Sorted> {
  const { units, still } = await databaseUnits(context, wanted, unrecorded);
  if (units.length === 0) return sorted;
  const { seq } = await context.index.head();
  const all = [...sorted.clean.map((change) => ({ change })), ...sorted.edited];
  // What is there now: a path that needs no change is as it is to be.
  const present = new Map([
    ...wanted.map(({ path, after }) => [path, after] as const),
    ...all.map(({ change: { path, before } }) => [path, before] as const),
    ...still.map(({ path, before }) => [path, before] as const),
  ]);
  const aims = new Map(wanted.map(({ path, after }) => [path, after]));
  const edited = new Map(sorted.edited.map((one) => [one.change.path, one]));
  for (const unit of units) {
    const then = await context.index.iterationsAt(unit, startOf(own, unit));
    const isEdited = (path: WorkspacePath, i: number): boolean => {
      const before = then[i]?.entry;
      const aim = aims.has(path) ? aims.get(path) : present.get(path);
      return edited.has(path) || !(sameEntry(aim, before) || sameEntry(aim, settable(before)));
    };
    const causes = new Set(unit.filter(isEdited));
    const [cause] = causes;
    if (cause === undefined) continue;
    const rows = await context.index.iterationsAt(unit, seq);
    unit.forEach((path, i) => {
      const change = changeBetween(path, present.get(path), then[i]?.entry);
      edited.delete(path);
      if (change === undefined) return;
      const detail = causes.has(path) ? EDITED : oneUnitWith(cause, EDITED);
      edited.set(path, {
        change,
        ...(causes.has(path) ? {} : { with: cause }),
        blocked: { path, reason: "changed", detail },
        iteration: rows[i]?.iteration ?? 0,
      });
    });
  }
  const clean = sorted.clean.filter(({ path }) => !edited.has(path));
  return { ...sorted, clean, edited: [...edited.values()].sort((a, b) => comparePaths(a.change.path, b.change.path)) };
}

/** The event after which the operation began that first changed a file of this unit. */
function startOf({ changes, starts }: StepWork, unit: readonly WorkspacePath[]): number {
  const first = leastOf(changes.flatMap(({ path, first: { seq } }) => (unit.includes(path) ? [seq] : [])));
  return greatestOf(starts.filter((seq) => seq < first));
}

/** `command`: names what was to be done. Without that, it could be about another operation. */
function editedSince(paths: readonly BlockedPath[], command: string): ChronicleError {
  const shown = paths.slice(0, 8).map((one) => shownPath(one.path));
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  return new ChronicleError(
    "REFUSED",
    `nothing was changed, because these were edited since: ${shown.join(", ")}${more}`,
    {
      hint: `\`${command} --force\` takes them along (what is there now is recorded first); \`--dry-run\` shows what it would do`,
      data: { edited: paths.map(skippedShape) },
    },
  );
}
