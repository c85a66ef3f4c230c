import { type Change, type Entry, changeType } from "../../core/values/entry.ts";
import { childOf, foldersAbove, type WorkspacePath, comparePaths } from "../../core/values/path.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { capture, type CaptureOptions } from "./capture.ts";
import { type Context, isHosted } from "../log/context.ts";
import { type SkippedPath, type BackTo, leaveUnseen } from "./seen-absent.ts";
import type { BlockedPath, ApplyReport, OnBlocked } from "../../worktree/worktree.ts";
import type { AsideChangeShape, RestoreShape } from "../../api/shapes.ts";
import type { Progress } from "../../api/workspace-api.ts";
import { composeGit, type GitChange } from "../../core/records/git-record.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { databaseUnits, leaveUnits, unitsAmong, wholeUnits } from "../log/database-units.ts";
import { amongFolders, besideLeft, type FittedChanges, withFolders } from "./fit-folders.ts";
import { foresee } from "../facts/foresee.ts";
import { meanwhile } from "./in-the-way.ts";
import { madeWithout, makeable, neverSet } from "./never-set.ts";
import { asideStepOf, gitOfOperation, isNone, operate, type Operation, type OperationReport } from "./operate.ts";
import { compare, readDisk } from "./read-disk.ts";
import { leaveErased, refuseAllErased } from "./leave-erased.ts";
import { refusePrunedContents } from "../facts/pruning.ts";
import { type PathClaim, proveHistories, proveLast } from "../state/proved-rows.ts";
import { changeShape, conflictShape, exactPath, gitShape, shownPath, skippedShape } from "../log/shape.ts";
import { type ChangedShape, type ForcedHow, orForced, refused, whyRefused } from "./refused.ts";
import { asideOfStep, type AsideReport, NOTHING_ASIDE } from "./undo-aside.ts";
import { gitOfStep } from "./undo-git.ts";
import { tellOfCopies } from "../log/tell-of-copies.ts";
import { optional } from "../../util/optional.ts";

/**
 * `changeFiles` carries out the plans of these operations: restore, rollback, undo, redo, the restore of a version, and
 * the resolution of a conflict. The steps and decisions of a replica, and the repair after an unclean end, call
 * `perform` directly. Writes have their own code (`engine/write`).
 *
 * 1. Prepare: the state on disk is captured, so that nothing is lost. A dry run only reads the state.
 * 2. Plan: the operation returns the wanted state of each path, and the moment to which the path goes back.
 * 3. Complete: the files of a database are changed together or not at all. A path is deleted only if a record shows
 *    that the path was absent at the moment to which it goes back. A path gets a recorded state only if it had this
 *    state on disk at that moment. A path whose content was erased is left as it is. The folders that restored paths
 *    need are added.
 * 4. Prove: the index must agree with the log about every path that changes, and about each claim of the plan.
 * 5. Preview: a dry run ends here. The dry run also names missing contents and paths that are in the way, and refuses
 *    what the real run would refuse.
 * 6. Apply: the intent is made durable, then the files are changed, then one commit records the changes.
 * 7. Report: the answer lists the changed paths, and the skipped paths with the reasons. An operation that could do
 *    nothing throws `REFUSED`.
 */

