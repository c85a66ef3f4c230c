import { quoteCommand } from "../../core/shell/quote-command.ts";
import type { ChangeShape, OperationShape, RestoreShape, UndoShape } from "../../api/shapes.ts";
import type { ConflictRecord, IdentifiedConflict } from "../../core/records/conflict-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { UndonePart } from "../../core/records/records.ts";
import { rangesOf } from "../../core/values/seq-ranges.ts";
import { addAll } from "../../util/long-lists.ts";
import { changedShape, type FilePlan, type FileReport, type Present } from "../capture/change-files.ts";
import type { Context } from "../log/context.ts";
import { detailedShapes } from "../read/change-details.ts";
import { Patches } from "../read/patches.ts";
import { unmergedShape } from "./conflicts.ts";
import { editedAmong, editedSince, type OtherWay } from "./edited-since.ts";
import type { Unmerged } from "../capture/fit-folders.ts";
import { invertWork, type InversePlan, type Planning } from "./invert-work.ts";
import type { ChosenParts } from "./chosen-parts.ts";
import { hunkShapes } from "./hunk-shapes.ts";
import { nothingThere, settledByLines, withoutLines } from "./only-lines.ts";
import { claimsOf, groupsOf, type OwnEvents, type PathGroups, withoutPaths } from "../facts/own-work.ts";
import { refuseGone } from "../capture/paths-gone.ts";
import type { SkippedPath } from "../capture/seen-absent.ts";
import { asideNotes } from "../capture/undo-aside.ts";
import { withBatch } from "../../storage/blob-store.ts";
import { optional } from "../../util/optional.ts";

/**
 * The inverse of some events, as one operation. Undos of selected work, their redos, and rollbacks of transactions are
 * inversions. The undo of a whole operation is an inversion, too, if others' work or an undo of selected work is
 * involved (see `step.ts`).
 */
export interface Inversion {
  readonly kind: "undo" | "redo";
  readonly summary: string;
  /** The name of the inverted work, such as `turn <id>`. All undos of the same work have the same label. */
  readonly label: string;
  readonly own: OwnEvents;
  /**
   * For an undo, `takesOf` returns the ids of all work that is completely undone once the given events are undone. For
   * a redo, `target` is the id of the undo.
   */
  readonly about: { readonly takesOf: (own: OwnEvents) => Promise<readonly string[]> } | { readonly target: string };
  /** The note of the answer if there is nothing to invert. */
  readonly nothing: string;
  /**
   * True if the inversion is recorded even when no file changes. Such an inversion is a step of the undo stack, or can
   * bring back kept-aside files.
   */
  readonly always: boolean;
  /**
   * Paths that are left alone because somebody is writing them, and paths that belong to the same SQLite database as
   * such a path.
   */
  readonly leaves?: ReadonlyMap<WorkspacePath, SkippedPath>;
  /** Open conflicts that the inversion settles as withdrawn, unless it skips their paths. */
  readonly withdraws: readonly IdentifiedConflict[];
  /** The undone or redone operation that the answer names; `null` for selected work. */
  readonly operation: OperationShape | null;
  /** The number of inverted operations, if the answer is to name this number. */
  readonly pieces?: number;
  /** Set if only these parts of the work are undone. */
  readonly chosen?: ChosenParts;
  /** True if the answer is to list the single hunks, and who has edited their files after the work. */
  readonly hunks?: boolean;
  /**
   * Paths of which an earlier undo of the same work has undone only some hunks, as the record of that undo names them.
   */
  readonly parts?: readonly UndonePart[];
}

export interface InversionOptions {
  readonly present: Present;
  readonly notes: readonly string[];
  /** Recorded paths that the inversion does not change, because their state after the work could not be recorded. */
  readonly left: readonly SkippedPath[];
  /** Set for the option `exact`, with which the inversion is refused if a path was edited after the work. */
  readonly exact?: Pick<OtherWay, "command">;
}

/**
 * Plans the inversion of events. The inversion is merged three ways with later changes. Throws `REFUSED` for an exact
 * inversion if there are later changes.
 */
