import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { isStagedBeside } from "../../core/tree/staging-folder.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { Step } from "./apply-step.ts";
import type { StatCache } from "../scan/stat-cache.ts";
import type { ApplyRequest } from "../worktree.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { foldsNames, whyNotHeld } from "../../core/tree/folder-traits.ts";
import { findCollisions, isOneName } from "../../core/tree/find-collisions.ts";
import { sha256 } from "../../core/values/hash.ts";
import { childOf, decodeName, foldersAbove, isWithin, nameOf, parentOf, ROOT } from "../../core/values/path.ts";
import { block, blockFor, heldBy, holdUnits, unitsOf } from "./apply-step.ts";
import { hashFile } from "../files/inspect.ts";
import { isSameStat } from "../files/same-stat.ts";

export interface CheckContext {
  readonly steps: readonly Step[];
  readonly cache: StatCache;
  readonly resume: boolean;
  /** Sets of paths that change together or not at all. */
  readonly together?: ApplyRequest["together"];
}

/**
 * Checks all steps before the first change. Decides what each step does, or blocks the step. Requires steps in path
 * order, folders before their contents.
 */
export function checkSteps(context: CheckContext): void {
  const planned = new Map(context.steps.map((step) => [step.path, step]));
  for (const step of context.steps) {
    try {
      checkStep(context, step, planned);
    } catch (error) {
      blockFor(step, error);
    }
  }
  for (const step of context.steps.toReversed()) {
    if (step.blocked === undefined && removesFolder(step)) checkEmptied(step, planned);
  }
  holdSecondNames(context.steps);
  const units = unitsOf(context.steps, context.together);
  holdUnits(units);
  blockTogether(context.steps, planned);
  holdUnits(units);
  holdAliases(context.steps);
}

function checkStep(context: CheckContext, step: Step, planned: ReadonlyMap<WorkspacePath, Step>): void {
  const lacked = step.after === undefined ? undefined : whyNotHeld(step.root.traits, step.after);
  if (lacked !== undefined) {
    block(step, "not-held", lacked);
    return;
  }
  const above = planned.get(parentOf(step.path));
  // A folder that does not exist yet has no contents to inspect.
  const isNew = above?.todo === "create" && above.after?.kind === "dir" && above.blocked === undefined;
  step.present = isNew ? undefined : present(step, planned);
  if (step.blocked !== undefined) return;
  if (step.present === undefined && !isNew && !hasFolder(step, planned)) return;
  keepOwnBits(step);
  const isBefore = isEntry(context, step, step.before);
  if (isBefore || mayResume(context, step)) decide(step);
  else block(step, "changed", changedText(step.before));
}

export function changedText(before: Entry | undefined): string {
  return before === undefined ? "something that is not recorded is there" : "it is not what it was";
}

/** Copies the mode bits in `mask` from an existing folder to `after`, because an apply does not clear these bits. */
function keepOwnBits(step: Step): void {
  const { present, after, mask } = step;
  if (present?.kind !== "dir" || after?.kind !== "dir") return;
  const kept = present.mode & mask;
  if (kept !== 0) step.after = { ...after, mode: after.mode | kept };
}

/**
 * Returns the stat of the entry with exactly the step's name; `undefined` if there is no such entry.
 *
 * If the disk treats two names as the same name, it may find an entry with the other name instead. If that entry is to
 * be removed, notes its removal as the step's `alias`, which must precede the step. If that entry stays, blocks the
 * step. A step that is itself a removal ignores the other entry.
 */
function present(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): FileStat | undefined {
  const { fs, traits } = step.root;
  const found = fs.lstat(step.inner);
  // The file of a single-file root is accepted under every spelling that the disk treats as its name, as in a scan.
  const isRoot = step.root.root.only === step.inner;
  if (found === undefined || !foldsNames(traits) || isRoot || fs.isNamedSo(step.inner)) return found;
  if (step.after === undefined) return undefined;
  const name = listedName(step, found);
  const other = name === undefined ? undefined : planned.get(childOf(parentOf(step.path), name));
  if (other !== undefined && other.after === undefined) step.alias = other;
  else if (name !== undefined) block(step, "not-held", takenFor(name));
  // The name under which the folder lists the found entry is unknown. This name may be any of the names to be removed,
  // so the step and all removals in the folder are blocked.
  else for (const one of removedBeside(step, planned)) block(one, "not-held", takenFor(nameOf(step.path)));
  return undefined;
}

function takenFor(name: string): string {
  return `the disk treats it as the same name as ${JSON.stringify(name)}, which exists`;
}

function removedBeside(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): Step[] {
  const folder = parentOf(step.path);
  const beside = [...planned.values()].filter((one) => one.after === undefined && parentOf(one.path) === folder);
  return [step, ...beside];
}

/**
 * Returns the listed name of the file that `lstat` finds under the step's name; `undefined` if no listed name leads to
 * that file.
 */
