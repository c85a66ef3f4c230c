import type { ConflictShape } from "../api/conflict-shape.ts";
import type { OperationShape, UndoShape } from "../api/shapes.ts";
import type { UndoOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import type { ConflictRecord, IdentifiedConflict } from "../core/conflict-record.ts";
import type { WorkspacePath } from "../core/path.ts";
import { rangesOf } from "../core/seq-ranges.ts";
import type { Context } from "./context.ts";
import { unmergedShape } from "./conflict-shapes.ts";
import type { Unmerged } from "./fit-folders.ts";
import { invertWork, type InversePlan } from "./invert-work.ts";
import { operate } from "./operate.ts";
import { groupsOf, type OwnEvents, withoutPaths } from "./own-work.ts";
import { refuseGone } from "./paths-gone.ts";
import { blocked } from "./restore.ts";
import { asideNotes } from "./undo-aside.ts";
import { changeShape, conflictShape, skippedShape } from "./shape.ts";

/** The inverse of some events, carried out: the one way of undos of somebody's work, of their redos and of rollbacks. */
export interface TakingBack {
  readonly kind: "undo" | "redo";
  readonly summary: string;
  /** Whose work, for the record and for people. */
  readonly label: string;
  readonly own: OwnEvents;
  /** What it takes back wholly (undo), or the undo that it takes back (redo). */
  readonly about: { readonly takesOf: (own: OwnEvents) => Promise<readonly string[]> } | { readonly target: string };
  /** Said where nothing is to be changed. */
  readonly nothing: string;
  /** Recorded even where nothing is to be changed: a step on the stack. */
  readonly always: boolean;
  /** Open conflicts that are settled by it. */
  readonly withdraws: readonly IdentifiedConflict[];
  readonly operation: OperationShape | null;
}

/** How it is to be done, and what came before. */
export interface TakingHow {
  readonly options: Pick<UndoOptions, "dryRun" | "force" | "onProgress">;
  readonly unrecorded: readonly Change[];
  readonly notes: readonly string[];
}

/** Takes events back, merged three ways over what came later. What is there now must have been captured. */
export async function takeBack(context: Context, work: TakingBack, how: TakingHow): Promise<UndoShape> {
  const { unrecorded, options } = how;
  if (options.dryRun === true) {
    const plan = await invertWork(context, await groupsOf(context, work.own), { unrecorded, back: work.own.back });
    return shapeOf(work, how, { plan, applied: plan.changes, dryRun: true });
  }
  // From the first merged content until the intent that names it: no collector.
  using _lease = await context.blobs.lease();
  const plan = await whole(context, await planned(context, work.own));
  if (options.force !== true) refuseGone(plan.skipped);
  if (plan.changes.length + plan.unmerged.length === 0 && !work.always)
    return shapeOf(work, how, { plan, applied: [], dryRun: false });
  const met: IdentifiedConflict[] = [];
  const done = await operate(context, {
    kind: work.kind,
    summary: work.summary,
    changes: plan.changes,
    contents: plan.contents,
    onBlocked: options.force === true ? "skip" : "fail",
    ...(await aboutOf(work, plan)),
    conflicts: (undo) => {
      const now = new Date(context.now()).toISOString();
      met.push(...plan.unmerged.map((one) => ({ id: context.newId(), record: recordOf(one, undo, now) })));
      const stays = new Set(plan.skipped.map((one) => one.path));
      return [...met, ...work.withdraws.filter((one) => !stays.has(one.record.path)).map(withdrawn)];
    },
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  if (done.id === undefined && done.blocked.length > 0) throw blocked(done.blocked);
  const [applied, left] = [new Set(done.applied), new Set(done.blocked.map((one) => one.path))];
  const notes = [...how.notes, ...asideNotes(done.aside.applied, { dryRun: false })];
  return {
    ...shapeOf(
      work,
      { ...how, notes },
      {
        plan: { ...plan, skipped: [...plan.skipped, ...done.blocked, ...done.aside.blocked] },
        applied: plan.changes.filter((change) => applied.has(change.path)),
        dryRun: false,
      },
    ),
    undo_id: done.id ?? null,
    conflicts: done.conflicts.map(conflictShape),
    unmerged: met.filter((one) => !left.has(one.record.path)).map(unmergedShape),
  };
}

async function planned(context: Context, own: OwnEvents): Promise<InversePlan> {
  const batch = await context.blobs.batch();
  try {
    const plan = await invertWork(context, await groupsOf(context, own), { unrecorded: [], batch, back: own.back });
    await batch.commit();
    return plan;
  } catch (error) {
    await batch.abandon();
    throw error;
  }
}

/** How the work left a path is only told: without its content, it is not. */
async function whole(context: Context, plan: InversePlan): Promise<InversePlan> {
  const { unmerged } = plan;
  const stored = await context.blobs.has(unmerged.flatMap(({ base }) => base?.hash ?? []));
  const isTold = ({ base }: Unmerged): boolean => base?.hash === undefined || stored.has(base.hash);
  return { ...plan, unmerged: unmerged.map((one) => (isTold(one) ? one : { ...one, base: undefined })) };
}

/** Leaves out the events of paths that stay in place: they are not taken back. Conflicts are left to be undone, and named. */
async function aboutOf({ about, label, own }: TakingBack, { skipped, unmerged }: InversePlan) {
  if ("target" in about) return { target: about.target };
  const [left, met] = [new Set(skipped.map((one) => one.path)), new Set(unmerged.map((one) => one.path))];
  const seqsOf = (isMeant: (path: WorkspacePath) => boolean): number[] =>
    [...own.byPath].flatMap(([path, events]) => (!left.has(path) && isMeant(path) ? [...events] : []));
  const all = await about.takesOf(own);
  const selection = label.toWellFormed();
  if (met.size === 0) return { selective: { selection, takes: all, took: rangesOf(seqsOf(() => true)) } };
  const takes = await about.takesOf(withoutPaths(own, met));
  return {
    selective: {
      selection,
      takes,
      passes: all.filter((id) => !takes.includes(id)),
      took: rangesOf(seqsOf((path) => !met.has(path))),
      met: rangesOf(seqsOf((path) => met.has(path))),
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
  readonly applied: readonly Change[];
  readonly dryRun: boolean;
}

function shapeOf(work: TakingBack, { notes }: TakingHow, { plan, applied, dryRun }: Result): UndoShape {
  const isNothing = plan.changes.length + plan.unmerged.length === 0;
  return {
    operation: work.operation,
    selection: work.label,
    changes: applied.map(changeShape),
    undo_id: null,
    skipped: plan.skipped.map(skippedShape),
    conflicts: [],
    dry_run: dryRun,
    finished: [],
    notes: isNothing ? [...notes, work.nothing] : [...notes],
    unmerged: plan.unmerged.map((one): ConflictShape => unmergedShape({ id: "", record: recordOf(one, "", "") })),
  };
}
