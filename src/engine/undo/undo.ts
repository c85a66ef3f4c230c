import type { OperationShape, UndoShape } from "../../api/shapes.ts";
import type { UndoOptions } from "../../api/workspace-api.ts";
import { type Change, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import { greatestOf, leastOf } from "../../util/long-lists.ts";
import { changeBetween, invert } from "../../core/tree/plan.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import { beforeNotes, onlyFinished } from "./before-change.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { changeFiles, type FilePlan } from "../capture/change-files.ts";
import { withFolders } from "../capture/fit-folders.ts";
import { beingWritten, changedMeanwhile } from "../capture/in-the-way.ts";
import { conflictsOfStep } from "./conflicts.ts";
import { editedPath, editedSince } from "./edited-since.ts";
import type { Context } from "../log/context.ts";
import { databaseUnits } from "../log/database-units.ts";
import type { OwnChange } from "../facts/first-event.ts";
import { keepersWithin } from "../facts/keepers.ts";
import { settable } from "../capture/never-set.ts";
import { fileEvents, type Work } from "../facts/own-work.ts";
import { type ChosenPart, partsIn, partsInLabel, withParts } from "./chosen-parts.ts";
import type { OwnWork } from "../facts/own-changes.ts";
import type { PathClaim } from "../state/proved-rows.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import type { UndoStack } from "../../core/records/undo-stack.ts";
import { isUndone, listOperations, operationShape, stackOf } from "./operations.ts";
import { type BackTo, backTo, type SkippedPath } from "../capture/seen-absent.ts";
import {
  changesToInvert,
  inversionOf,
  partStep,
  type Step,
  stepMeant,
  type StepWork,
  undoToInvert,
  workToUndo,
} from "./step.ts";
import { selectorOf } from "./selection.ts";
import { pathArgument, shownPath } from "../log/shape.ts";
import { type Inversion, planInversion, type InversionOptions, undoShape } from "./invert-operation.ts";
import { asideOfStep, lostNotes } from "../capture/undo-aside.ts";
import { unrecordedBy } from "../capture/unreadable-now.ts";
import { undoSelection, undoWork } from "./undo-selection.ts";

type Direction = Step["direction"];

/** Undoes the last operation, a named operation, or the selected work. */
export async function undo(
  context: Context,
  asked: UndoOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<UndoShape> {
  refuseForcedExact(asked);
  const options = withParts(asked);
  refuseHunks(options);
  const given = selectorOf(options);
  if (given === undefined && (options.parts ?? options.hunks) !== undefined) return undoParts(context, options, before);
  if (given !== undefined) {
    if (options.operation === undefined) return undoSelection(context, options, before);
    throw new ChronicleError("USAGE", "an operation and a selection cannot be given together", {
      hint: "give only one of them",
    });
  }
  return reverse(context, "undo", { options, before });
}

function refuseHunks({ hunks, dryRun }: UndoOptions): void {
  if (hunks !== true || dryRun === true) return;
  throw new ChronicleError("USAGE", "hunks are shown by a dry run only", { hint: "give the dry run, too" });
}

/**
 * Undoes parts of the last operation, or of a named operation. Undoes the whole operation if the options name no parts.
 */
async function undoParts(context: Context, options: UndoOptions, before: BeforeChange): Promise<UndoShape> {
  const parts = (await partsIn(context, options)) ?? [];
  const where = parts.length === 0 ? "" : partsInLabel(parts);
  const finished = { test: (label: string) => label.startsWith("operation ") && label.endsWith(where) };
  const find = async (): Promise<Work & { readonly operationShape: OperationShape }> => {
    const operations = await listOperations(context);
    const stack = stackOf(operations);
    const others = await othersAmong(context, operations, parts);
    const undoable = stack.undoable.filter((id) => !others.has(id));
    const picked = pick(operations, undoable, { direction: "undo", asked: options.operation });
    const step = { direction: "undo", operation: picked, operations, stack } as const;
    const isNarrowed = parts.length > 0 && options.operation === undefined;
    const { operation, work } = await workToUndo(context, step, { isNarrowed });
    if (operation.kind === "resolve") throw onlyWhole(operation);
    return { ...work, operationShape: operationShape(operation, stack) };
  };
  return undoWork(context, find, { finished, options, before });
}

/**
 * Returns the ids of the undos of hunks that the caller cannot mean: one of the parts is about a file that the undo did
 * not change. If there are no parts, returns all undos of hunks. The caller can then choose from all hunks of the last
 * operation.
 */
async function othersAmong(
  context: Context,
  operations: readonly LoggedOperation[],
  parts: readonly ChosenPart[],
): Promise<ReadonlySet<string>> {
  const others = new Set<string>();
  for (const { id, selective } of operations) {
    if (selective === undefined || selective.parts.length === 0) continue;
    const paths = new Set(selective.parts.map(({ path }) => path));
    for (const [first, last] of selective.took)
      for await (const { path } of fileEvents(context, { fromSeq: first - 1, toSeq: last })) paths.add(path);
    if (parts.length === 0 || parts.some(({ isMeant }) => ![...paths].some(isMeant))) others.add(id);
  }
  return others;
}

/**
 * Returns the error for an undo of only a part of a settled conflict. After such an undo, the conflict could not be
 * opened again.
 */
function onlyWhole({ id, summary }: LoggedOperation): ChronicleError {
  return new ChronicleError("REFUSED", `lines of the settling of a conflict cannot be taken back alone: ${summary}`, {
    hint: `\`chronicle undo ${id.slice(0, 8)}\` takes all of it back, and opens the conflict again`,
    data: { operation: id },
  });
}

/** Redoes the operation that was undone last, or a named operation. Throws `USAGE` for a selection. */
export async function redo(
  context: Context,
  asked: UndoOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<UndoShape> {
  refuseForcedExact(asked);
  const options = withParts(asked);
  if (selectorOf(options) !== undefined || (options.parts ?? options.hunks) !== undefined) {
    throw new ChronicleError("USAGE", "redo takes no selection and no lines", {
      hint: "give the id of the undo, or nothing",
    });
  }
  return reverse(context, "redo", { options, before });
}

function refuseForcedExact({ exact, force }: UndoOptions): void {
  if (exact !== true || force !== true) return;
  throw new ChronicleError("USAGE", "exact and force cannot be given together", {
    hint: "exact refuses if a path was edited since, and force overwrites these edits",
  });
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
    planStep(context, { direction, asked: options.operation, exact: options.exact === true, present, notes }),
  );
}

interface StepHow extends Omit<InversionOptions, "left" | "exact"> {
  readonly direction: Direction;
  /** The id that the caller gave. `undefined` means the last operation. */
  readonly asked: string | undefined;
  readonly exact: boolean;
}

/** Plans a step. The caller must capture first, because the capture also reads what other processes have recorded. */
async function planStep(context: Context, asking: StepHow): Promise<FilePlan<UndoShape>> {
  const { present } = asking;
  const operations = await listOperations(context);
  const stack = stackOf(operations);
  const picked = pick(operations, stack[asking.direction === "undo" ? "undoable" : "redoable"], asking);
  const meant = stepMeant(operations, { direction: asking.direction, operation: picked });
  const { direction } = meant;
  const around =
    direction === "redo" ? await undoToInvert(context, operations, { operation: meant.operation, stack }) : undefined;
  const operation = around ?? meant.operation;
  const step = { direction, operation, operations, stack };
  const works = direction === "undo" ? await worksWithin(context, operation) : [];
  const lost = await lostNotes(context, works);
  const keepers = direction === "undo" ? await keepersWithin(context, new Set([operation.id])) : [];
  const left = await unrecordedBy(context, keepers, present);
  const passed = asking.asked === undefined && direction === "undo" ? passedNotes(operations, stack, operation) : [];
  const command = `chronicle ${asking.direction} ${picked.id.slice(0, 8)}`;
  const how = {
    present,
    notes: [...asking.notes, ...passed, ...lost],
    left,
    ...(asking.exact ? { exact: { command } } : {}),
  };
  const inversion = await inversionOf(context, step);
  if (inversion !== undefined) return planInversion(context, inversion, how);
  const own = await changesToInvert(context, step);
  const { unrecorded } = present;
  const all = await separateEdited(context, own, unrecorded);
  // A redo of an operation that is not undone passes over edited paths. It changes only paths that still have the state
  // that an earlier undo gave them.
  const sorted = direction === "redo" && !isUndone(operation, stack) ? { ...all, edited: [] } : all;
  const merging = present.force || asking.exact ? undefined : await mergingPart(context, step, { sorted, unrecorded });
  if (merging !== undefined) return planInversion(context, merging, how);
  return planWhole(context, step, { ...how, command, own, sorted });
}

/**
 * Returns the step as an inversion that is merged with later edits. A later edit is a change of one of the step's
 * paths, or anything that is now in the place of a folder. The inversion leaves out paths that somebody is writing now.
 * Returns `undefined` if there are no later edits, or if the step is done as a whole or not at all.
 */
async function mergingPart(
  context: Context,
  step: Step,
  { sorted: { clean, edited }, unrecorded }: { readonly sorted: Sorted; readonly unrecorded: readonly Change[] },
): Promise<Inversion | undefined> {
  // A settled conflict can only be undone as a whole. Otherwise, the conflict could not be opened again.
  if (step.operation.kind === "resolve") return undefined;
  if (edited.length === 0) {
    const { skipped } = await withFolders(context, clean, unrecorded);
    return skipped.length === 0 ? undefined : partStep(context, step);
  }
  // Only paths that exist are checked for writers. The undo does not write to edited paths that are absent now, so it
  // cannot collide with a writer there.
  const there = edited.filter(({ change }) => change.before !== undefined);
  const paths = there.flatMap(({ change, with: cause }) => (cause === undefined ? [change.path] : []));
  const written = await beingWritten(context, paths);
  const left = edited.filter(({ change, with: cause }) => written.has(cause ?? change.path));
  const leaves = new Map(left.map(({ change: { path }, with: cause }) => [path, changedMeanwhile(path, cause)]));
  return partStep(context, step, leaves.size === 0 ? undefined : leaves);
}

/**
 * Returns the ids of the actions and runs in a transaction. For any other operation, returns the id of the operation.
 */
async function worksWithin(context: Context, { id, kind }: LoggedOperation): Promise<readonly string[]> {
  if (kind !== "transaction") return [id];
  return (await keepersWithin(context, new Set([id]))).map((one) => one.id);
}

interface WholeStep extends InversionOptions {
  /**
   * The command that names this operation by its id. The command means this step even if other operations follow.
   */
  readonly command: string;
  readonly own: OwnWork;
  readonly sorted: Sorted;
}

/** Plans the undo or redo of a whole operation: each path gets exactly its earlier state, and nothing is merged. */
async function planWhole(
  context: Context,
  step: Step,
  { notes, present, left: unrecorded, exact, command, own, sorted: { clean, edited, now } }: WholeStep,
): Promise<FilePlan<UndoShape>> {
  const { direction, operation, stack } = step;
  const forced = present.force;
  const left = forced ? [] : edited.map((one) => one.blocked);
  if (left.length > 0) throw editedSince(left, { command, merges: exact !== undefined && direction === "undo" });
  const conflicts = await conflictsOfStep(context, operation, direction);
  const isEmpty = clean.length + edited.length === 0;
  const aside = isEmpty ? await asideOfStep(context, { kind: direction, target: operation.id }) : undefined;
  const isNothing = isEmpty && isUndone(operation, stack) === (direction === "undo") && aside?.changes.length === 0;
  // If other files are in the way of all kept-aside files, and the operation changed nothing else, the operation is not
  // marked as undone. The undo can then be tried again.
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
    // An undo that changes nothing is not recorded if the operation is undone already. A later redo would otherwise
    // invert this empty undo.
    isNothing: isNothing || inTheWay.length > 0,
    skipped: [...unrecorded, ...inTheWay],
    isWhole: true,
    // If paths change while the files are written, they are left out, provided that the step can be done in part.
    otherwise: async () => {
      const part = forced ? undefined : await partStep(context, step);
      return part === undefined ? undefined : planInversion(context, part, { present, notes, left: unrecorded });
    },
    report: (done) => {
      const changed = new Set(done.changes.map(({ path }) => path));
      const taken = done.dryRun ? [] : edited.filter(({ change }) => changed.has(change.path));
      return undoShape(context, done, {
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
 * Returns the blocked kept-aside paths if a person can make room for them by moving other files away. Returns `[]` if
 * the content of a path is missing, or if others may have changed a path. Another undo would not bring such a path back
 * either.
 */
function settleable(blocked: readonly SkippedPath[]): readonly SkippedPath[] {
  return blocked.every(({ reason }) => reason !== "content-missing" && reason !== "ambiguous") ? blocked : [];
}

/**
 * Returns a function that gives the states to which a path goes back: the state before its first change, and the state
 * before the operation. If the run itself made the first change, only the state before the run is used, because the
 * rules (`.gitignore`) that applied before the first change may be the run's own.
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
 * Returns a note if an undo without arguments passed over the operation right after the undone one. Such an undo passes
 * over an operation of which an earlier undo of selected work has undone only a part.
 */
function passedNotes(operations: readonly LoggedOperation[], stack: UndoStack, undone: LoggedOperation): string[] {
  const passes = new Set(operations.flatMap((one) => one.selective?.passes ?? []));
  const later = operations.filter(({ kind, toSeq }) => toSeq > undone.toSeq && kind !== "undo" && kind !== "redo");
  const [next] = later.sort((a, b) => a.toSeq - b.toSeq);
  if (next === undefined || !passes.has(next.id) || stack.undoable.includes(next.id) || isUndone(next, stack))
    return [];
  const again = `\`chronicle undo ${next.id.slice(0, 8)}\` tries it again`;
  return [
    `an operation was passed over, because an earlier undo had undone only a part of it: ${next.kind}: ${next.summary}; ${again}`,
  ];
}

/**
 * True if the interrupted step that was finished just now is the step that the caller asks for. The step is then not
 * done a second time. If the caller names no operation, any finished step counts. Changes that came from an origin do
 * not count.
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

const MOST_KEPT = 20;

/** Returns notes that name the iterations in which the edits that `--force` overwrote are recorded. */
function keptNotes(edited: readonly Edited[]): string[] {
  const kept = edited.filter(({ change }) => change.before !== undefined && change.before.kind !== "dir");
  const notes = kept.slice(0, MOST_KEPT).map(({ change, iteration }) => {
    return `${shownPath(change.path)} as it was before: \`chronicle cat ${pathArgument(change.path)}@${iteration}\``;
  });
  const more = kept.length - notes.length;
  return more === 0
    ? notes
    : [...notes, `${more} more edited paths: \`chronicle history PATH\` lists their iterations`];
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
      hint:
        direction === "redo"
          ? "`chronicle list` shows what was done; `chronicle restore MOMENT` goes back to any moment"
          : "plain undo takes back runs, actions and restores; for edits by hand, `chronicle undo --file PATH` or " +
            "`--since MOMENT`; `chronicle list` shows what was done",
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

interface Edited {
  readonly change: Change;
  /** The file of the same database that was edited. Set only if this file itself was not edited. */
  readonly with?: WorkspacePath;
  readonly blocked: BlockedPath;
  /** The number of the iteration with the edit. */
  readonly iteration: number;
}

interface Sorted {
  readonly clean: readonly Change[];
  readonly edited: readonly Edited[];
  /** The present states in the index, which are still to be proved. */
  readonly now: readonly PathClaim[];
}

/**
 * Divides the changes that lead to the target states into two groups. A change is clean if its path still has the state
 * that the operation left, and edited if the path was edited since.
 */
async function separateEdited(context: Context, own: StepWork, unrecorded: readonly Change[]): Promise<Sorted> {
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
        blocked: editedPath(change.path),
        iteration: rows[i]?.iteration ?? 0,
      });
  });
  const now = wanted.map(({ path }, i) => ({ path, now: { entry: rows[i]?.entry } }));
  return separateUnits(context, { clean, edited, now }, { own, wanted, unrecorded });
}

/**
 * Moves all files of a database to the edited changes if one of these files was edited. With `force`, all files of the
 * database then return together to their states before the operation.
 */
async function separateUnits(
  context: Context,
  sorted: Sorted,
  { own, wanted, unrecorded }: { readonly own: StepWork } & Record<"wanted" | "unrecorded", readonly Change[]>,
): Promise<Sorted> {
  const { units, still } = await databaseUnits(context, wanted, unrecorded);
  if (units.length === 0) return sorted;
  const { seq } = await context.index.head();
  const all = [...sorted.clean.map((change) => ({ change })), ...sorted.edited];
  // Maps each path to its present state. If a path needs no change, its present state is the target state.
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
      edited.set(path, {
        change,
        ...(causes.has(path) ? {} : { with: cause }),
        blocked: editedPath(path, causes.has(path) ? undefined : cause),
        iteration: rows[i]?.iteration ?? 0,
      });
    });
  }
  const clean = sorted.clean.filter(({ path }) => !edited.has(path));
  return { ...sorted, clean, edited: [...edited.values()].sort((a, b) => comparePaths(a.change.path, b.change.path)) };
}

/** Returns the seq right before the operation that first changed a file of this unit. */
function startOf({ changes, starts }: StepWork, unit: readonly WorkspacePath[]): number {
  const first = leastOf(changes.flatMap(({ path, first: { seq } }) => (unit.includes(path) ? [seq] : [])));
  return greatestOf(starts.filter((seq) => seq < first));
}
