import { isRestored } from "../../core/records/omitted-change.ts";
import type { OperationShape, UndoShape } from "../../api/shapes.ts";
import type { UndoOptions } from "../../api/workspace-api.ts";
import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import { attributePending } from "../facts/attribution.ts";
import { beforeNotes, onlyFinished } from "./before-change.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { changeFiles, type Present } from "../capture/change-files.ts";
import { openConflicts } from "../facts/open-conflicts.ts";
import type { Context } from "../log/context.ts";
import { resolveMoment } from "../read/moments.ts";
import { listOperations, stackOf } from "./operations.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import {
  eventsOfWork,
  fileEvents,
  groupsOf,
  type Keeper,
  keepersOf,
  type OwnEvents,
  type PathGroups,
  type PendingChange,
  type Work,
} from "../facts/own-work.ts";
import { ownersIn } from "../facts/owners.ts";
import {
  type ChosenWork,
  lastTurnWith,
  narrowed,
  selectorOf,
  stateBefore,
  untilSeq,
  workBackTo,
  workOf,
} from "./selection.ts";
import { planInversion, type Inversion, refuseOtherPaths } from "./invert-operation.ts";
import { type InversePlan, invertWork } from "./invert-work.ts";
import {
  coveredBy,
  type Covering,
  isUndoneWithAround,
  type UndoneEvents,
  undoneBy,
  whatIsLeft,
} from "../facts/undone-events.ts";
import { withRests } from "./left-of-hunks.ts";
import { type ChosenParts, narrowedToParts, partsIn, partsInLabel } from "./chosen-parts.ts";
import { type TakenEvent, withUndoneBetween } from "./undone-between.ts";
import { asideOfStep, lostNotes } from "../capture/undo-aside.ts";
import { gitOfStep } from "../capture/undo-git.ts";
import { unrecordedBy } from "../capture/unreadable-now.ts";
import { withoutSightings } from "./without-sightings.ts";
import { optional } from "../../util/optional.ts";

/** Undoes the selected work. Throws `USAGE` for an invalid selection, and the other errors of `workOf`. */
export async function undoSelection(
  context: Context,
  options: UndoOptions,
  before: BeforeChange = NOTHING_BEFORE,
): Promise<UndoShape> {
  if (selectorOf(options)?.by === "turn" && options.turn === "last") {
    const parts = await partsIn(context, options);
    const where = parts === undefined ? "" : partsInLabel(parts);
    const finished = { test: (label: string) => label.startsWith("turn ") && label.endsWith(where) };
    return undoWork(context, (present) => lastTurn(context, options, present), { finished, options, before });
  }
  const find = await finderOf(context, options);
  const { label } = await inParts(context, await find(), options);
  return undoWork(context, find, { finished: label, options, before });
}

/**
 * Returns a function that finds the selected work. `since`, `to` and `until` are resolved only once, here. A second resolution
 * of a time could give a different state, and would repeat the notes of the first resolution.
 */
async function finderOf(context: Context, options: UndoOptions): Promise<() => Promise<ChosenWork>> {
  if (options.to !== undefined) {
    const seq = await stateBefore(context, options.to, options);
    const until = await untilSeq(context, options);
    return async () => narrowed(context, await workBackTo(context, seq, until), options);
  }
  if (options.since === undefined) return () => workOf(context, options);
  const { seq, now } = await resolveMoment(context, options.since, { isEnd: options.until !== undefined });
  const until = await untilSeq(context, options);
  const { until: _until, ...rest } = options;
  const range = until === undefined ? rest : { ...rest, until: `seq:${until}` };
  const meant = now ? range : { ...range, since: `seq:${seq}` };
  return () => workOf(context, meant);
}

/**
 * Returns the work of the last turn that still has something to undo. Repeated undos of the last turn therefore go back
 * turn by turn. A turn is passed over in these cases:
 * - All its changes are undone.
 * - Earlier undos have reported each change that is left, as a conflict or as left alone.
 * - The files are already as they were before the turn. Folders that hold others' files do not count.
 */
async function lastTurn(
  context: Context,
  options: UndoOptions,
  { unrecorded }: Pick<Present, "unrecorded">,
): Promise<ChosenWork> {
  const taken = undoneBy(await listOperations(context), await ownersIn(context));
  const found = await lastTurnWith(context, options, async (whole) => {
    const work = await narrowed(context, whole, options);
    const left = await whatIsLeft(context, work, taken);
    if (left === "named") return false;
    const pending = await pendingOf(context, work, unrecorded);
    if (left === "nothing" && pending.length + keepersOf(work.keepers).length === 0) return false;
    const { own, always } = await undoOf(context, work);
    if (always && !(await isGitInTheWay(context, work))) return true;
    const groups = await groupsOf(context, { ...own, pending });
    const parts = await partsIn(context, options);
    if (parts !== undefined) return hasParts(context, groups, { parts, unrecorded, back: own.back });
    return isAnyLeft(await invertWork(context, groups, { unrecorded, back: own.back }));
  });
  return narrowed(context, found, options);
}