function listedName({ root: { fs, traits }, inner }: Step, found: FileStat): string | undefined {
  const folder = parentOf(inner);
  const names = fs.list(folder).map(({ name }) => decodeName(name));
  const isFound = (name: string): boolean => {
    const stat = fs.lstat(childOf(folder, name));
    return stat?.ino === found.ino && stat.dev === found.dev;
  };
  // Names are compared first, because some disks invent inode numbers. Inodes are compared next, because some disks
  // fold letters by their own tables.
  return names.find((name) => isOneName(name, nameOf(inner), traits.names)) ?? names.find(isFound);
}

/** If the disk takes several new names for the same name, blocks all of them except the first. */
function holdSecondNames(steps: readonly Step[]): void {
  for (const [root, own] of Map.groupBy(steps.filter(isCreated), (step) => step.root)) {
    if (!foldsNames(root.traits)) continue;
    const byPath = new Map(own.map((step) => [step.path, step]));
    for (const [first, ...others] of findCollisions(byPath.keys(), root.traits.names)) {
      for (const path of others) {
        const step = byPath.get(path);
        const why = `the disk treats it as the same name as ${JSON.stringify(nameOf(first ?? path))}, which is also to be created`;
        if (step !== undefined) block(step, "not-held", why);
      }
    }
  }
}

function isCreated({ todo, blocked }: Step): boolean {
  return todo === "create" && blocked === undefined;
}

/**
 * Makes a step and the removal of its alias (see `Step.alias`) depend on each other. If the step, the removal or an
 * entry in the step's new folder is blocked, blocks the step, the removal and the contents of both. Otherwise, contents
 * could vanish under the old name without appearing under the new name. Exception: an entry in the new folder that the
 * disk cannot hold (`not-held`) blocks nothing else.
 */
export function holdAliases(steps: readonly Step[]): void {
  for (const step of steps) {
    const { alias } = step;
    if (alias === undefined) continue;
    const coming = inFolder(steps, step).filter(({ after }) => after !== undefined);
    const going = removalsWith(steps, alias);
    const missing = coming.find(({ blocked }) => blocked !== undefined && blocked.reason !== "not-held")?.blocked;
    const why =
      alias.blocked === undefined
        ? (missing ?? step.blocked)
        : { reason: "not-held" as const, detail: takenFor(nameOf(alias.path)) };
    if (why !== undefined) for (const one of [...coming, ...going]) block(one, why.reason, why.detail);
  }
}

/** Returns the steps that remove an alias and its contents, folders first. */
export function removalsWith(steps: readonly Step[], alias: Step): Step[] {
  return inFolder(steps, alias).filter(({ after }) => after === undefined);
}

/** Returns the step, and for a folder also the steps of its contents. */
export function inFolder(steps: readonly Step[], step: Step): Step[] {
  const isFolder = step.present?.kind === "dir" || step.after?.kind === "dir";
  return isFolder ? steps.filter(({ path }) => isWithin(path, step.path)) : [step];
}

/**
 * True if the present state of the path can be the result of an interrupted apply: the path is missing, equals `after`,
 * or is a folder whose mode is not set yet.
 */
function mayResume(context: CheckContext, step: Step): boolean {
  if (!context.resume) return false;
  const { present, after } = step;
  if (present === undefined) return mayBeGone(step);
  return (present.kind === "dir" && after?.kind === "dir") || isEntry(context, step, after);
}

/**
 * True if an interrupted apply may have left the path missing. False only if an apply replaces a file by a file in a
 * single rename. On a file system without hard links, an apply needs two renames, because it first renames the old file
 * away.
 */
function mayBeGone({ before, after, root }: Step): boolean {
  return before?.kind !== "file" || after?.kind !== "file" || !root.staging.hasLinks();
}

function decide(step: Step): void {
  const { present, after } = step;
  if (present === undefined) step.todo = after === undefined ? "nothing" : "create";
  else if (after === undefined) step.todo = "remove";
  else if (isDone(step, present, after)) step.todo = "nothing";
  else if (present.kind === after.kind && (after.kind === "dir" || step.before?.hash === after.hash))
    step.todo = "chmod";
  else if (present.kind === "dir" || after.kind === "dir") {
    step.todo = "create";
    step.clear = true;
  } else step.todo = "replace";
}

/**
 * True if the path already is in the state `after`. Does not read the content again, because the check has found that
 * the path equals `before` or `after`.
 */
function isDone(step: Step, present: FileStat, after: Entry): boolean {
  if (present.kind !== after.kind || !hasMode(step, present, after)) return false;
  return after.kind === "dir" || step.isAfter || step.before?.hash === after.hash;
}

/** True if the path equals this entry. If the entry is `after`, also sets `step.isAfter`. */
function isEntry(context: CheckContext, step: Step, entry: Entry | undefined): boolean {
  const { present } = step;
  if (present === undefined || entry === undefined) return present === undefined && entry === undefined;
  if (present.kind !== entry.kind || !hasMode(step, present, entry)) return false;
  const same = present.kind === "dir" || hashOf(context, step, present, entry) === entry.hash;
  if (same && entry === step.after) step.isAfter = true;
  return same;
}

/** True if the path has the entry's mode. Every mode matches for a link, and on a disk without modes. */
function hasMode({ root }: Step, present: FileStat, entry: Entry): boolean {
  return present.mode === entry.mode || present.kind === "symlink" || !root.traits.modes;
}