interface ChangingHow extends ForcedHow {
  /** The paths to scan before the plan is made. Default: all. */
  readonly look?: Pick<CaptureOptions, "only" | "exact" | "absentRoot">;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The state on which a plan is based, and the options on which its steps depend. */
export interface Present {
  /** The state at this seq equals the disk, except for `unrecorded` and the paths in `omitted`. */
  readonly seq: number;
  /** Changes on disk that are not recorded. Empty unless this is a dry run. */
  readonly unrecorded: readonly Change[];
  readonly omitted: readonly Omission[];
  readonly dryRun: boolean;
  /** True if paths that cannot be changed are left as they are, and everything else is done. */
  readonly force: boolean;
  readonly onProgress: ChangingHow["onProgress"];
}

export interface FilePlan<Shape> extends Omit<Operation, "changes" | "onBlocked" | "onProgress"> {
  /** The changes from the present to the wanted state. */
  readonly wanted: readonly Change[];
  /** The states that the plan assumes, including those of paths that the plan does not change. Default: none. */
  readonly claims?: readonly PathClaim[];
  /**
   * True if the plan has proved its changes against the log. Otherwise, `provePlan` proves the histories of the changed
   * paths.
   */
  readonly isProved?: boolean;
  /**
   * Returns true if the caller asked for a change of this path. If the caller asked for one file of a database, the
   * other files of that database are changed as well. Default: true for all paths.
   */
  readonly isMeant?: (path: WorkspacePath) => boolean;
  /**
   * Returns the moment to which a path goes back. A path is changed only if a record shows its state or its absence at
   * that moment. `guarded`: the plan itself has checked this. `decided`: no check is needed, because the caller decides
   * the state of each path.
   */
  readonly back: ((path: WorkspacePath) => BackTo) | "guarded" | "decided";
  /**
   * The treatment of the folders above restored paths. `whole`: missing folders are added. If something else is in the
   * place of such a folder, the operation throws `REFUSED`, unless `force` is set. `part`: missing folders are added,
   * and changes that do not fit are left out. Default: no folder is added, because the plan contains all folders that
   * it needs.
   */
  readonly folders?: "whole" | "part";
  /**
   * True if one path that cannot be changed, for any reason, stops the whole operation. Default: a path that was
   * changed meanwhile is skipped, and any other reason stops the whole operation. With `force`, each path that cannot
   * be changed is skipped.
   */
  readonly isWhole?: boolean;
  /**
   * Paths of `wanted` that are restored without some mode bits, because Chronicle never sets these bits. These paths
   * are also reported as skipped.
   */
  readonly without?: readonly SkippedPath[];
  /** True if there is nothing to do, and nothing to record. */
  readonly isNothing?: boolean;
  /** Returns another plan to try if nothing was done because a path was changed meanwhile. */
  readonly otherwise?: () => Promise<FilePlan<Shape> | undefined>;
  readonly report: (done: FileReport) => Shape | Promise<Shape>;
}

export interface FileReport {
  /** The intent's id, which `undo` accepts. `undefined` if nothing was recorded. */
  readonly id: string | undefined;
  readonly dryRun: boolean;
  readonly changes: readonly Change[];
  readonly skipped: readonly SkippedPath[];
  readonly conflicts: ApplyReport["conflicts"];
  /** The changes to kept-aside paths that were made, or that a dry run foresees. */
  readonly aside: Pick<AsideReport, "applied">;
  /** The changes of git repositories that were made, or that a dry run foresees. */
  readonly git: readonly GitChange[];
}

/**
 * Carries out an operation, or its dry run. Throws `REFUSED` if nothing could be done, and passes on what `plan`
 * throws. The error of a refused dry run says what the operation would do with `force` (see `orForced`).
 */
export async function changeFiles<Shape extends ChangedShape>(
  context: Context,
  how: ChangingHow,
  plan: (present: Present) => Promise<FilePlan<Shape>>,
): Promise<Shape> {
  let seen: Omit<Present, "force"> | undefined;
  return orForced(how, async (force) => {
    // A dry run scans once, even if it is planned a second time to see what `force` would do.
    seen ??= await prepare(context, how);
    return attempt(context, { ...seen, force }, plan);
  });
}

async function attempt<Shape>(
  context: Context,
  present: Present,
  planned: (present: Present) => Promise<FilePlan<Shape>>,
): Promise<Shape> {
  // The plan may store contents. The lease protects them from the collector until the intent names them.
  using _lease = present.dryRun ? undefined : await context.blobs.lease();
  let plan = await planned(present);
  for (;;) {
    plan = await complete(context, await recordFolders(context, plan, present), present);
    await provePlan(context, plan);
    const done = await (present.dryRun ? preview : apply)(context, plan, present);
    if (!done.isNone) return await plan.report(await reportOf(context, plan, { done, dryRun: present.dryRun }));
    const isMeanwhile = done.blocked.some(({ reason }) => reason === "changed");
    const other = isMeanwhile ? await plan.otherwise?.() : undefined;
    tellOfCopies(context, done.conflicts.map(conflictShape));
    if (other === undefined) {
      const refusing = { ...plan, force: present.force };
      throw await whyRefused(context, refusing, await meanwhile(context, done.blocked));
    }
    plan = other;
  }
}

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

/**
 * Records the folders on disk that the plan needs and that are not recorded yet (see `recordHolders`). A change whose
 * folder cannot be recorded is skipped.
 */
async function recordFolders<Shape>(
  context: Context,
  plan: FilePlan<Shape>,
  { dryRun }: Present,
): Promise<FilePlan<Shape>> {
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
 * Returns the plan as it will be carried out: with whole databases, without changes to erased or unknown states (see
 * `leaveErased` and `leaveUnseen`), and with folders that fit. The returned `wanted` has all changes that will be made,
 * and the returned `skipped` has all paths that are left alone.
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
  const fitted = await fit(context, { ...plan, wanted: apart.changes, skipped: apart.left }, present);
  const done = leaveUnits(units, fitted.changes, [...apart.left, ...fitted.skipped]);
  if (!present.force) refuseAllErased(done.changes, done.left);
  const without = [...(plan.without ?? []), ...madeWithout(whole)];
  return { ...plan, wanted: done.changes, skipped: done.left, without, units: unitsAmong(units, done.changes) };
}

/**
 * Leaves out changes that contradict the paths that are left alone (`skipped`). Then adds the folders that the changes
 * need, as the plan's `folders` says. With `whole`, throws `REFUSED` if a path has no folder and none can be made,
 * unless `force` is set.
 */
async function fit<Shape>(
  context: Context,
  plan: FilePlan<Shape>,
  { unrecorded, force }: Present,
): Promise<FittedChanges> {
  const { wanted, folders, skipped: left = [] } = plan;
  const free = await besideLeft(context, wanted, { left, unrecorded });
  if (folders === undefined) return free;
  const into = folders === "part" ? amongFolders : withFolders;
  const fitted = await into(context, free.changes, unrecorded);
  const homeless = [...free.skipped.filter(({ reason }) => reason === "no-folder"), ...fitted.skipped];
  if (folders === "whole" && !force && homeless.length > 0) throw refused(homeless, plan);
  return { changes: fitted.changes, skipped: [...free.skipped, ...fitted.skipped] };
}

/** Proves the changed paths and the claims of the plan. Throws `IndexDisagrees` if the index disagrees with the log. */
async function provePlan<Shape>(
  context: Context,
  { claims = [], isProved, wanted, units }: FilePlan<Shape>,
): Promise<void> {
  const { seq } = await context.index.head();
  const paths = [...wanted, ...(units?.still ?? [])].map(({ path }) => path);
  if (isProved !== true) return proveHistories(context, [...claims, ...paths.map((path) => ({ path }))], seq);
  // The plan has proved the states. The rows of the index must be proved, too, because the new iterations continue the
  // numbers of these rows.
  const rows = await context.index.iterationsAt(paths, seq);
  return proveLast(
    context,
    paths.map((path, i) => ({ path, row: rows[i] })),
    seq,
  );
}

interface Outcome extends OperationReport {
  /** True if nothing could be done, so that there is no operation to report or undo. */
  readonly isNone: boolean;
}

const NOTHING: Outcome = {
  id: undefined,
  applied: [],
  blocked: [],
  conflicts: [],
  aside: NOTHING_ASIDE,
  git: [],
  isNone: false,
};

function onBlockedOf<Shape>({ isWhole }: FilePlan<Shape>, { force }: Present): OnBlocked {
  if (force) return "skip";
  return isWhole === true ? "fail" : "skip-changed";
}

async function preview<Shape>(context: Context, plan: FilePlan<Shape>, present: Present): Promise<Outcome> {
  if (plan.isNothing === true) return NOTHING;
  const { kind, selective, contents: made = [], wanted, units } = plan;
  const onBlocked = onBlockedOf(plan, present);
  if (onBlocked !== "skip") await refusePrunedContents(context, wanted, new Set(made));
  const beside = await asideOfStep(context, asideStepOf(plan));
  const git = await gitOfOperation(context, plan, wanted);
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
      blocked: [...beside.blocked, ...git.blocked, ...blocked.filter((one) => !isOwn(one))],
    },
    git: composeGit([], git.changes),
    isNone: isNone({ kind, ...selective }, { applied, blocked }, all),
  };
}