/**
 * True if an undo of the work would change nothing, and would only report that the state of git was changed since. An
 * undo that changes nothing is not recorded. If the search for the last turn did not pass over such work, every
 * further undo would find the same turn.
 */
async function isGitInTheWay(context: Context, { keepers }: Work): Promise<boolean> {
  const step = { kind: "undo", takes: keepersOf(keepers).map(({ id }) => id) } as const;
  const { changes, blocked } = await gitOfStep(context, step);
  if (changes.length > 0 || blocked.length === 0) return false;
  return (await asideOfStep(context, step)).changes.length === 0;
}

/**
 * True if the undo would change something, would meet a conflict, or would skip a path for any reason other than that
 * the path is a folder with others' files.
 */
function isAnyLeft({ changes, unmerged, skipped }: InversePlan): boolean {
  return changes.length + unmerged.length > 0 || skipped.some(({ reason }) => reason !== "not-empty");
}

/**
 * True if the work changed each of the parts, and an undo of the parts still has something to do (`isAnyLeft`). If a
 * part names lines, the work must have a hunk at these lines, even if the undo of this hunk would meet a conflict.
 */
async function hasParts(
  context: Context,
  groups: readonly PathGroups[],
  { parts, unrecorded, back }: Pick<ChosenParts, "parts"> & Pick<Present, "unrecorded"> & Pick<OwnEvents, "back">,
): Promise<boolean> {
  const chosen = { parts, work: "" };
  const about = groups.filter(({ path }) => parts.some(({ isMeant }) => isMeant(path)));
  try {
    refuseOtherPaths(about, chosen);
    return isAnyLeft(await invertWork(context, about, { unrecorded, back, chosen }));
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") return false;
    throw error;
  }
}

/** Returns only the parts of the work that the options name. If the options name no parts, returns the whole work. */
async function inParts<W extends Work>(
  context: Context,
  work: W,
  options: Pick<UndoOptions, "parts">,
): Promise<W & { readonly chosen?: ChosenParts }> {
  const parts = await partsIn(context, options);
  if (parts === undefined) return work;
  return { ...narrowedToParts(work, parts), chosen: { parts, work: work.known ?? work.label } };
}

export interface UndoWork {
  /**
   * The label of the work, or an object that tests a label. If an interrupted undo of work with this label was finished
   * just before, the finished undo counts as this undo.
   */
  readonly finished: string | { readonly test: (label: string) => boolean };
  readonly options: Pick<UndoOptions, "dryRun" | "force" | "exact" | "parts" | "hunks" | "onProgress">;
  readonly before: BeforeChange;
}

/**
 * Captures the present state (a dry run only looks at the files), then inverts exactly the work that `find` returns. If
 * `before` contains an interrupted undo of the same work, returns the result of that undo instead, and changes nothing.
 */
export async function undoWork(
  context: Context,
  find: (present: Present) => Promise<Work & Pick<ChosenWork, "pieces"> & { readonly operationShape?: OperationShape }>,
  { finished, options, before }: UndoWork,
): Promise<UndoShape> {
  const dryRun = options.dryRun === true;
  const isMeant = (label: string): boolean =>
    typeof finished === "string" ? label === finished : finished.test(label);
  const done = before.finished.findLast(
    ({ intent: { kind, selection = "" } }) => kind === "undo" && isMeant(selection),
  );
  if (done?.intent.selection !== undefined)
    return { ...(await onlyFinished(context, before.finished, dryRun)), selection: done.intent.selection };
  const notes = beforeNotes(before, dryRun);
  const how = { ...options, look: { absentRoot: "known" } } as const;
  return changeFiles(context, how, async (present) => {
    const work = await inParts(context, await find(present), options);
    const undone = await undoOf(context, work);
    const pending = await pendingOf(context, work, present.unrecorded);
    const own = { ...undone.own, pending };
    const ids = [...own.ids, ...(work.keepers ?? []).map(({ id }) => id)];
    const nothing = pending.length === 0 ? undone.nothing : `${work.label}: everything is already as it was before`;
    const gone = [...(work.lost === undefined ? [] : [lostNote(work.lost)]), ...(await lostNotes(context, ids))];
    const told = [...notes, ...gone];
    const { pieces, operationShape: operation, chosen } = work;
    const inversion = { ...undone, own, nothing, ...optional({ pieces, operation, chosen, hunks: options.hunks }) };
    return planInversion(context, inversion, {
      present,
      notes: told,
      left: await unrecordedBy(context, work.keepers ?? [], present),
      ...(options.exact === true ? { exact: { command: undefined } } : {}),
    });
  });
}

function lostNote({ what, before }: NonNullable<Work["lost"]>): string {
  return `${what} before event ${before} was compacted away, so it is not undone`;
}

/** Returns the unrecorded changes that a capture would attribute to the work. */
async function pendingOf(context: Context, work: Work, unrecorded: readonly Change[]): Promise<PendingChange[]> {
  const { seq } = await context.index.head();
  return (await attributePending(context, unrecorded)).flatMap(({ by, iteration, ...change }) => {
    const record = { entry: change.after, iteration, ...by };
    return work.isOwn(record, change.path, seq + 1) ? [{ ...change, action: by.action }] : [];
  });
}

