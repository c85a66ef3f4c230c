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

/** Input of the checks that run before the first change. */
export interface CheckContext {
  readonly steps: readonly Step[];
  readonly cache: StatCache;
  readonly resume: boolean;
  /** Paths that change together or not at all. */
  readonly together?: ApplyRequest["together"];
}

/**
 * Inspects every path before anything is changed, and decides what each step does or why it is blocked. Steps are in
 * path order, folders before their contents.
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
  else block(step, "changed", "it is not what it was");
}

/** Keeps the masked mode bits (never set by us) that a kept folder already has. */
function keepOwnBits(step: Step): void {
  const { present, after, mask } = step;
  if (present?.kind !== "dir" || after?.kind !== "dir") return;
  const kept = present.mode & mask;
  if (kept !== 0) step.after = { ...after, mode: after.mode | kept };
}

/**
 * Returns the stat of what has exactly this name. If the disk takes another name for this one, that name must go first
 * (`alias`) if its removal is planned; otherwise it blocks the step.
 */
function present(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): FileStat | undefined {
  const { fs, traits } = step.root;
  const found = fs.lstat(step.inner);
  // A root of a single file means that file even if its name is now spelled otherwise, as in a scan.
  const isRoot = step.root.root.only === step.inner;
  if (found === undefined || !foldsNames(traits) || isRoot || fs.isNamedSo(step.inner)) return found;
  if (step.after === undefined) return undefined;
  const name = listedName(step, found);
  const other = name === undefined ? undefined : planned.get(childOf(parentOf(step.path), name));
  if (other !== undefined && other.after === undefined) step.alias = other;
  else if (name !== undefined) block(step, "not-held", takenFor(name));
  // We cannot tell which name was found: it may be any of those that are to be removed.
  else for (const one of removedBeside(step, planned)) block(one, "not-held", takenFor(nameOf(step.path)));
  return undefined;
}

function takenFor(name: string): string {
  return `the disk takes it for ${JSON.stringify(name)}, which is there`;
}

/** The step itself and the removals in the same folder. */
function removedBeside(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): Step[] {
  const folder = parentOf(step.path);
  const beside = [...planned.values()].filter((one) => one.after === undefined && parentOf(one.path) === folder);
  return [step, ...beside];
}

/** Returns the name under which the folder lists the file that `lstat` finds by the step's name. */
function listedName({ root: { fs, traits }, inner }: Step, found: FileStat): string | undefined {
  const folder = parentOf(inner);
  const names = fs.list(folder).map(({ name }) => decodeName(name));
  const isFound = (name: string): boolean => {
    const stat = fs.lstat(childOf(folder, name));
    return stat?.ino === found.ino && stat.dev === found.dev;
  };
  // Some disks make up inode numbers, others fold letters by tables of their own: try the names first, then the inodes.
  return names.find((name) => isOneName(name, nameOf(inner), traits.names)) ?? names.find(isFound);
}

/** Blocks all but the first of new names that the disk takes for the same name. */
function holdSecondNames(steps: readonly Step[]): void {
  for (const [root, own] of Map.groupBy(steps.filter(isCreated), (step) => step.root)) {
    if (!foldsNames(root.traits)) continue;
    const byPath = new Map(own.map((step) => [step.path, step]));
    for (const [first, ...others] of findCollisions(byPath.keys(), root.traits.names)) {
      for (const path of others) {
        const step = byPath.get(path);
        const why = `the disk takes it for ${JSON.stringify(nameOf(first ?? path))}, which comes too`;
        if (step !== undefined) block(step, "not-held", why);
      }
    }
  }
}

function isCreated({ todo, blocked }: Step): boolean {
  return todo === "create" && blocked === undefined;
}

/**
 * If a step replaces an alias (a name that the disk takes for its own), both change or neither does, with their
 * contents. Otherwise contents would vanish under one name and not appear under the other. Entries that the disk
 * cannot hold do not count.
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

/** The removals of a name and of all that lies in it, folders first. */
export function removalsWith(steps: readonly Step[], alias: Step): Step[] {
  return inFolder(steps, alias).filter(({ after }) => after === undefined);
}

/** Returns the step and the steps of its folder's contents. */
export function inFolder(steps: readonly Step[], step: Step): Step[] {
  const isFolder = step.present?.kind === "dir" || step.after?.kind === "dir";
  return isFolder ? steps.filter(({ path }) => isWithin(path, step.path)) : [step];
}

/** True if a resumed run finds the path missing because of the run itself, already `after`, or a folder whose mode may
 * be unfinished. */
function mayResume(context: CheckContext, step: Step): boolean {
  if (!context.resume) return false;
  const { present, after } = step;
  if (present === undefined) return mayBeGone(step);
  return (present.kind === "dir" && after?.kind === "dir") || isEntry(context, step, after);
}

