import { setImmediate as nextTurn } from "node:timers/promises";
import { type Change, type Entry, isKeptTime, sameEntry, timeNsOf } from "../../core/values/entry.ts";
import { parentOf, ROOT, splitRoot, type WorkspacePath, comparePaths, isWithin } from "../../core/values/path.ts";
import type { Disk } from "../../disk/disk.ts";
import { type OpenRoot, standsInPlace } from "../scan/scan.ts";
import type { ApplyRequest, ApplyReport, BlockedPath, CheckReport, CheckRequest } from "../worktree.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { optional } from "../../util/optional.ts";
import { folderOf } from "../../disk/write-fully.ts";
import {
  block,
  blockFor,
  type Step,
  type ApplyRoot,
  holdUnits,
  releaseRoots,
  rootsOf,
  stopsAll,
  unitsOf,
  releaseAll,
} from "./apply-step.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { ApplyProgress, type ApplyContext, type Asked, lacksSpace, makeReady, mayGoOn } from "./apply-ready.ts";
import { type LandContext, changesNames, land, landUnit, remove, settleLeftovers } from "./apply-land.ts";
import type { NotedPath } from "../scan/stat-table.ts";
import { isDiskFailure } from "../../core/values/errno.ts";
import { foldsNames, heldEntry } from "../../core/tree/folder-traits.ts";
import { matchEarly, dropEarly } from "./early-stage.ts";
import { blockTogether, checkSteps, holdAliases } from "./apply-check.ts";
import { choosePlaces, clearPlaces, keepPlaces } from "./apply-places.ts";
import { entryOf, inspectPath } from "../files/inspect.ts";
import { LooseModes } from "./loose-modes.ts";
import { stagingFor, stagingInRoot, stagingPlaces } from "./staging.ts";

/**
 * Mode bits that an apply leaves out by default. A folder keeps setgid and sticky, because these bits of a folder give
 * nobody any rights.
 */
const DEFAULT_MASK = 0o7000;
const DEFAULT_FOLDER_MASK = 0o4000;

/** The number of steps after which an apply yields to other tasks. */
const TURN = 2048;

/**
 * The maximum number of folders that are synced one by one. If there are more folders, their whole file system is
 * synced.
 */
const FEW_FOLDERS = 256;

/** The maximum number of folders that are synced, and therefore open, at the same time. */
const FOLDERS_AT_ONCE = 32;

/**
 * Changes paths from `before` to `after`: see `Worktree.apply`. The phases, any of which a power loss may interrupt:
 *
 * 1. Check everything.
 * 2. Stage all new files durably, and set old files aside (`makeReady`).
 * 3. Put new files into place, folders first.
 * 4. Remove old files, children first.
 * 5. Make names durable.
 * 6. Empty the trash.
 */
export async function applyChanges(context: ApplyContext, request: ApplyRequest): Promise<ApplyReport> {
  makeRoots(context.disk, context.roots, request);
  const steps = makeSteps(context, request);
  const roots = rootsOf(steps);
  const modes = new LooseModes();
  const nowNs = context.nowNs;
  const run: LandContext = {
    disk: context.disk,
    steps,
    token: request.token,
    modes,
    nowNs,
    conflicts: [],
    undo: [],
    givenBack: [],
  };
  const startedNs = nowNs();
  const progress = new ApplyProgress(request.onProgress, steps.length);
  try {
    if (request.resume === true) {
      for (const root of roots) settleLeftovers(run, root);
      clearPlaces(steps);
    }
    checkSteps({ steps, cache: context.cache, resume: request.resume === true, together: request.together });
    if (context.early !== undefined) matchEarly(steps, context.early, request);
    if (!mayGoOn(steps, request) || lacksSpace(context, steps)) return reportOf(run, []);
    for (const { fs } of roots) fs.release();
    for (const root of roots) root.staging.prepare(request.resume === true);
    await choosePlaces(context, steps);
    if (!(await makeReady(context, run, { request, progress }))) return discard(run, roots);
    holdAliases(steps);
    if (!(await putIntoPlace(run, roots, { request, progress }))) return await takeAllBack(run, roots);
    const report = await finish(context, run, { roots, later: request.emptiesLater === true, startedNs });
    return request.keepMtime === true ? { ...report, inexactTimes: steps.flatMap(inexactTime) } : report;
  } finally {
    releaseRoots(roots);
    if (context.early !== undefined) dropEarly(context.early);
  }
}