/**
 * Returns a function that tells whether an event of the work is left out because it was undone. Everybody's work
 * includes the events of an undo and the events that the undo undid, and they cancel each other out. A range does not
 * include an undo after it, so the events that such an undo undid are left out.
 */
function isTakenFrom({ everything, until }: Work, taken: UndoneEvents): UndoneEvents["holds"] {
  if (everything !== true) return taken.holds;
  if (until === undefined) return () => false;
  return (seq, record, path) => taken.by(seq, record, path).some(({ fromSeq }) => fromSeq >= until);
}

/**
 * Returns the undo of some work. Changes that were undone already are left out, unless the work includes everybody's
 * events (`everything`).
 */
export async function undoOf(context: Context, work: Work): Promise<Inversion> {
  const operations = await listOperations(context);
  const owners = await ownersIn(context);
  const taken = undoneBy(operations, owners);
  const covering = { operations, owners, stack: stackOf(operations), taken };
  // If several candidates may have changed a kept-aside path, an undo of one candidate leaves this path alone. Only an
  // undo of everybody's work brings the path back.
  const hasLeft = ({ omittedChanges }: Keeper): boolean =>
    work.everything === true && omittedChanges.some((one) => one.kept && !isRestored(one));
  const keepers = keepersOf(work.keepers).filter((one) => !isUndoneWithAround(one.id, covering) || hasLeft(one));
  const before: TakenEvent[] = [];
  const all = await eventsOfWork(context, work, (seq, record, path) => {
    const isTaken = isTakenFrom(work, taken)(seq, record, path);
    if (isTaken) before.push({ path, seq, record, by: taken.by(seq, record, path) });
    return isTaken;
  });
  const left = await withoutSightings(context, work, all);
  const rest = work.everything !== true && taken.isAny ? await withRests(context, left, taken) : left;
  const hasTaken = work.everything === true ? before.length > 0 : taken.isAny;
  const own = hasTaken ? await withUndoneBetween(context, rest, { undone: before, taken }) : rest;
  return {
    kind: "undo",
    summary: `undo of ${work.known ?? work.label}`,
    label: work.label,
    own,
    about: { takesOf: (some) => coveredBy(context, some, { ...covering, keepers }) },
    nothing: nothingOf(work, own, before.length),
    always: keepers.length > 0,
    withdraws: await conflictsAbout(context, own, covering),
    operation: null,
  };
}

/**
 * Returns the open conflicts that this undo settles:
 * - The conflict of an earlier undo, if this undo undoes all events of the conflict's path that did not merge.
 * - The conflict of a redo, if nothing of the redone work is left after this undo.
 */
async function conflictsAbout(
  context: Context,
  own: OwnEvents,
  { operations, taken }: Pick<Covering, "operations" | "taken">,
): Promise<IdentifiedConflict[]> {
  const found: IdentifiedConflict[] = [];
  if (!operations.some(({ selective }) => selective !== undefined)) return found;
  for (const conflict of await openConflicts(context)) {
    const { path, undo } = conflict.record;
    const redo = operations.find(({ id, kind }) => id === undo && kind === "redo");
    if (redo !== undefined && (await leavesNothingOf(context, redo, { own, operations, taken }))) found.push(conflict);
    const { met: all = [], parts = [] } = taken.undos.get(undo) ?? {};
    const met = parts.find((one) => one.path === path)?.took ?? all;
    if (met.length === 0 || !own.byPath.has(path)) continue;
    const events = (await context.index.iterations(path)).filter(({ seq }) => holdsSeq(met, seq));
    if (events.length > 0 && events.every(({ seq }) => own.seqs.has(seq))) found.push(conflict);
  }
  return found;
}

/**
 * True if undoing the events in `own` leaves nothing of the work that a redo brought back. This is so in two cases:
 * - `own` includes every event that the redo wrote.
 * - `own` includes at least one event of this work, and all other events of the work are undone already.
 */
async function leavesNothingOf(
  context: Context,
  redo: LoggedOperation,
  { own, operations, taken }: Pick<Covering, "operations" | "taken"> & { readonly own: OwnEvents },
): Promise<boolean> {
  const { took } = operations.find(({ id }) => id === redo.target)?.selective ?? {};
  if (took === undefined) return false;
  const seqs: number[] = [];
  for await (const { seq, path } of fileEvents(context, redo))
    if (redo.reversed?.paths.has(path) !== true) seqs.push(seq);
  if (seqs.length > 0 && seqs.every((seq) => own.seqs.has(seq))) return true;
  let isAbout = false;
  for (const [first, last] of took) {
    for await (const { seq, record, path } of fileEvents(context, { fromSeq: first - 1, toSeq: last })) {
      if (own.seqs.has(seq)) isAbout = true;
      else if (!taken.holds(seq, record, path)) return false;
    }
  }
  return isAbout;
}

function nothingOf({ label }: Work, own: OwnEvents, before: number): string {
  if (own.seqs.size > 0) return `${label}: everything is already as it was before`;
  return before > 0 ? `${label}: it was undone already` : `${label}: nothing was changed`;
}