/**
 * True if the interrupted run may have left nothing at the path. With hard links, a file is replaced by one rename, so
 * a missing file was removed by somebody else. Without them, the old file is renamed away first.
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

/** Called only after the present state was found to be `before` or `after`, so hashes need no second comparison. */
function isDone(step: Step, present: FileStat, after: Entry): boolean {
  if (present.kind !== after.kind || !hasMode(step, present, after)) return false;
  return after.kind === "dir" || step.isAfter || step.before?.hash === after.hash;
}

/** True if the path holds this entry. Notes a match with `after` in the step. */
function isEntry(context: CheckContext, step: Step, entry: Entry | undefined): boolean {
  const { present } = step;
  if (present === undefined || entry === undefined) return present === undefined && entry === undefined;
  if (present.kind !== entry.kind || !hasMode(step, present, entry)) return false;
  const same = present.kind === "dir" || hashOf(context, step, present, entry) === entry.hash;
  if (same && entry === step.after) step.isAfter = true;
  return same;
}

/** Links have no modes; some disks keep none at all. */
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

/** Errnos of `readlink` when a concurrent edit replaced the link, or a folder above it. */
const EXCHANGED: ReadonlySet<string> = new Set(["EINVAL", "ENOENT", "ENOTDIR", "ELOOP"]);

function targetHash({ root, inner }: Step): string | undefined {
  try {
    return sha256(root.fs.readlink(inner));
  } catch (error) {
    if (!EXCHANGED.has(errnoOf(error) ?? "")) throw error;
    return undefined;
  }
}

/** True if a real folder holds the path, or will. Blocks the step if not. */
function hasFolder(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): boolean {
  const { fs } = step.root;
  const isGoing = step.after === undefined;
  let path = step.path;
  for (const folder of foldersAbove(step.inner)) {
    path = parentOf(path);
    const above = planned.get(path)?.after;
    // If a removal finds the folder's replacement already there, the path was removed before it.
    if (above?.kind === "dir" || (isGoing && above !== undefined)) return true;
    const stat = fs.lstat(folder);
    if (stat?.kind === "dir") return isGoing || hasDirectFolder(step, folder);
    if (stat === undefined) continue;
    block(step, stat.kind === "symlink" ? "outside" : "no-folder", `${JSON.stringify(folder)} is no folder`);
    return false;
  }
  return isGoing || hasDirectFolder(step, ROOT);
}

/** `folder` is the innermost one that is there. */
function hasDirectFolder(step: Step, folder: WorkspacePath): boolean {
  if (parentOf(step.inner) === folder) return true;
  block(step, "no-folder", "its folder is not there");
  return false;
}

function removesFolder(step: Step): boolean {
  return step.present?.kind === "dir" && (step.todo === "remove" || step.clear);
}

/** A folder goes only when everything in it goes too. */
function checkEmptied(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): void {
  try {
    const held = heldBy(
      step.root.fs.list(step.inner).map(({ name: bytes }) => {
        const name = decodeName(bytes);
        const child = planned.get(childOf(step.path, name));
        const blocked = child?.blocked;
        // Files staged there by an interrupted apply are removed with the folder.
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
 * Blocks a step whose folder will not be made. Also blocks a step whose folder exists but is not recorded: somebody
 * made or exchanged that folder meanwhile, so its contents stay out of the record as long as it does.
 */
function blockWithParent(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): void {
  const above = planned.get(parentOf(step.path));
  if (above?.blocked === undefined || step.blocked !== undefined || step.after === undefined) return;
  const isMissing = step.todo === "create" && above.present?.kind !== "dir";
  if (isMissing || above.before?.kind !== "dir")
    block(step, above.blocked.reason, `its folder is blocked: ${above.blocked.detail}`);
}

/**
 * Blocks the removal of a folder that still holds something: the folder was only gone for a moment, as when somebody
 * exchanges it.
 */
function blockWithChild(step: Step, planned: ReadonlyMap<WorkspacePath, Step>): void {
  const above = planned.get(parentOf(step.path));
  if (step.blocked === undefined || step.before === undefined) return;
  if (above === undefined || above.blocked !== undefined || above.after?.kind === "dir") return;
  block(above, step.blocked.reason, `it holds ${JSON.stringify(nameOf(step.path))}: ${step.blocked.detail}`);
}

/**
 * Blocks folders and their contents together where the record would otherwise have one without the other. Steps are in
 * path order. Called again once all is in place, because only then may a folder turn out to be a different one.
 */
export function blockTogether(
  steps: readonly Step[],
  planned: ReadonlyMap<WorkspacePath, Step> = new Map(steps.map((step) => [step.path, step])),
): void {
  for (const step of steps.toReversed()) blockWithChild(step, planned);
  for (const step of steps) blockWithParent(step, planned);
}