/**
 * Reports what an apply of these changes would do: see `Worktree.check`. Changes in a missing root count as possible
 * without a check, because an apply makes the root.
 */
export function checkChanges(context: ApplyContext, request: CheckRequest): CheckReport {
  const { changes, onBlocked, permissions = false } = request;
  const there = new Set(context.roots.filter(({ fs }) => fs.lstat(ROOT) !== undefined).map(({ root }) => root.id));
  const roots = context.roots.map((open) => ({ ...open, staging: stagingInRoot(open, context.disk, "check") }));
  const steps = stepsOf(
    roots,
    changes.filter(({ path }) => there.has(splitRoot(path).root)),
    request.maskMode,
  );
  try {
    checkSteps({ steps, cache: context.cache, resume: false, together: request.together });
    if (permissions) checkPermissions(steps);
    const isStopped = steps.some((step) => stopsAll(step, onBlocked)) || lacksSpace(context, steps);
    const blocked = blockedOf(steps);
    const stays = new Set(blocked.map(({ path }) => path));
    const applied = isStopped ? [] : changes.filter(({ path }) => !stays.has(path));
    return { applied: applied.map(({ path }) => path), blocked };
  } finally {
    releaseRoots(roots);
  }
}

/**
 * Removes the files that an apply with this token left in staging, and restores the modes of the folders that the apply
 * made writable.
 */
export function cleanUpApply(context: ApplyContext, token: string): void {
  for (const open of context.roots) {
    using fs = open.fs;
    for (const staging of stagingPlaces(open, { disk: context.disk, candidate: context.staging, token })) {
      try {
        if (staging.exists()) purgeLeftovers({ ...open, fs, staging });
      } finally {
        staging.release();
      }
    }
  }
}

function purgeLeftovers(root: ApplyRoot): void {
  const modes = new LooseModes();
  modes.load(root);
  modes.restore();
  root.staging.purge();
}

function makeSteps(context: ApplyContext, request: ApplyRequest): Step[] {
  // A resumed apply tests again whether the store's staging folder can be used. The root or the store may have been
  // mounted anew since the first run.
  const probesAgain = request.resume === true;
  const roots = context.roots.map((open) => {
    const options = { disk: context.disk, candidate: context.staging, token: request.token, probesAgain };
    return { ...open, staging: stagingFor(open, options) };
  });
  return stepsOf(roots, request.changes, request.maskMode);
}

function stepsOf(all: readonly ApplyRoot[], changes: readonly Change[], mask: number | undefined): Step[] {
  const roots = new Map(all.map((one) => [one.root.id, one]));
  const sorted = changes.toSorted((a, b) => comparePaths(a.path, b.path));
  return sorted.map((change, index) => stepOf(change, { index, roots, mask }));
}

function stepOf(
  change: Change,
  given: {
    readonly index: number;
    readonly roots: ReadonlyMap<string | undefined, ApplyRoot>;
    readonly mask: number | undefined;
  },
): Step {
  const { root: id, path: inner } = splitRoot(change.path);
  const root = given.roots.get(id);
  if (root === undefined || inner === "") {
    throw new ChronicleError("PATH_INVALID", `not a path in a tracked folder: ${JSON.stringify(change.path)}`);
  }
  const mask = given.mask ?? (change.after?.kind === "dir" ? DEFAULT_FOLDER_MASK : DEFAULT_MASK);
  return {
    index: given.index,
    path: change.path,
    inner,
    root,
    before: change.before,
    after: masked(change.after, mask),
    asked: masked(change.after, mask)?.mode,
    mask,
    present: undefined,
    isKnown: false,
    isAfter: false,
    todo: "nothing",
    clear: false,
    alias: undefined,
    blocked: undefined,
    early: undefined,
    staged: undefined,
    stagedIn: root.staging.fresh,
    lostOwner: undefined,
    carrier: undefined,
    stat: undefined,
    isCertain: false,
    landed: false,
  };
}

