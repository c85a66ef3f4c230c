import type { ConflictShape } from "../../api/conflict-shape.ts";
import type { OperationShape, UndoShape } from "../../api/shapes.ts";
import type { ConflictRecord, IdentifiedConflict } from "../../core/records/conflict-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { rangesOf } from "../../core/values/seq-ranges.ts";
import { addAll } from "../../util/long-lists.ts";
import { changedShape, type FilePlan, type FileReport, type Present } from "../capture/change-files.ts";
import type { Context } from "../log/context.ts";
import { unmergedShape } from "./conflicts.ts";
import type { Unmerged } from "../capture/fit-folders.ts";
import { invertWork, type InversePlan } from "./invert-work.ts";
import { claimsOf, groupsOf, type OwnEvents, withoutPaths } from "../facts/own-work.ts";
import { refuseGone } from "../capture/paths-gone.ts";
import type { SkippedPath } from "../capture/seen-absent.ts";
import { asideNotes } from "../capture/undo-aside.ts";
import { withBatch } from "../../storage/blob-store.ts";
import { optional } from "../../util/optional.ts";

/** The inverse of some events, carried out: the one way of undos of somebody's work, of their redos and of rollbacks. */
export interface Inversion {
  readonly kind: "undo" | "redo";
  readonly summary: string;
  /** The name of the work, for the record and for people. */
  readonly label: string;
  readonly own: OwnEvents;
  /** The operations that it takes back wholly (undo), or the undo that it takes back (redo). */
  readonly about: { readonly takesOf: (own: OwnEvents) => Promise<readonly string[]> } | { readonly target: string };
  /** The message if nothing is to be changed. */
  readonly nothing: string;
  /** Recorded even where nothing is to be changed: a step on the stack. */
  readonly always: boolean;
  /** Paths that are left alone because somebody is writing them, and those that are one unit with these. */
  readonly leaves?: ReadonlyMap<WorkspacePath, SkippedPath>;
  /** Open conflicts that are settled by it. */
  readonly withdraws: readonly IdentifiedConflict[];
  readonly operation: OperationShape | null;
}

/** Options of an inversion, and the state that it begins with. */
export interface InversionOptions {
  readonly present: Present;
  readonly notes: readonly string[];
  /** Recorded paths that are left, since what the work made of them could not be recorded. */
  readonly left: readonly SkippedPath[];
}

/** The plan that takes events back, merged three ways over what came later. */
export async function planInversion(
  context: Context,
  work: Inversion,
  how: InversionOptions,
): Promise<FilePlan<UndoShape>> {
  const { present } = how;
  const inverse = present.dryRun
    ? await invertWork(context, await groupsOf(context, inReach(work)), { ...present, back: work.own.back })
    : await whole(context, await keptPlan(context, inReach(work)));
  const plan = leaving(inverse, how.left);
  if (!present.force) refuseGone(plan.skipped);
  const isEmpty = plan.changes.length + plan.unmerged.length === 0;
  const met: IdentifiedConflict[] = [];
  return {
    kind: work.kind,
    summary: work.summary,
    wanted: plan.changes,
    claims: claimsOf(work.own),
    back: "guarded",
    skipped: [...plan.skipped, ...(work.leaves ?? new Map()).values()],
    contents: plan.contents,
    isNothing: isEmpty && !work.always && work.leaves === undefined,
    // An undo leaves alone what was changed meanwhile: that part stays to be undone. A redo is done whole, or not at all.
    isWhole: work.kind === "redo",
    ...(await aboutOf(work, plan)),
    conflicts: (undo) => {
      const now = new Date(context.now()).toISOString();
      addAll(
        met,
        plan.unmerged.map((one) => ({ id: context.newId(), record: recordOf(one, undo, now) })),
      );
      const stays = new Set(plan.skipped.map((one) => one.path));
      return [...met, ...work.withdraws.filter((one) => !stays.has(one.record.path)).map(withdrawn)];
    },
    report: (done) => shapeOf(work, how, { plan, met, done }),
  };
}

/** The plan without what is left: each path is named once. */
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

/** Names the undo that takes back later what this one has left. */
function againOf({ kind, operation, label }: Inversion): string | undefined {
  // The end of a rolled-back transaction says what becomes of it.
  if (kind === "redo" || label.startsWith("transaction ")) return undefined;
  return operation === null ? "the same undo" : `\`chronicle undo ${operation.id.slice(0, 8)}\``;
}

/** The own events of the paths that can be changed. */
function inReach({ own, leaves }: Inversion): OwnEvents {
  if (leaves === undefined) return own;
  const { pending, ...rest } = withoutPaths(own, new Set(leaves.keys()));
  return pending === undefined ? rest : { ...rest, pending: pending.filter(({ path }) => !leaves.has(path)) };
}

async function keptPlan(context: Context, own: OwnEvents): Promise<InversePlan> {
  return withBatch(context.blobs, async (batch) =>
    invertWork(context, await groupsOf(context, own), { unrecorded: [], batch, back: own.back }),
  );
}