export async function planInversion(
  context: Context,
  work: Inversion,
  how: InversionOptions,
): Promise<FilePlan<UndoShape>> {
  const { present, exact } = how;
  const groups = await groupsOf(context, inReach(work));
  const edited = exact === undefined || present.force ? [] : editedAmong(groups, present.unrecorded);
  if (exact !== undefined && edited.length > 0) throw editedSince(edited, { ...exact, merges: true });
  const { chosen, hunks } = work;
  if (chosen !== undefined) refuseOtherPaths(groups, chosen);
  const { back } = work.own;
  const inverse = present.dryRun
    ? await invertWork(context, groups, { ...present, back, chosen, hunks })
    : await withoutMissingBases(context, await keptPlan(context, groups, { back, chosen }));
  const plan = leaving(inverse, how.left);
  if (!present.force) refuseGone(plan.skipped);
  const isEmpty = plan.changes.length + plan.unmerged.length === 0;
  const met: IdentifiedConflict[] = [];
  const withdraws = present.dryRun ? work.withdraws : await settledBy(context, work.withdraws, plan);
  return {
    kind: work.kind,
    summary: work.summary,
    wanted: plan.changes,
    claims: claimsOf(work.own),
    back: "guarded",
    skipped: [...plan.skipped, ...(work.leaves ?? new Map()).values()],
    without: plan.without,
    contents: plan.contents,
    isNothing: isEmpty && !work.always && work.leaves === undefined,
    // An undo leaves out paths that somebody changes during the undo, because a later undo can still include them. A
    // redo leaves out no path.
    isWhole: work.kind === "redo",
    ...(await aboutOf(context, work, plan)),
    conflicts: (undo) => {
      const now = new Date(context.now()).toISOString();
      addAll(
        met,
        plan.unmerged.map((one) => ({ id: context.newId(), record: recordOf(one, undo, now) })),
      );
      const stays = new Set(plan.skipped.map((one) => one.path));
      return [...met, ...withdraws.filter((one) => !stays.has(one.record.path)).map(withdrawn)];
    },
    report: async (done) => {
      const shape = await shapeOf(context, work, { notes: how.notes, plan, met, done });
      const told = hunks === true ? { ...shape, hunks: await hunkShapes(context, work.own, plan, present) } : shape;
      return chosen === undefined && hunks !== true ? told : withPatches(context, told, { plan, done });
    },
  };
}

/**
 * Throws `NOT_FOUND` if the work has changed nothing at one of the parts. Throws `REFUSED` if lines were given for a
 * part that has no lines, such as a folder.
 */
export function refuseOtherPaths(groups: readonly PathGroups[], { parts, work }: ChosenParts): void {
  for (const { path, range, isMeant } of parts) {
    const about = groups.filter((one) => isMeant(one.path));
    if (about.length === 0) throw nothingThere(path, { range, work });
    if (range !== undefined && about.some((one) => one.path !== path))
      throw withoutLines(path, "it is a folder, or a database of several files");
  }
}

/**
 * Returns the conflicts that the undo settles. If only some hunks of a path are undone, the undo may settle only some
 * of the conflicts of the path.
 */
async function settledBy(
  context: Context,
  withdraws: readonly IdentifiedConflict[],
  plan: InversePlan,
): Promise<readonly IdentifiedConflict[]> {
  const [inPart, others] = [true, false].map((isIn) =>
    withdraws.filter(({ record }) => plan.partly.has(record.path) === isIn),
  );
  return [...(others ?? []), ...(await settledByLines(context, inPart ?? [], plan))];
}

function leaving(plan: InversePlan, left: readonly SkippedPath[]): InversePlan {
  const stays = new Set(left.map(({ path }) => path));
  const isFree = ({ path }: { readonly path: WorkspacePath }): boolean => !stays.has(path);
  return {
    ...plan,
    changes: plan.changes.filter(isFree),
    unmerged: plan.unmerged.filter(isFree),
    skipped: [...plan.skipped.filter(isFree), ...left],
  };
}

/**
 * Returns the text that names the command for undoing later what this undo leaves alone; `undefined` if no command is
 * shown.
 */
function againOf({ kind, operation, label }: Inversion): string | undefined {
  // For a rolled-back transaction, `leftNotes` of `transaction.ts` gives the command.
  if (kind === "redo" || label.startsWith("transaction ")) return undefined;
  if (operation !== null) return `\`chronicle undo ${operation.id.slice(0, 8)}\``;
  // `--turn last` skips a turn whose paths were left alone, so the command names the turn by its id.
  return label.startsWith("turn ")
    ? `\`chronicle undo --turn ${quoteCommand([label.slice("turn ".length)])}\``
    : "the same undo";
}

function inReach({ own, leaves }: Inversion): OwnEvents {
  if (leaves === undefined) return own;
  const { pending, ...rest } = withoutPaths(own, new Set(leaves.keys()));
  return pending === undefined ? rest : { ...rest, pending: pending.filter(({ path }) => !leaves.has(path)) };
}