function masked(entry: Entry | undefined, mask: number): Entry | undefined {
  return entry === undefined || (entry.mode & mask) === 0 ? entry : { ...entry, mode: entry.mode & ~mask };
}

/** Puts all steps into place. Returns false as soon as a step could not be done and its block forbids all changes. */
async function putIntoPlace(
  run: LandContext,
  roots: readonly ApplyRoot[],
  { request, progress }: Asked,
): Promise<boolean> {
  const { steps } = run;
  const early = earlyRemovals(steps);
  const unitOf = new Map<Step, readonly Step[]>();
  for (const unit of unitsOf(steps, request.together)) {
    holdUnits([unit]);
    // A unit is a set of paths that change together. Its paths are put into place one by one if another entry must be
    // removed first. That entry is in a folder that a file replaces, or has a name that the disk takes for one of the
    // unit's names.
    if (unit.every((step) => !step.clear && step.alias === undefined && !early.has(step)))
      for (const step of unit) unitOf.set(step, unit);
  }
  const order: [Step, typeof land][] = [
    ...steps
      .filter((step) => early.has(step))
      .toReversed()
      .map((step): [Step, typeof land] => [step, remove]),
    ...steps.filter((step) => step.todo !== "remove").map((step): [Step, typeof land] => [step, land]),
    ...steps
      .filter((step) => step.todo === "remove" && !early.has(step))
      .toReversed()
      .map((step): [Step, typeof land] => [step, remove]),
  ];
  let done = 0;
  for (const [step, act] of order) {
    const unit = unitOf.get(step);
    if (unit === undefined) act(run, step);
    else landUnit(run, unit);
    for (const one of unit ?? []) unitOf.delete(one);
    if ((unit ?? [step]).some((one) => stopsAll(one, request.onBlocked))) return false;
    done += 1;
    if (done % TURN !== 0) continue;
    progress.placed(done);
    releaseRoots(roots);
    await nextTurn();
  }
  progress.finished();
  return true;
}

/**
 * Returns the steps whose old entries are removed before any new entry is put into place, each with the removals
 * beneath it:
 *
 * - entries of another kind than the new entry (`clear`)
 * - other names that the disk takes for a new name (`alias`)
 */
function earlyRemovals(steps: readonly Step[]): Set<Step> {
  const early = new Set<Step>();
  let cleared: WorkspacePath | undefined;
  const aliases = new Set(steps.flatMap(({ alias, blocked }) => (blocked === undefined ? (alias ?? []) : [])));
  for (const step of steps) {
    if (step.clear || aliases.has(step)) cleared = step.path;
    const isBeneath = cleared !== undefined && isWithin(step.path, cleared);
    if (step.clear || (isBeneath && step.todo === "remove")) early.add(step);
  }
  return early;
}

interface Finishing {
  readonly roots: readonly ApplyRoot[];
  /** True if the files that were set aside are removed in the background. */
  readonly later: boolean;
  /** The time before the first path was inspected. */
  readonly startedNs: bigint;
}

async function finish(
  context: ApplyContext,
  run: LandContext,
  { roots, later, startedNs }: Finishing,
): Promise<ApplyReport> {
  // Names are synced before modes are set, because a folder whose mode denies its owner access could not be synced.
  for (const { staging } of roots) staging.places.clear();
  await syncNames(context.disk, [...run.steps.filter(changesNames), ...run.givenBack], blockLost(run));
  setFolderModes(run.steps);
  run.modes.restore();
  if (run.steps.some(({ blocked }) => blocked !== undefined)) blockTogether(run.steps);
  const applied = run.steps.filter((step) => step.blocked === undefined);
  rememberAll(context, applied, startedNs);
  keepPlaces(context, applied);
  for (const { staging } of roots) {
    if (later) context.bin.add(run.token, () => staging.purgeBeside(context.workers));
    else staging.purge();
  }
  return reportOf(run, applied);
}

