import { type Change, type Entry, changeType } from "../../core/values/entry.ts";
import { childOf, foldersAbove, type WorkspacePath, comparePaths } from "../../core/values/path.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { capture, type CaptureOptions } from "./capture.ts";
import { type Context, isHosted } from "../log/context.ts";
import { type SkippedPath, type BackTo, leaveUnseen } from "./seen-absent.ts";
import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import type { BlockedPath, PathStat, ApplyReport, OnBlocked } from "../../worktree/worktree.ts";
import type { AsideChangeShape, RestoreShape } from "../../api/shapes.ts";
import type { Progress } from "../../api/workspace-api.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { databaseUnits, leaveUnits, unitsAmong, wholeUnits } from "../log/database-units.ts";
import { amongFolders, type FittedChanges, withFolders } from "./fit-folders.ts";
import { foresee } from "../facts/foresee.ts";
import { asideStepOf, isNone, makeable, neverSet, operate, type Operation, type OperationReport } from "./operate.ts";
import { compare, readDisk } from "./read-disk.ts";
import { leaveErased, refuseAllErased } from "./leave-erased.ts";
import { refusePrunedContents } from "../facts/pruning.ts";
import { type PathClaim, proveHistories } from "../state/proved-rows.ts";
import { changeShape, conflictShape, exactPath, shownPath, skippedShape } from "../log/shape.ts";
import { type ChangedShape, type ForcedHow, orForced, refused, whyRefused } from "./refused.ts";
import { asideOfStep, type AsideReport, NOTHING_ASIDE } from "./undo-aside.ts";
import { optional } from "../../util/optional.ts";

/** The result of recording the folders. */
interface RecordedHolders {
  /** The changes, from what is recorded now. */
  readonly changes: readonly Change[];
  /** The paths whose folder could not be recorded. */
  readonly skipped: readonly SkippedPath[];
}

/**
 * Records the folders that are on disk, kept out by a rule, and about to get something that is recorded, or to be made themselves: what is
 * recorded lies in recorded folders. Nothing else in them is recorded. `changes` are those that are meant.
 */
async function recordHolders(context: Context, changes: readonly Change[]): Promise<RecordedHolders> {
  if (isHosted(context.worktree.roots)) return { changes, skipped: [] };
  const before = await inUnrecorded(context, changes);
  const there = await unrecordedOf(context, foldersMadeBy(changes));
  if (before.length + there.length === 0) return { changes, skipped: [] };
  const stats = await context.worktree.stats(before.map(({ path }) => path));
  // A state that is already at the path is not recorded here.
  const free = before.filter((_, i) => stats[i] === undefined).map(({ path }) => path);
  // A capture takes the folders on the way to a path at which nothing is: of the folder itself it would take all that it holds.
  const only = [...free, ...there.map((folder) => childOf(folder, context.newId()))];
  await capture(context, { cause: "capture", reserve: true, only, named: true, holders: true });
  const detail = "its folder is there, and is not recorded";
  const rows = await context.index.iterationsAt(there, (await context.index.head()).seq);
  return {
    changes: from(changes, new Map(there.map((folder, i) => [folder, rows[i]?.entry]))),
    skipped: (await inUnrecorded(context, before)).map(({ path }) => ({ path, reason: "no-folder", detail })),
  };
}

/** The changes as they will be once the folders are recorded that they make and that are on disk: a dry run records nothing. */
async function withHolders(context: Context, changes: readonly Change[]): Promise<readonly Change[]> {
  if (isHosted(context.worktree.roots)) return changes;
  const there = await unrecordedOf(context, foldersMadeBy(changes));
  const now = new Map<WorkspacePath, Entry | undefined>();
  for (const folder of there) now.set(folder, await context.worktree.inspect(folder));
  return from(changes, now);
}

/** The changes, of which some begin with another state. */
function from(changes: readonly Change[], states: ReadonlyMap<WorkspacePath, Entry | undefined>): readonly Change[] {
  if (states.size === 0) return changes;
  return changes.flatMap((one) => {
    const before = states.get(one.path);
    return before === undefined ? [one] : (changeBetween(one.path, before, one.after) ?? []);
  });
}

function foldersMadeBy(changes: readonly Change[]): WorkspacePath[] {
  return changes.filter(({ before, after }) => before === undefined && after?.kind === "dir").map(({ path }) => path);
}

/** Returns the paths that are folders on disk and not recorded. */
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

/** The paths to be made whose folder is on disk, and neither recorded nor made with them. */
async function inUnrecorded(context: Context, changes: readonly Change[]): Promise<Change[]> {
  const made = new Set(changes.filter(({ after }) => after?.kind === "dir").map(({ path }) => path));
  const within = Map.groupBy(
    changes.filter(({ before, after }) => before === undefined && after !== undefined),
    ({ path }): WorkspacePath | undefined => foldersAbove(path).find(() => true),
  );
  const folders = [...within.keys()].filter((folder) => folder !== undefined).filter((folder) => !made.has(folder));
  return (await unrecordedOf(context, folders)).flatMap((folder) => within.get(folder) ?? []);
}

/**
 * Paths that somebody changes while an operation is being done: a program that goes on writing a log, say. The operation
 * leaves them alone and names them, and does everything else.
 */