function hashOf(context: CheckContext, step: Step, present: FileStat, entry: Entry): string | undefined {
  const { fs } = step.root;
  if (present.kind === "symlink") return targetHash(step);
  if (present.size !== entry.size) return undefined;
  const known = context.cache.get(step.path);
  const isTold = step.root.traits.ctime && known !== undefined && !known.racy;
  step.isKnown = isTold && isSameStat(known.stat, present);
  if (step.isKnown) return known?.entry.hash;
  const read = hashFile(fs, step.inner);
  if (read.kind === "unreadable") block(step, "not-permitted", `cannot be read: ${read.detail}`);
  if (read.kind !== "read" || read.unstable) return undefined;
  step.present = read.stat;
  return read.hash;
}

/** The errnos of `readlink` after somebody has replaced the link or a folder above it. */
const EXCHANGED: ReadonlySet<string> = new Set(["EINVAL", "ENOENT", "ENOTDIR", "ELOOP"]);

function targetHash({ root, inner }: Step): string | undefined {
  try {
    return sha256(root.fs.readlink(inner));
  } catch (error) {
    if (!EXCHANGED.has(errnoOf(error) ?? "")) throw error;
    return undefined;
  }
}

/**
 * True if the step's folder exists or will be made, or if the path is to be removed and its folder is missing.
 * Otherwise blocks the step.
 */
function hasFolder(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): boolean {
  const { fs } = step.root;
  const isGoing = step.after === undefined;
  let path = step.path;
  for (const folder of foldersAbove(step.inner)) {
    path = parentOf(path);
    const above = planned.get(path)?.after;
    // For a removal, an interrupted apply may already have replaced the folder as planned. That apply removed the path
    // before it replaced the folder.
    if (isGoing && above !== undefined) return true;
    const stat = fs.lstat(folder);
    if (above?.kind === "dir" || stat?.kind === "dir") return isGoing || hasDirectFolder(step, folder);
    if (stat === undefined) continue;
    block(step, stat.kind === "symlink" ? "outside" : "no-folder", `${JSON.stringify(folder)} is no folder`);
    return false;
  }
  return isGoing || hasDirectFolder(step, ROOT);
}

/**
 * True if the path lies directly in `folder`, which is the innermost folder above the path that exists or will be made.
 * Otherwise blocks the step.
 */
function hasDirectFolder(step: Step, folder: WorkspacePath): boolean {
  if (parentOf(step.inner) === folder) return true;
  block(step, "no-folder", "its folder is not there");
  return false;
}

function removesFolder(step: Step): boolean {
  return step.present?.kind === "dir" && (step.todo === "remove" || step.clear);
}

/** Blocks the removal of a folder, unless all of the folder's contents are removed, too. */
function checkEmptied(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): void {
  try {
    const held = heldBy(
      step.root.fs.list(step.inner).map(({ name: bytes }) => {
        const name = decodeName(bytes);
        const child = planned.get(childOf(step.path, name));
        const blocked = child?.blocked;
        // Files that an interrupted apply staged in this folder are removed with the folder.
        const goes = isStagedBeside(name) || (child?.todo === "remove" && blocked === undefined);
        return { name, goes, blocked };
      }),
    );
    if (held !== undefined) step.blocked ??= held;
  } catch (error) {
    blockFor(step, error);
  }
}

/**
 * Blocks a step in a blocked folder in two cases:
 *
 * - The folder is missing, and will not be made.
 * - The folder is not recorded yet. Even if somebody else has made the folder meanwhile, the history cannot hold its
 *   contents without the folder itself.
 */
function blockWithParent(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): void {
  const above = planned.get(parentOf(step.path));
  if (above?.blocked === undefined || step.blocked !== undefined || step.after === undefined) return;
  const isMissing = step.todo === "create" && above.present?.kind !== "dir";
  if (isMissing || above.before?.kind !== "dir")
    block(step, above.blocked.reason, `its folder is blocked: ${above.blocked.detail}`);
}

/**
 * Blocks the removal or replacement of a folder that holds a blocked path. Also blocks a removal that is already done.
 * In that case, somebody may have exchanged the folder just before the apply removed it.
 */
function blockWithChild(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): void {
  const above = planned.get(parentOf(step.path));
  if (step.blocked === undefined || step.before === undefined) return;
  if (above === undefined || above.blocked !== undefined || above.after?.kind === "dir") return;
  block(above, step.blocked.reason, `it holds ${JSON.stringify(nameOf(step.path))}: ${step.blocked.detail}`);
}

/**
 * Blocks a folder and its contents together if the history would otherwise hold one without the other. Requires steps
 * in path order. Called by the check, and once more after the last step, because somebody may have exchanged a folder
 * meanwhile.
 */
export function blockTogether(
  steps: readonly Step[],
  planned: ReadonlyMap<WorkspacePath, Step> = new Map(steps.map((step) => [step.path, step])),
): void {
  for (const step of steps.toReversed()) blockWithChild(step, planned);
  for (const step of steps) blockWithParent(step, planned);
}