/** Sets the modes of folders. The modes are set last, because a folder without write permission takes no new names. */
function setFolderModes(steps: readonly Step[]): void {
  for (const step of steps.toReversed()) {
    const { after, blocked, todo } = step;
    if (blocked !== undefined || after?.kind !== "dir") continue;
    const isLoose = todo === "create" && (after.mode & 0o700) !== 0o700 && step.root.traits.modes;
    if (!isLoose && todo !== "chmod") continue;
    try {
      step.root.fs.chmod(step.inner, after.mode, "dir");
    } catch (error) {
      blockFor(step, error);
    }
  }
}

/**
 * Makes the names in the folders of these steps durable. If a folder cannot be synced, calls `onLost` with the error
 * and the steps of that folder. Several folders are synced at a time, because the disk then makes them durable
 * together.
 */
async function syncNames(
  disk: Disk,
  steps: readonly Step[],
  onLost: (steps: readonly Step[], error: unknown) => void,
): Promise<void> {
  const groups = [...Map.groupBy(steps, (step) => parentOf(step.path)).values()];
  const left = groups.length > FEW_FOLDERS ? await syncRoots(disk, groups) : groups;
  for (let at = 0; at < left.length; at += FOLDERS_AT_ONCE) {
    const some = left.slice(at, at + FOLDERS_AT_ONCE);
    const syncs = Promise.allSettled(some.map(async (group) => syncFolderOf(group, left.length === 1)));
    // Other tasks may rename a folder meanwhile, so no folder stays open here. Each sync has opened its folder for
    // itself.
    releaseAll(steps);
    for (const [i, end] of (await syncs).entries()) if (end.status === "rejected") onLost(some[i] ?? [], end.reason);
  }
}

/** Syncs the folder of these steps. A folder that is `alone` is synced on this thread, which takes less time. */
async function syncFolderOf([step]: readonly Step[], alone: boolean): Promise<void> {
  if (step === undefined) return;
  const { fs } = step.root;
  const folder = parentOf(step.inner);
  if (alone) fs.syncFolder(folder);
  else await fs.syncFolderBeside(folder);
}

/**
 * Syncs the whole file systems of the roots of these groups. Returns the groups whose file system could not be synced.
 */
async function syncRoots(disk: Disk, groups: readonly (readonly Step[])[]): Promise<(readonly Step[])[]> {
  const synced = new Map<ApplyRoot, boolean>();
  for (const root of rootsOf(groups.flat())) {
    root.fs.release();
    synced.set(root, await syncRoot(disk, root));
  }
  return groups.filter(([step]) => step !== undefined && synced.get(step.root) !== true);
}

async function syncRoot(disk: Disk, { root }: ApplyRoot): Promise<boolean> {
  try {
    return await disk.syncAllBeside(root.folder);
  } catch (error) {
    // The root is gone. The later sync of each folder in the root reports that error for the steps of the folder.
    if (!LOST.has(errnoOf(error) ?? "")) throw error;
    return false;
  }
}

const LOST: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/**
 * Returns the `onLost` callback for `syncNames`. If somebody has exchanged a folder, the callback blocks the steps in
 * the folder, because their changes are in the old folder. A folder that this apply itself removed needs no sync.
 */
function blockLost(run: LandContext): (steps: readonly Step[], error: unknown) => void {
  const taken = new Set(run.steps.filter((step) => step.landed && step.after?.kind !== "dir").map((step) => step.path));
  return (steps, error) => {
    // Names that are not durable must not be reported as done. The caller resumes the apply later, as after a crash.
    if (!LOST.has(errnoOf(error) ?? "")) throw error;
    for (const step of steps) if (!taken.has(parentOf(step.path))) blockFor(step, error);
  };
}

/**
 * Remembers the applied paths. A file with recent times (see `isRacy`) counts as racy, unless the step is `isCertain`.
 * The next scan reads a racy file, because somebody may have written to the file unnoticed.
 */