/**
 * Returns the paths that an apply skipped, as an operation reports them. Everything was captured just before, so a path
 * that was not as the plan expected was changed meanwhile, or has a special file in its place, which no capture takes.
 */
async function meanwhile(
  { worktree }: Pick<Context, "worktree">,
  blocked: readonly BlockedPath[],
): Promise<SkippedPath[]> {
  const changed = blocked.filter(({ reason }) => reason === "changed").map(({ path }) => path);
  const special = await specialAt(worktree, [...new Set(changed.flatMap(pathAndFolders))]);
  return blocked.map((one) => {
    if (one.reason !== "changed") return one;
    const inPlace = pathAndFolders(one.path).find((path) => special.has(path));
    return inPlace === undefined ? changedMeanwhile(one.path, one.with) : behindSpecial(one.path, inPlace);
  });
}

function pathAndFolders(path: WorkspacePath): WorkspacePath[] {
  return [path, ...foldersAbove(path)];
}

async function specialAt(
  worktree: Context["worktree"],
  paths: readonly WorkspacePath[],
): Promise<ReadonlySet<WorkspacePath>> {
  const stats = await lookAt(worktree, paths);
  const isSpecial = (stat: PathStat): boolean => stat !== undefined && stat !== "unknown" && stat.kind === "special";
  return new Set(stats.flatMap(([path, stat]) => (isSpecial(stat) ? [path] : [])));
}

function behindSpecial(path: WorkspacePath, inPlace: WorkspacePath): SkippedPath {
  const where = path === inPlace ? "its place" : `the place of ${shownPath(inPlace)}`;
  return { path, reason: "special", detail: `a pipe, a socket or a device is in ${where}: move it away first` };
}

/** A path that is left alone because somebody changed it meanwhile, or a file (`cause`) of the same database. */
export function changedMeanwhile(path: WorkspacePath, cause?: WorkspacePath): SkippedPath {
  const detail = "what is there is not what was recorded when this began";
  return { path, reason: "changed-meanwhile", detail: cause === undefined ? detail : oneUnitWith(cause, detail) };
}

/** A path counts as being written if it changed within this time before a check, and again within this time, in ms. */
const RECENT_MS = 2_000;
/** The wait between two scans, in ms. */
const BETWEEN_MS = 20;

/**
 * Returns the paths that somebody is still writing: each was changed a moment ago, and changes again during the check.
 * Resolves at once if none was changed in the last two seconds, and after two seconds at the latest.
 */
export async function beingWritten(
  context: Context,
  paths: readonly WorkspacePath[],
): Promise<ReadonlySet<WorkspacePath>> {
  const { pause, worktree } = context;
  const written = new Set<WorkspacePath>();
  if (pause === undefined) return written;
  const before = new Map(await lookAt(worktree, paths));
  for (let waited = 0; waited < RECENT_MS; waited += BETWEEN_MS) {
    const open = paths.filter((path) => !written.has(path));
    if (!open.some((path) => isRecent(before.get(path), context.now()))) break;
    await pause(BETWEEN_MS);
    for (const [path, stat] of await lookAt(worktree, open)) if (isOther(before.get(path), stat)) written.add(path);
  }
  return written;
}

async function lookAt(
  worktree: Context["worktree"],
  paths: readonly WorkspacePath[],
): Promise<[WorkspacePath, PathStat][]> {
  const stats = await worktree.stats(paths);
  return paths.map((path, i) => [path, stats[i]]);
}

function isRecent(stat: PathStat, nowMs: number): boolean {
  // A file that is not there may be back in a moment: it was replaced.
  if (stat === undefined || stat === "unknown") return true;
  return Number(newest(stat) / 1_000_000n) > nowMs - RECENT_MS;
}

function isOther(known: PathStat, now: PathStat): boolean {
  if (known === undefined || known === "unknown" || now === undefined || now === "unknown")
    return (known === undefined) !== (now === undefined);
  return known.ino !== now.ino || known.size !== now.size || newest(known) !== newest(now);
}

function newest({ mtimeNs, ctimeNs }: { readonly mtimeNs: bigint; readonly ctimeNs: bigint }): bigint {
  return mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
}

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
interface ChangingHow extends ForcedHow {
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
    if (!done.isNone) return plan.report(await reportOf(context, plan, { done, dryRun: present.dryRun }));
    const isMeanwhile = done.blocked.some(({ reason }) => reason === "changed");
    const other = isMeanwhile ? await plan.otherwise?.() : undefined;
    if (other === undefined) throw await whyRefused(context, plan, await meanwhile(context, done.blocked));
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

async function reportOf<Shape>(
  context: Context,
  { wanted, skipped = [] }: FilePlan<Shape>,
  { done, dryRun }: { readonly done: Outcome; readonly dryRun: boolean },
): Promise<FileReport> {
  const applied = new Set(done.applied);
  // A path that came back from what was kept aside is not skipped, even if its history alone could not tell that.
  const isBack = new Set(done.aside.applied.map(({ path }) => path));
  const left = skipped.filter(({ path }) => !isBack.has(path));
  return {
    id: done.id,
    dryRun,
    changes: wanted.filter(({ path }) => applied.has(path)),
    skipped: [...left, ...(await meanwhile(context, done.blocked)), ...done.aside.blocked],
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