async function apply<Shape>(context: Context, plan: FilePlan<Shape>, present: Present): Promise<Outcome> {
  if (plan.isNothing === true) return NOTHING;
  const { kind, selective, wanted, skipped = [], without = [] } = plan;
  const inTheWay = await onlyGitInTheWay(context, plan);
  if (inTheWay.length > 0) return { ...NOTHING, aside: { ...NOTHING_ASIDE, blocked: inTheWay } };
  const done = await operate(context, {
    ...plan,
    // The `selective` fields of an undo by selection already name the paths that the undo leaves alone.
    ...(kind === "undo" && selective === undefined ? { left: skipped.map(({ path }) => path) } : {}),
    changes: wanted,
    skipped: [...skipped, ...without],
    onBlocked: onBlockedOf(plan, present),
    ...optional({ onProgress: present.onProgress }),
  });
  return { ...done, isNone: done.id === undefined && done.blocked.length > 0 };
}

/**
 * If an undo or redo is only about git repositories and kept-aside paths, and all of them are left alone, returns these
 * repositories and paths. Such an undo or redo is not recorded, so that a person can try it again. Otherwise returns an
 * empty list.
 */
async function onlyGitInTheWay<Shape>(context: Context, plan: FilePlan<Shape>): Promise<readonly SkippedPath[]> {
  const { kind, wanted, conflicts } = plan;
  if (wanted.length > 0 || (kind !== "undo" && kind !== "redo")) return [];
  const git = await gitOfStep(context, asideStepOf(plan));
  if (git.blocked.length === 0 || git.changes.length > 0 || (conflicts?.("").length ?? 0) > 0) return [];
  const beside = await asideOfStep(context, asideStepOf(plan));
  return beside.changes.length === 0 ? [...beside.blocked, ...git.blocked] : [];
}

