import type { AsideChangeShape, RestoreShape } from "../../api/shapes.ts";
import type { Progress } from "../../api/workspace-api.ts";
import { type Change, changeType } from "../../core/values/change.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { ApplyReport, BlockedPath, OnBlocked } from "../../worktree/worktree.ts";
import { capture, type CaptureOptions } from "./capture.ts";
import { meanwhile } from "./changed-meanwhile.ts";
import type { Context } from "../log/context.ts";
import { databaseUnits, leaveUnits, unitsAmong, wholeUnits } from "../log/database-units.ts";
import { amongFolders, type FittedChanges, withFolders } from "./fit-folders.ts";
import { foresee } from "../facts/foresee.ts";
import { asideStepOf, isNone, makeable, neverSet, operate, type Operation, type OperationReport } from "./operate.ts";
import { compare, readDisk } from "./read-disk.ts";
import { leaveErased, refuseAllErased } from "./leave-erased.ts";
import { refusePrunedContents } from "../facts/pruning.ts";
import { type PathClaim, proveHistories } from "../state/proved-rows.ts";
import { type BackTo, leaveUnseen, type SkippedPath } from "./seen-absent.ts";
import { recordHolders, withHolders } from "./record-holders.ts";
import { changeShape, conflictShape, exactPath, shownPath, skippedShape } from "../log/shape.ts";
import { type ChangedShape, type ForcedHow, orForced, refused, whyRefused } from "./refused.ts";
import { asideOfStep, type AsideReport, NOTHING_ASIDE } from "./undo-aside.ts";
import { optional } from "../../util/optional.ts";

/**
 * The one way of operations that change the files of a workspace: restore, rollback, undo, redo, the restore of a version and
 * the settling of a conflict are plans for it.
 *
 * 1. Prepare: what is on disk is captured, so that nothing is lost. A dry run only looks.
 * 2. Plan: the operation says what each path becomes, and to which moment the path goes back.
 * 3. Complete: a database and what lies beside it go together or stay together, a path of which nothing shows that it was absent is not deleted,
 *    one whose content was erased is left as it is, folders come along or stay.
 * 4. Prove: the index is right about every path that changes, and about all that the plan took to be so.
 * 5. Preview: a dry run ends here. It also tells which contents are gone, and what on disk is in the way, and refuses what the
 *    real one would refuse.
 * 6. Apply: the intent is durable, then the files, then one commit.
 * 7. Report: what was done, and what was left and why. An operation that could do nothing at all is `REFUSED`.
 */