function rememberAll({ cache, others }: ApplyContext, applied: readonly Step[], startedNs: bigint): void {
  for (const { path, after } of applied) if (after === undefined) cache.remove(path);
  cache.putAll(knownNow(applied), startedNs);
  // The other caches get only the files with `isCertain`, because their next scan reads every other file anyway.
  const certain = applied.filter((step) => step.isCertain);
  for (const other of others) for (const one of knownNow(certain)) other.put(one, startedNs);
}

/** Yields the applied paths that exist, in path order, each with the stat that belongs to its known content. */
function* knownNow(applied: readonly Step[]): Generator<NotedPath> {
  for (const step of applied) {
    const { after, path, inner, root, isCertain } = step;
    if (after === undefined) continue;
    const stat = (step.todo === "nothing" ? step.present : step.stat) ?? root.fs.lstat(inner);
    if (stat?.kind === after.kind) yield { entry: entryOf(path, stat, after.hash), stat, isCertain };
  }
}

function discard(run: LandContext, roots: readonly ApplyRoot[]): ApplyReport {
  for (const { staging } of roots) staging.purge();
  return reportOf(run, []);
}

/** Undoes all steps, because one of them failed. Leaves a path as it is if somebody has changed the path since then. */
async function takeAllBack(run: LandContext, roots: readonly ApplyRoot[]): Promise<ApplyReport> {
  for (const undo of run.undo.toReversed()) {
    try {
      undo();
    } catch (error) {
      // The step cannot be undone, for example because somebody has changed the path. The report counts such a step as
      // applied if the path still is as the step left it.
      if (errnoOf(error) === undefined) throw error;
    }
  }
  // The restored names must be durable, too. A failed step may also have changed names, so the folders of all steps are
  // synced.
  const tried = run.steps.filter((step) => step.todo !== "nothing");
  await syncNames(run.disk, tried, (_steps, error) => {
    if (errnoOf(error) === undefined || isDiskFailure(errnoOf(error))) throw error;
  });
  run.modes.restore();
  for (const { staging } of roots) staging.purge();
  releaseRoots(roots);
  // The disk is inspected again, because an undone step must not be reported as done.
  return reportOf(
    run,
    doneTogether(run.steps, (step) => step.todo !== "nothing" && isAfter(step)),
  );
}

function isAfter({ root: { root, fs, traits }, path, inner, after }: Step): boolean {
  // On a disk that treats several names as the same name, the path may lead to an entry with another name.
  const isThere = !foldsNames(traits) || root.only === inner || fs.isNamedSo(inner);
  const found = isThere ? inspectPath(fs, path, inner)?.entry : undefined;
  return sameEntry(heldEntry(traits, found, after), after);
}

function reportOf(run: LandContext, applied: readonly Step[]): ApplyReport {
  return {
    applied: applied.map((step) => step.path),
    blocked: blockedOf(run.steps),
    conflicts: run.conflicts,
    inherited: applied.flatMap(({ after, asked }) => (after === undefined || after.mode === asked ? [] : [after])),
    lostOwners: applied.flatMap(({ path, lostOwner }) => (lostOwner === undefined ? [] : [{ path, ...lostOwner }])),
  };
}

/**
 * Returns the path and the difference in ns if the file did not get its recorded time. Returns an empty list if the
 * file got its recorded time, or if that time may have been clamped (`isKeptTime`).
 */
function inexactTime({ path, after, staged, stat, blocked }: Step): { path: WorkspacePath; offNs: bigint }[] {
  if (staged === undefined || stat === undefined || blocked !== undefined) return [];
  if (after?.kind !== "file" || !isKeptTime(after.mtimeMs)) return [];
  const offNs = stat.mtimeNs - timeNsOf(after);
  return offNs === 0n ? [] : [{ path, offNs: offNs < 0n ? -offNs : offNs }];
}

function blockedOf(steps: readonly Step[]): BlockedPath[] {
  return steps.flatMap(({ path, blocked }) => {
    if (blocked === undefined) return [];
    const { reason, detail, with: other } = blocked;
    return [{ path, reason, detail, ...optional({ with: other }) }];
  });
}

/**
 * Returns the changes that are done on disk and consistent with one another. Among these, no folder is removed while
 * its contents stay, and nothing is in a folder that was not made. Changes may be inconsistent if somebody exchanges
 * folders while `isDone` looks at one path after another. `changes` are in path order, folders before their contents.
 */