async function reportOf<Shape>(
  context: Context,
  { wanted, skipped = [], without = [] }: FilePlan<Shape>,
  { done, dryRun }: { readonly done: Outcome; readonly dryRun: boolean },
): Promise<FileReport> {
  const applied = new Set(done.applied);
  // A path that was restored from its kept-aside copy is not reported as skipped.
  const isBack = new Set(done.aside.applied.map(({ path }) => path));
  const left = skipped.filter(({ path }) => !isBack.has(path));
  return {
    id: done.id,
    dryRun,
    changes: wanted.filter(({ path }) => applied.has(path)),
    skipped: [
      ...left,
      ...without.filter(({ path }) => applied.has(path)),
      ...(await meanwhile(context, done.blocked)),
      ...done.aside.blocked,
    ],
    conflicts: done.conflicts,
    aside: done.aside,
    git: done.git,
  };
}

/** Leaves out the hashes, because no answer reveals anything of kept-aside contents. */
function asideShape(change: Change): AsideChangeShape {
  return { path: shownPath(change.path), ...exactPath(change.path), change_type: changeType(change) };
}

/** Returns the part of the answer that all operations on files share. */
export function changedShape(done: FileReport): Omit<RestoreShape, "finished"> {
  const aside = done.aside.applied;
  return {
    changes: done.changes.map(changeShape),
    ...(aside.length === 0 ? {} : { kept_aside: aside.map(asideShape) }),
    ...(done.git.length === 0 ? {} : { git: done.git.map(gitShape) }),
    undo_id: done.id ?? null,
    skipped: done.skipped.map(skippedShape),
    conflicts: done.conflicts.map(conflictShape),
    dry_run: done.dryRun,
  };
}