/** Options for carrying out an operation. */
export interface ChangingHow extends ForcedHow {
  /** Where to scan first. Default: everywhere. */
  readonly look?: Pick<CaptureOptions, "only" | "exact" | "absentRoot">;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The state that a plan is made on, and the options that its steps depend on. */
export interface Present {
  /** The head that stands for what is on disk, but for what is not recorded. */
  readonly seq: number;
  /** Changes on disk that are not recorded; only for a dry run. */
  readonly unrecorded: readonly Change[];
  /** The parts of those changes that could not be captured. */
  readonly omitted: readonly Omission[];
  readonly dryRun: boolean;
  /** True if paths that cannot be changed are left as they are, and everything else is done. */
  readonly force: boolean;
  readonly onProgress: ChangingHow["onProgress"];
}

/** A plan of changes to files, and how it is reported. */
export interface FilePlan<Shape> extends Omit<Operation, "changes" | "onBlocked" | "onProgress"> {
  /** The changes from the present to the wanted state. */
  readonly wanted: readonly Change[];
  /** The states that the plan assumes for its paths, including paths that it does not change. Default: none. */
  readonly claims?: readonly PathClaim[];
  /** The changes are proved against the log already. Default: the histories of their paths are. */
  readonly isProved?: boolean;
  /** True if the path is meant; paths that form one unit with a database among those go along. Default: all. */
  readonly isMeant?: (path: WorkspacePath) => boolean;
  /**
   * The moment to which each path goes back: the guard of deletions asks for it. `guarded`: the plan has asked path by path.
   * `decided`: nothing goes back, somebody says what the path becomes.
   */
  readonly back: ((path: WorkspacePath) => BackTo) | "guarded" | "decided";
  /**
   * The folders of what comes back come back with it. `whole`: nothing is done where something else stands in place of one.
   * `part`: what does not fit is left as it is. Default: the plan has all the folders that it needs.
   */
  readonly folders?: "whole" | "part";
  /** Paths that the plan leaves alone already. */
  readonly skipped?: readonly SkippedPath[];
  /**
   * True if nothing is done where a path cannot be changed. Default: only paths that were changed meanwhile are skipped. With
   * `force`, all are skipped.
   */
  readonly isWhole?: boolean;
  /** There is nothing to be done, and nothing is recorded. */
  readonly isNothing?: boolean;
  /** Another plan, where nothing was done because something was changed meanwhile. */
  readonly otherwise?: () => Promise<FilePlan<Shape> | undefined>;
  readonly report: (done: FileReport) => Shape | Promise<Shape>;
}

/** What an operation did, or would do. */
export interface FileReport {
  /** The intent's id: `undo` takes it. `undefined`: nothing was recorded. */
  readonly id: string | undefined;
  readonly dryRun: boolean;
  readonly changes: readonly Change[];
  readonly skipped: readonly SkippedPath[];
  readonly conflicts: ApplyReport["conflicts"];
  /** Paths that were kept aside, and were or would be put back or removed again. */
  readonly aside: Pick<AsideReport, "applied">;
}

/**
 * Carries an operation out, or a dry run of it. Throws `REFUSED` where nothing of it could be done, and what `plan` throws. A
 * dry run that is refused says what the operation would do with `force` (see `orForced`).
 */
export async function changeFiles<Shape extends ChangedShape>(
  context: Context,
  how: ChangingHow,
  plan: (present: Present) => Promise<FilePlan<Shape>>,
): Promise<Shape> {
  let seen: Omit<Present, "force"> | undefined;
  return orForced(how, async (force) => {
    // A dry run looks at the disk once, for what it refuses and for what `force` would do.
    seen ??= await prepare(context, how);
    return attempt(context, { ...seen, force }, plan);
  });
}

async function attempt<Shape>(
  context: Context,
  present: Present,
  planned: (present: Present) => Promise<FilePlan<Shape>>,
): Promise<Shape> {
  // Keeps the collector away from the first content that the plan makes until the intent names it.
  using _lease = present.dryRun ? undefined : await context.blobs.lease();
  let plan = await planned(present);
  for (;;) {
    plan = await complete(context, await held(context, plan, present), present);
    await provePlan(context, plan);
    const done = await (present.dryRun ? preview : apply)(context, plan, present);
    if (!done.isNone) return plan.report(reportOf(plan, done, present));
    const isMeanwhile = done.blocked.some(({ reason }) => reason === "changed");
    const other = isMeanwhile ? await plan.otherwise?.() : undefined;
    if (other === undefined) throw await whyRefused(context, plan, meanwhile(done.blocked));
    plan = other;
  }
}

/** Records what is on disk; a dry run looks at what there would be to record. */
async function prepare(context: Context, how: ChangingHow): Promise<Omit<Present, "force">> {
  const { dryRun = false, look = {}, onProgress } = how;
  if (dryRun) {
    const reading = await readDisk(context, { ...look, hashOnly: true });
    const { changes, seq } = await compare(context, reading);
    return { seq, unrecorded: changes, omitted: reading.omitted, dryRun, onProgress };
  }
  const told = onProgress === undefined ? {} : { onProgress };
  const { seq, coverage } = await capture(context, { cause: "capture", reserve: true, ...look, ...told });
  return { seq, unrecorded: [], omitted: coverage.omitted, dryRun, onProgress };
}

/** The folders in which something is to be made are recorded; where one cannot be, what would be made in it is left alone. */
async function held<Shape>(context: Context, plan: FilePlan<Shape>, { dryRun }: Present): Promise<FilePlan<Shape>> {
  const { wanted, isMeant = () => true, skipped = [] } = plan;
  if (dryRun || plan.isNothing === true) return plan;
  const meant = wanted.filter(({ path }) => isMeant(path));
  const recorded = await recordHolders(context, meant);
  if (recorded.changes === meant && recorded.skipped.length === 0) return plan;
  const others = wanted.filter(({ path }) => !isMeant(path));
  const all = [...others, ...recorded.changes].sort((a, b) => comparePaths(a.path, b.path));
  return { ...plan, wanted: all, skipped: [...skipped, ...recorded.skipped] };
}

/**
 * The plan with whole databases, no deletion of what may have been there, and folders that fit. `wanted` is what is done, and `skipped`
 * all that is left alone.
 */
async function complete<Shape>(context: Context, plan: FilePlan<Shape>, present: Present): Promise<FilePlan<Shape>> {
  const { wanted, isMeant, back, skipped = [] } = plan;
  const whole = isMeant === undefined ? wanted : await wholeUnits(context, wanted, isMeant);
  const asked = makeable(whole);
  const { changes: there, erased } = await leaveErased(context, asked);
  const guarded = typeof back === "function" ? await leaveUnseen(context, there, back) : { changes: there, unseen: [] };
  const stays = new Set(skipped.map(({ path }) => path));
  const isFree = ({ path }: { readonly path: WorkspacePath }): boolean => !stays.has(path);
  const left = [
    ...guarded.unseen.filter(isFree),
    ...skipped,
    ...erased.filter(isFree),
    ...neverSet(whole).filter(isFree),
  ];
  const units = await databaseUnits(context, whole, present.unrecorded);
  const apart = leaveUnits(units, guarded.changes.filter(isFree), left);
  const fitted = await fit(context, { ...plan, wanted: apart.changes }, present);
  const done = leaveUnits(units, fitted.changes, [...apart.left, ...fitted.skipped]);
  if (!present.force) refuseAllErased(done.changes, done.left);
  return { ...plan, wanted: done.changes, skipped: done.left, units: unitsAmong(units, done.changes) };
}

/** Returns the changes with the folders that they need. Throws `REFUSED` where the plan is not done without one that cannot be made. */
async function fit<Shape>(
  context: Context,
  plan: FilePlan<Shape>,
  { unrecorded, force }: Present,
): Promise<FittedChanges> {
  const { wanted, folders } = plan;
  if (folders === undefined) return { changes: wanted, skipped: [] };
  if (folders === "part") return amongFolders(context, wanted, unrecorded);
  const fitted = await withFolders(context, wanted, unrecorded);
  if (!force && fitted.skipped.length > 0) throw refused(fitted.skipped, plan);
  return fitted;
}

/** A plan is made of what the index says of its paths: that must be what the log says. Throws `IndexDisagrees`. */
async function provePlan<Shape>(
  context: Context,
  { claims = [], isProved, wanted, units }: FilePlan<Shape>,
): Promise<void> {
  if (isProved === true) return;
  const { seq } = await context.index.head();
  const paths = [...wanted, ...(units?.still ?? [])].map(({ path }) => ({ path }));
  await proveHistories(context, [...claims, ...paths], seq);
}

/** The result of an operation, or of its dry run. */
interface Outcome extends OperationReport {
  /** It could do nothing at all, so that it is none. */
  readonly isNone: boolean;
}

const NOTHING: Outcome = {
  id: undefined,
  applied: [],
  blocked: [],
  conflicts: [],
  aside: NOTHING_ASIDE,
  isNone: false,
};

function onBlockedOf<Shape>({ isWhole }: FilePlan<Shape>, { force }: Present): OnBlocked {
  if (force) return "skip";
  return isWhole === true ? "fail" : "skip-changed";
}

/** Returns what `apply` would do. */
async function preview<Shape>(context: Context, plan: FilePlan<Shape>, present: Present): Promise<Outcome> {
  if (plan.isNothing === true) return NOTHING;
  const { kind, selective, contents: made = [], wanted, units } = plan;
  const onBlocked = onBlockedOf(plan, present);
  if (onBlocked !== "skip") await refusePrunedContents(context, wanted, new Set(made));
  const beside = await asideOfStep(context, asideStepOf(plan));
  const own = new Set(wanted.map(({ path }) => path));
  const aside = beside.changes.filter(({ path }) => !own.has(path));
  const all = [...(await withHolders(context, wanted)), ...aside];
  const { applied, blocked } = await foresee(context, { changes: all, onBlocked, made, ...optional({ units }) });
  const done = new Set(applied);
  const isOwn = ({ path }: BlockedPath): boolean => own.has(path);
  return {
    ...NOTHING,
    applied: applied.filter((path) => own.has(path)),
    blocked: blocked.filter(isOwn),
    aside: {
      applied: aside.filter(({ path }) => done.has(path)),
      blocked: [...beside.blocked, ...blocked.filter((one) => !isOwn(one))],
    },
    isNone: isNone({ kind, ...selective }, { applied, blocked }, all),
  };
}

async function apply<Shape>(context: Context, plan: FilePlan<Shape>, present: Present): Promise<Outcome> {
  if (plan.isNothing === true) return NOTHING;
  const { kind, selective, wanted, skipped = [] } = plan;
  const done = await operate(context, {
    ...plan,
    // An undo of somebody's work says for itself which events it takes back.
    ...(kind === "undo" && selective === undefined ? { left: skipped.map(({ path }) => path) } : {}),
    changes: wanted,
    onBlocked: onBlockedOf(plan, present),
    ...optional({ onProgress: present.onProgress }),
  });
  return { ...done, isNone: done.id === undefined && done.blocked.length > 0 };
}

function reportOf<Shape>({ wanted, skipped = [] }: FilePlan<Shape>, done: Outcome, { dryRun }: Present): FileReport {
  const applied = new Set(done.applied);
  // A path that came back from what was kept aside is not skipped, even if its history alone could not tell that.
  const isBack = new Set(done.aside.applied.map(({ path }) => path));
  const left = skipped.filter(({ path }) => !isBack.has(path));
  return {
    id: done.id,
    dryRun,
    changes: wanted.filter(({ path }) => applied.has(path)),
    skipped: [...left, ...meanwhile(done.blocked), ...done.aside.blocked],
    conflicts: done.conflicts,
    aside: done.aside,
  };
}

/** The hash is left out: no answer holds what was kept aside. */
function asideShape(change: Change): AsideChangeShape {
  return { path: shownPath(change.path), ...exactPath(change.path), change_type: changeType(change) };
}

/** Returns the part of the report that all such operations share. */
export function changedShape(done: FileReport): Omit<RestoreShape, "finished"> {
  const aside = done.aside.applied;
  return {
    changes: done.changes.map(changeShape),
    ...(aside.length === 0 ? {} : { kept_aside: aside.map(asideShape) }),
    undo_id: done.id ?? null,
    skipped: done.skipped.map(skippedShape),
    conflicts: done.conflicts.map(conflictShape),
    dry_run: done.dryRun,
  };
}