async function keptPlan(
  context: Context,
  groups: readonly PathGroups[],
  how: Pick<Planning, "back" | "chosen">,
): Promise<InversePlan> {
  return withBatch(context.blobs, (batch) => invertWork(context, groups, { ...how, unrecorded: [], batch }));
}

/**
 * Drops the base of a conflict if the content of the base is missing. A conflict is complete without its base, which is
 * only shown to people.
 */
async function withoutMissingBases(context: Context, plan: InversePlan): Promise<InversePlan> {
  const { unmerged } = plan;
  const stored = await context.blobs.has(unmerged.flatMap(({ base }) => base?.hash ?? []));
  const isTold = ({ base }: Unmerged): boolean => base?.hash === undefined || stored.has(base.hash);
  return { ...plan, unmerged: unmerged.map((one) => (isTold(one) ? one : { ...one, base: undefined })) };
}

/**
 * Returns the fields of the record that say what was inverted. For a redo, the only field is `target`. For an undo,
 * `selective` has these fields:
 * - `takes` names the work that is completely undone.
 * - `passes` names the work that is not completely undone. Some changes of this work did not merge, or the work changed
 *   a file or link at a skipped path.
 * - `took` has the undone events, and the events of paths in `leaves`. Events of other skipped paths are left out.
 * - `met` has the events whose changes did not merge, so that they can be undone later.
 * - `left` names the paths in `leaves`.
 * - `parts` has the events of paths of which only some hunks are undone. No other field has them.
 */
async function aboutOf(context: Context, work: Inversion, plan: InversePlan) {
  const { about, label, leaves = new Map() } = work;
  if ("target" in about) return { target: about.target };
  const parts = partsOf(work, plan);
  const own = parts.length === 0 ? work.own : withoutPaths(work.own, new Set(parts.map(({ path }) => path)));
  const left = new Set(plan.skipped.map((one) => one.path).filter((path) => !leaves.has(path)));
  const met = new Set(plan.unmerged.map((one) => one.path).filter((path) => own.byPath.has(path)));
  const seqsOf = (isMeant: (path: WorkspacePath) => boolean): number[] =>
    [...own.byPath].flatMap(([path, events]) => (!left.has(path) && isMeant(path) ? [...events] : []));
  const all = await about.takesOf(own);
  const stays = new Set([...met, ...(await pathsWithFiles(context, own, left))]);
  const takes = stays.size === 0 ? all : await about.takesOf(withoutPaths(own, stays));
  const passes = all.filter((id) => !takes.includes(id));
  return {
    selective: {
      selection: label.toWellFormed(),
      takes,
      ...(met.size + passes.length === 0 ? {} : { passes }),
      took: rangesOf(seqsOf((path) => !met.has(path))),
      ...(met.size === 0 ? {} : { met: rangesOf(seqsOf((path) => met.has(path))) }),
      ...(leaves.size === 0 ? {} : { left: [...leaves.keys()] }),
      ...(parts.length === 0 ? {} : { parts }),
    },
  };
}

/** Returns the paths of which the undo undoes only some hunks, each with the events of the work at this path. */
function partsOf({ own, chosen, parts = [] }: Inversion, { partly, skipped }: InversePlan): readonly UndonePart[] {
  const stays = new Set(skipped.map(({ path }) => path));
  if (chosen === undefined) return parts.filter(({ path }) => !stays.has(path));
  const isPart = ([path]: readonly [WorkspacePath, unknown]): boolean => partly.has(path) && !stays.has(path);
  return [...own.byPath].filter(isPart).map(([path, seqs]) => ({ path, took: rangesOf(seqs) }));
}

/** Returns the paths at which an event of the work recorded a file or link, or deleted anything. */
async function pathsWithFiles(
  context: Context,
  { byPath }: OwnEvents,
  paths: ReadonlySet<WorkspacePath>,
): Promise<ReadonlySet<WorkspacePath>> {
  const found = new Set<WorkspacePath>();
  for (const path of paths) {
    const seqs = byPath.get(path);
    if (seqs === undefined) continue;
    const rows = await context.index.iterations(path);
    if (rows.some(({ seq, entry }) => seqs.has(seq) && entry?.kind !== "dir")) found.add(path);
  }
  return found;
}

function recordOf({ path, reason, base, current, wanted }: Unmerged, undo: string, met: string): ConflictRecord {
  return { path, state: "open", reason, undo, met, base, current, wanted };
}

function withdrawn({ id, record }: IdentifiedConflict): IdentifiedConflict {
  return { id, record: { ...record, state: "settled", settled: "withdrawn" } };
}