interface RecordedHolders {
  /** The changes. Folders that were just recorded have their recorded state as `before`. */
  readonly changes: readonly Change[];
  readonly skipped: readonly SkippedPath[];
}

/**
 * Records those folders on disk that the changes create or fill and that are not recorded yet. A recorded path must lie
 * in recorded folders. Nothing else in these folders is recorded. `changes`: the changes that the caller of the
 * operation asked for.
 */
async function recordHolders(context: Context, changes: readonly Change[]): Promise<RecordedHolders> {
  if (isHosted(context.worktree.roots)) return { changes, skipped: [] };
  const before = await inUnrecorded(context, changes);
  const there = await unrecordedOf(context, foldersMadeBy(changes));
  if (before.length + there.length === 0) return { changes, skipped: [] };
  const stats = await context.worktree.stats(before.map(({ path }) => path));
  // A path at which something already exists is not captured here.
  const free = before.filter((_, i) => stats[i] === undefined).map(({ path }) => path);
  // If an absent path in a folder is captured, only the folders above that path are recorded. If the folder itself were
  // captured, everything in it would be recorded.
  const only = [...free, ...there.map((folder) => childOf(folder, context.newId()))];
  await capture(context, { cause: "capture", reserve: true, only, named: true, holders: true });
  const detail = "its folder exists, but is not recorded";
  const rows = await context.index.iterationsAt(there, (await context.index.head()).seq);
  return {
    changes: withBefore(changes, new Map(there.map((folder, i) => [folder, rows[i]?.entry]))),
    skipped: (await inUnrecorded(context, before)).map(({ path }) => ({ path, reason: "no-folder", detail })),
  };
}

/**
 * Returns the changes as the real run would make them. The real run first records the folders that the changes create
 * and that exist on disk already. A dry run records nothing, so the states of these folders are read from the disk.
 */
async function withHolders(context: Context, changes: readonly Change[]): Promise<readonly Change[]> {
  if (isHosted(context.worktree.roots)) return changes;
  const there = await unrecordedOf(context, foldersMadeBy(changes));
  const now = new Map<WorkspacePath, Entry | undefined>();
  for (const folder of there) now.set(folder, await context.worktree.inspect(folder));
  return withBefore(changes, now);
}

function withBefore(
  changes: readonly Change[],
  states: ReadonlyMap<WorkspacePath, Entry | undefined>,
): readonly Change[] {
  if (states.size === 0) return changes;
  return changes.flatMap((one) => {
    const before = states.get(one.path);
    return before === undefined ? [one] : (changeBetween(one.path, before, one.after) ?? []);
  });
}

function foldersMadeBy(changes: readonly Change[]): WorkspacePath[] {
  return changes.filter(({ before, after }) => before === undefined && after?.kind === "dir").map(({ path }) => path);
}

async function unrecordedOf(context: Context, folders: readonly WorkspacePath[]): Promise<WorkspacePath[]> {
  if (folders.length === 0) return [];
  const recorded = await context.index.iterationsAt(folders, (await context.index.head()).seq);
  const unknown = folders.filter((_, i) => recorded[i]?.entry === undefined);
  const stats = await context.worktree.stats(unknown);
  return unknown.filter((_, i) => {
    const stat = stats[i];
    return typeof stat === "object" && stat.kind === "dir";
  });
}

/**
 * Returns the changes that create a path in a folder that exists on disk and is not recorded. A folder that one of the
 * changes creates does not count as unrecorded.
 */
async function inUnrecorded(context: Context, changes: readonly Change[]): Promise<Change[]> {
  const made = new Set(changes.filter(({ after }) => after?.kind === "dir").map(({ path }) => path));
  const within = Map.groupBy(
    changes.filter(({ before, after }) => before === undefined && after !== undefined),
    ({ path }): WorkspacePath | undefined => foldersAbove(path).find(() => true),
  );
  const folders = [...within.keys()].filter((folder) => folder !== undefined).filter((folder) => !made.has(folder));
  return (await unrecordedOf(context, folders)).flatMap((folder) => within.get(folder) ?? []);
}