/** The state in which the work left a path only informs people: drops it if its content is missing. */
async function whole(context: Context, plan: InversePlan): Promise<InversePlan> {
  const { unmerged } = plan;
  const stored = await context.blobs.has(unmerged.flatMap(({ base }) => base?.hash ?? []));
  const isTold = ({ base }: Unmerged): boolean => base?.hash === undefined || stored.has(base.hash);
  return { ...plan, unmerged: unmerged.map((one) => (isTold(one) ? one : { ...one, base: undefined })) };
}

/** Leaves out the events of paths that stay in place: they are not taken back. Conflicts are left to be undone, and named. */
async function aboutOf({ about, label, own, leaves = new Map() }: Inversion, { skipped, unmerged }: InversePlan) {
  if ("target" in about) return { target: about.target };
  const stays = skipped.map((one) => one.path).filter((path) => !leaves.has(path));
  const [left, met] = [new Set(stays), new Set(unmerged.map((one) => one.path))];
  const seqsOf = (isMeant: (path: WorkspacePath) => boolean): number[] =>
    [...own.byPath].flatMap(([path, events]) => (!left.has(path) && isMeant(path) ? [...events] : []));
  const all = await about.takesOf(own);
  const selection = label.toWellFormed();
  const beside = leaves.size === 0 ? {} : { left: [...leaves.keys()] };
  if (met.size === 0) return { selective: { selection, takes: all, took: rangesOf(seqsOf(() => true)), ...beside } };
  const takes = await about.takesOf(withoutPaths(own, met));
  return {
    selective: {
      selection,
      takes,
      passes: all.filter((id) => !takes.includes(id)),
      took: rangesOf(seqsOf((path) => !met.has(path))),
      met: rangesOf(seqsOf((path) => met.has(path))),
      ...beside,
    },
  };
}

function recordOf({ path, reason, base, current, wanted }: Unmerged, undo: string, met: string): ConflictRecord {
  return { path, state: "open", reason, undo, met, base, current, wanted };
}

function withdrawn({ id, record }: IdentifiedConflict): IdentifiedConflict {
  return { id, record: { ...record, state: "settled", settled: "withdrawn" } };
}

interface Result {
  readonly plan: InversePlan;
  /** The conflicts that were recorded. */
  readonly met: readonly IdentifiedConflict[];
  readonly done: FileReport;
}

function shapeOf(work: Inversion, { notes }: InversionOptions, { plan, met, done }: Result): UndoShape {
  const isNothing = plan.changes.length + plan.unmerged.length === 0;
  const { dryRun } = done;
  const left = new Set(done.skipped.map((one) => one.path));
  const would = plan.unmerged.map((one): ConflictShape => unmergedShape({ id: "", record: recordOf(one, "", "") }));
  return undoShape(done, {
    operation: work.operation,
    direction: work.kind,
    selection: work.label,
    notes,
    again: againOf(work),
    nothing: isNothing && done.aside.applied.length + done.skipped.length === 0 ? work.nothing : undefined,
    unmerged: dryRun ? would : met.filter((one) => !left.has(one.record.path)).map(unmergedShape),
  });
}

/** What is told of an undo or redo, beside what was done. */
export interface UndoTold extends Pick<UndoShape, "operation" | "direction" | "selection" | "unmerged"> {
  /** Notes on what came before, and on what is not there any more. */
  readonly notes: readonly string[];
  /** The undo that takes back later what this one has left; `undefined`: that is not told. */
  readonly again: string | undefined;
  /** The message that nothing was to be done. */
  readonly nothing: string | undefined;
  /** Notes on edits that were taken along. */
  readonly taken?: readonly string[];
}

/** The answer of an undo or redo. */
export function undoShape(done: FileReport, told: UndoTold): UndoShape {
  const { operation, direction, selection, notes, unmerged, again, nothing, taken = [] } = told;
  const { dryRun, aside, skipped } = done;
  return {
    ...changedShape(done),
    operation,
    direction,
    ...optional({ selection }),
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

/** Reasons that a person can resolve, so that another undo takes these paths back. */
const FOR_NOW: ReadonlySet<SkippedPath["reason"]> = new Set([
  "changed",
  "no-folder",
  "not-empty",
  "not-permitted",
  "no-space",
  "busy",
  "special",
]);

/**
 * Returns a note for people on how to take back later what an undo has left, if that is possible. `how`: the undo that
 * does so.
 */
function restNote(skipped: readonly SkippedPath[], how: string): string[] {
  const isMeanwhile = skipped.some(({ reason }) => reason === "changed-meanwhile");
  const isForNow = skipped.some(({ reason }) => FOR_NOW.has(reason));
  return [
    ...(isMeanwhile
      ? [
          `what was changed meanwhile stays to be undone: once nothing changes it any more, ${how} takes it back, ` +
            "or makes a conflict of it where the same lines were edited since",
        ]
      : []),
    ...(isForNow ? [`what was left stays to be undone: ${how} takes it back, once nothing is in its way`] : []),
  ];
}