interface Result {
  readonly plan: InversePlan;
  readonly met: readonly IdentifiedConflict[];
  readonly done: FileReport;
}

function shapeOf(
  context: Context,
  work: Inversion,
  { notes, plan, met, done }: Result & Pick<InversionOptions, "notes">,
): Promise<UndoShape> {
  const isNothing = plan.changes.length + plan.unmerged.length === 0;
  const { dryRun } = done;
  const without = new Set(plan.without);
  const left = new Set(done.skipped.filter((one) => !without.has(one)).map((one) => one.path));
  const would = plan.unmerged.map((one) => ({ id: "", record: recordOf(one, "", "") }));
  return undoShape(context, done, {
    made: plan.made,
    operation: work.operation,
    direction: work.kind,
    selection: work.label,
    ...optional({ pieces: work.pieces }),
    notes,
    again: againOf(work),
    nothing:
      isNothing && done.aside.applied.length + done.git.length + done.skipped.length === 0 ? work.nothing : undefined,
    unmerged: (dryRun ? would : met).filter((one) => !left.has(one.record.path)).map(unmergedShape),
  });
}

/** Adds the patches of the changes, which show exactly the hunks that are undone. */
async function withPatches(
  context: Context,
  shape: UndoShape,
  { plan, done }: Pick<Result, "plan" | "done">,
): Promise<UndoShape> {
  const patches = new Patches(context, plan.made);
  const changes: ChangeShape[] = [];
  for (const [at, shown] of shape.changes.entries()) {
    const change = done.changes[at];
    changes.push({ ...shown, ...(change === undefined ? {} : await patches.ofKept(change)) });
  }
  return { ...shape, changes };
}

/** The parts of the answer to an undo or redo that do not follow from the changes. */
export interface UndoTold extends Pick<UndoShape, "operation" | "direction" | "selection" | "pieces" | "unmerged"> {
  /** Notes on interrupted operations that were finished before the undo, and on lost contents. */
  readonly notes: readonly string[];
  /** The text that names the command for undoing later what this undo leaves alone. */
  readonly again: string | undefined;
  /** The note that there was nothing to do; `undefined` if something was done. */
  readonly nothing: string | undefined;
  /** Notes on edits that `--force` overwrote. */
  readonly taken?: readonly string[];
  /** The merged contents, which a dry run does not store. */
  readonly made?: readonly Uint8Array[] | undefined;
}

/**
 * Returns the part of the answer that a restore, an undo and a rollback share. `made` has contents that may not be
 * stored yet.
 */
export async function restoredShape(
  context: Context,
  done: FileReport,
  made: readonly Uint8Array[] = [],
): Promise<Omit<RestoreShape, "finished">> {
  return { ...changedShape(done), changes: await detailedShapes(context, done.changes, made) };
}

export async function undoShape(context: Context, done: FileReport, told: UndoTold): Promise<UndoShape> {
  const { operation, direction, selection, pieces, notes, unmerged, again, nothing, taken = [], made } = told;
  const { dryRun, aside, skipped } = done;
  return {
    ...(await restoredShape(context, done, made)),
    operation,
    direction,
    ...optional({ selection, pieces }),
    finished: [],
    notes: [
      ...notes,
      ...asideNotes(aside.applied, { dryRun }),
      ...taken,
      ...(dryRun || again === undefined ? [] : restNote(skipped, again)),
      ...(nothing === undefined ? [] : [nothing]),
    ],
    unmerged,
  };
}

/**
 * The causes of a skipped path that a person can remove. Once the cause is removed, a later undo of the path succeeds.
 */
const FOR_NOW: ReadonlySet<SkippedPath["reason"]> = new Set([
  "changed",
  "no-folder",
  "not-empty",
  "not-permitted",
  "no-space",
  "busy",
  "special",
  "left-out",
]);

/** Returns notes on skipped paths. `how` names the command for undoing later what this undo left alone. */
function restNote(skipped: readonly SkippedPath[], how: string): string[] {
  const isMeanwhile = skipped.some(({ reason }) => reason === "changed-meanwhile");
  const isForNow = skipped.some(({ reason }) => FOR_NOW.has(reason));
  return [
    ...(isMeanwhile
      ? [
          `paths that were changed meanwhile are not undone yet: once nothing changes them any more, ${how} takes them back, ` +
            "or records a conflict where the same or adjacent lines were edited since",
        ]
      : []),
    ...(isForNow
      ? [`the paths that were left are not undone yet: ${how} takes them back once nothing is in their way`]
      : []),
  ];
}