export function doneTogether<C extends Change>(changes: readonly C[], isDone: (change: C) => boolean): C[] {
  const planned = new Map(changes.map((change) => [change.path, change]));
  const done = new Map(changes.filter(isDone).map((change) => [change.path, change]));
  for (const { path, before } of changes.toReversed()) {
    const above = done.get(parentOf(path));
    const stays = before !== undefined && !done.has(path);
    if (stays && above !== undefined && above.after?.kind !== "dir") done.delete(above.path);
  }
  for (const { path, after } of changes) {
    const above = planned.get(parentOf(path));
    if (after === undefined || above === undefined || above.before?.kind === "dir") continue;
    if (!done.has(above.path)) done.delete(path);
  }
  return [...done.values()];
}

/**
 * Makes the missing tracked folders in which a change creates an entry. Requires that the caller's scan has refused a
 * missing folder with recorded contents (see `ScanRequest.absentRoot`). A resumed apply makes no folder, because the
 * disk may not be mounted. Only the user can access a new folder, because the old mode is not recorded and a wider mode
 * could expose files.
 */
function makeRoots(disk: Disk, roots: readonly OpenRoot[], { changes, resume }: ApplyRequest): void {
  if (resume === true) return;
  for (const { root, fs } of roots) {
    if (fs.lstat(ROOT) !== undefined) continue;
    if (!changes.some(({ path, after }) => after !== undefined && splitRoot(path).root === root.id)) continue;
    makeRoot(disk, root.folder);
  }
}

function makeRoot(disk: Disk, folder: string): void {
  try {
    disk.makeFolder(folder);
    disk.syncFolder(folderOf(folder));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    const obstacle = errno === "EEXIST" ? standsInPlace(disk, folder) : undefined;
    const why = obstacle === undefined ? errno : `${obstacle} stands in its place`;
    const hint = errno === "ENOENT" ? "make its parent folder, and try again" : undefined;
    throw new ChronicleError("IO", `the tracked folder ${folder} could not be made again: ${why}`, {
      ...optional({ hint: obstacle === undefined ? hint : `move ${obstacle} away, and try again` }),
      data: { folder },
      cause: error,
    });
  }
}

/**
 * Blocks the steps that the disk would refuse, as far as this can be found out without a change. Requires `checkSteps`
 * to have run.
 */
function checkPermissions(steps: readonly Step[]): void {
  for (const step of steps) {
    if (step.blocked !== undefined || step.todo === "nothing") continue;
    try {
      if (isMountPoint(step) || isMountedAbove(step))
        block(step, "busy", "another file system is mounted at the path or at a folder above the path");
      else checkFolder(step.root.fs, innermost(step));
    } catch (error) {
      blockFor(step, error);
    }
  }
}

function innermost({ root: { fs }, inner }: Step): WorkspacePath {
  let folder = parentOf(inner);
  while (folder !== ROOT && fs.lstat(folder)?.kind !== "dir") folder = parentOf(folder);
  return folder;
}

function isMountPoint({ root: { fs }, inner, present, todo }: Step): boolean {
  if (present === undefined || todo === "chmod") return false;
  return fs.lstat(parentOf(inner))?.dev !== present.dev;
}

/** True if the path is on another file system than its root, so that no staged file can be renamed to it. */
function isMountedAbove(step: Step): boolean {
  const { fs } = step.root;
  return fs.lstat(innermost(step))?.dev !== fs.lstat(ROOT)?.dev;
}

/**
 * Throws the disk's error if names in the folder cannot be changed. Accepts a mode that denies the owner access,
 * because `LooseModes` makes the folder writable during the apply.
 */
function checkFolder(fs: ConfinedFs, folder: WorkspacePath): void {
  try {
    fs.checkWrite(folder);
  } catch (error) {
    const mode = fs.lstat(folder)?.mode ?? 0;
    if (errnoOf(error) !== "EACCES" || (mode & OWNERS) === OWNERS) throw error;
  }
}

const OWNERS = 0o700;
