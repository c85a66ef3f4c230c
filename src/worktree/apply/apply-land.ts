import {
  type WorkspacePath,
  childOf,
  nameOf,
  parentOf,
  pathInRoot,
  pathToBytes,
  decodeName,
} from "../../core/values/path.ts";
import { type Step, type Blocked, block, blockFor, holdUnits, type ApplyRoot } from "./apply-step.ts";
import { errnoOf, codedError } from "../../core/values/errors.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { inFolder, removalsWith } from "./apply-check.ts";
import { isOneName } from "../../core/tree/find-collisions.ts";
import { foldsNames } from "../../core/tree/folder-traits.ts";
import { hashFile } from "../files/inspect.ts";
import { removeLeftFolder } from "../files/remove-staged.ts";
import { loosened, type LooseModes } from "./loose-modes.ts";
import { isCertain, isRacy, isSameContent, isSameStat } from "../files/same-stat.ts";
import { sha256 } from "../../core/values/hash.ts";
import { addAll } from "../../util/long-lists.ts";

export interface LandContext {
  readonly disk: Disk;
  readonly steps: readonly Step[];
  readonly token: string;
  readonly modes: LooseModes;
  readonly nowNs: () => bigint;
  readonly conflicts: { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
  /** Functions that undo the landed steps (the steps that are already done on disk), to be called in reverse order. */
  readonly undo: (() => void)[];
  /**
   * The steps of each unit (a set of paths that change together) that was undone because one of its steps failed. The
   * names that the undo restored must still be made durable.
   */
  readonly givenBack: Step[];
}

/** Errnos of `link` on a file system without hard links, or for a file that has too many links. */
const NO_LINKS: ReadonlySet<string> = new Set(["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Links old files into the trash early, so that a missing permission is reported before the first change. */
export function setAside(context: LandContext): void {
  for (const step of context.steps) {
    if (!isLive(step) || !takesAway(step) || step.present?.kind === "dir") continue;
    try {
      linkAside(step);
    } catch (error) {
      blockFor(step, error);
    }
  }
}

/**
 * Puts all files of a unit (an SQLite database) into place, or none. Blocks the unit if a file differs from the state
 * that the check found. If a step fails, undoes the earlier steps of the unit. Removals come first, so that no old file
 * of the unit lies beside its new files.
 */
export function landUnit(context: LandContext, unit: readonly Step[]): void {
  const from = context.undo.length;
  for (const step of unit) if (!isAsChecked(step)) block(step, "changed", "it was written meanwhile");
  holdUnits([unit]);
  const order = [...unit.filter((step) => step.todo === "remove"), ...unit.filter((step) => step.todo !== "remove")];
  for (const step of order) {
    if (step.todo === "remove") remove(context, step);
    else land(context, step);
    if (step.blocked !== undefined) break;
  }
  if (!unit.some((step) => step.blocked !== undefined)) return;
  for (const undo of context.undo.splice(from).toReversed()) {
    try {
      undo();
    } catch (error) {
      // The step cannot be undone, for example because somebody has changed the path. The step stays done and is
      // reported as applied.
      if (errnoOf(error) === undefined) throw error;
    }
  }
  holdUnits([unit]);
  addAll(context.givenBack, unit);
}

/**
 * True if a path has the state that the check found, or is already in place because its folder was renamed into place.
 */
function isAsChecked({ root, inner, present, carrier, todo }: Step): boolean {
  if (carrier !== undefined) return true;
  try {
    const now = root.fs.lstat(inner);
    // `lstat` may have found an entry of another name, which the disk takes for this name.
    if (present === undefined && foldsNames(root.traits) && !root.fs.isNamedSo(inner)) return true;
    return now === undefined || present === undefined ? now === present : isSameContent(present, now);
  } catch (error) {
    // When the step runs, it reports the error. A step with nothing to do never runs, so its path counts as changed.
    if (errnoOf(error) === undefined) throw error;
    return todo !== "nothing";
  }
}

function isLive(step: Step): boolean {
  return step.blocked === undefined && step.todo !== "nothing";
}

function takesAway(step: Step): boolean {
  return step.todo === "replace" || step.todo === "remove" || step.clear;
}

function aside(step: Step): WorkspacePath {
  return step.root.staging.oldPath(String(step.index));
}

function removedTo(step: Step): WorkspacePath {
  return step.root.staging.oldPath(`${step.index}.r`);
}

function linkAside(step: Step): void {
  const { fs, staging } = step.root;
  try {
    fs.link(step.inner, aside(step), staging.trash);
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    if (NO_LINKS.has(errno) || (errno === "EPERM" && !staging.hasLinks())) return;
    throw error;
  }
}

/**
 * Puts one step into place. Blocks the step if its path was changed meanwhile, or if the disk reports an expected error
 * (see `blockFor`). Rethrows any other error.
 */
export function land(context: LandContext, step: Step): void {
  if (!isLive(step) || step.landed) return;
  try {
    loosened(context.modes, step, () => landOne(context, step));
    step.landed = step.blocked === undefined;
  } catch (error) {
    blockFor(step, error);
  }
  if (step.blocked !== undefined) putBackAlias(context, step, step.blocked);
}

/**
 * Puts an alias (see `Step.alias`) and its contents back, because the name for which they were removed could not be
 * created. Blocks the steps of both names and of their contents.
 */
function putBackAlias(context: LandContext, step: Step, { reason, detail }: Blocked): void {
  if (step.alias === undefined) return;
  for (const gone of removalsWith(context.steps, step.alias)) {
    if (gone.landed) loosened(context.modes, gone, () => putBackRemoved(context, gone));
    block(gone, reason, detail);
  }
  for (const coming of inFolder(context.steps, step)) block(coming, reason, detail);
}

/** Puts a removed path back. A folder stays writable until its contents are also back. */
function putBackRemoved({ modes }: LandContext, step: Step): void {
  const { root, inner, present } = step;
  if (present?.kind !== "dir") return putBack(step, removedTo(step));
  root.fs.makeFolder(inner, present.mode | 0o700);
  modes.owe(root, inner, present.mode);
  step.landed = false;
}

function landOne(context: LandContext, step: Step): void {
  if (step.todo === "create") landNew(context, step);
  else if (step.todo === "replace") landReplaced(context, step);
  else if (step.todo === "chmod" && step.after?.kind === "file") landMode(context, step);
}

function landNew(context: LandContext, step: Step): void {
  const { fs } = step.root;
  // This path is staged inside a new folder. The rename of that folder puts this path into place, too.
  if (step.carrier !== undefined) {
    if (!step.carrier.landed) block(step, "changed", "its folder was not put into place");
    return;
  }
  if (step.staged === undefined) return;
  if (step.after?.kind === "dir") {
    if (isTaken(step)) throw taken();
    step.stagedIn.rename(step.staged, step.inner, fs);
  } else {
    moveToFree(step, step.staged);
    lookAtLanded(step);
  }
  context.undo.push(() => undoCreation(context, step));
}

/** Reads the stat of a file again after the file was put into place, because a rename changes the ctime. */
function lookAtLanded(step: Step): void {
  const staged = step.stat;
  step.stat = step.root.fs.lstat(step.inner);
  step.isCertain = staged !== undefined && step.stat !== undefined && isCertain(staged, step.stat);
}

/** Gives a staged file its name. Throws `EEXIST` if that name is taken by now. */
function moveToFree(step: Step, staged: WorkspacePath): void {
  const { stagedIn } = step;
  const { fs } = step.root;
  try {
    stagedIn.link(staged, step.inner, fs);
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    if (!NO_LINKS.has(errno) && errno !== "EPERM") throw error;
    if (isTaken(step)) throw taken();
    stagedIn.renameFile(staged, step.inner, fs);
    return;
  }
  try {
    stagedIn.unlink(staged);
  } catch (error) {
    // The file already has its final name. The staged name is removed when the staging folder is emptied.
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * True if the step's name is taken by now. If the step has an alias, the listing of the folder decides: for a moment,
 * the system may still find the removed alias under the new name.
 */
function isTaken({ root: { fs, traits }, inner, alias }: Step): boolean {
  if (alias === undefined) return fs.lstat(inner) !== undefined;
  return fs.list(parentOf(inner)).some(({ name }) => isOneName(decodeName(name), nameOf(inner), traits.names));
}

function taken(): Error {
  return Object.assign(new Error("the name is taken"), { code: "EEXIST" });
}

function landReplaced(context: LandContext, step: Step): void {
  const { fs, staging } = step.root;
  if (step.staged === undefined) return;
  const kept = ensureAside(context, step);
  if (step.blocked !== undefined) return;
  try {
    step.stagedIn.renameFile(step.staged, step.inner, fs);
  } catch (error) {
    // On a file system without hard links, the old file is now only in the trash.
    if (fs.lstat(step.inner) === undefined) tryPutBack(step, aside(step));
    throw error;
  }
  lookAtLanded(step);
  const after = staging.trash.lstat(aside(step));
  if (kept !== undefined && after !== undefined && !isStill(context, step, kept, after))
    keepOrPutBack(context, step, aside(step));
  if (step.blocked !== undefined) return;
  context.undo.push(() => putBack(step, aside(step)));
}

/**
 * Keeps a file from the trash as a conflict copy beside its path, because somebody has edited the file meanwhile. If no
 * copy can be made, gives the file its name back and blocks the step. Throws the disk's error if neither is possible.
 */
function keepOrPutBack(context: LandContext, step: Step, from: WorkspacePath): void {
  try {
    const copy = keepConflict(context, step, from);
    context.undo.push(() => dropCopy(context, step, copy));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    tryPutBack(step, from);
    // The trash still has the only copy. The error stops the apply before staging is emptied. The apply is finished
    // later, as after a crash.
    if (step.root.staging.trash.lstat(from) !== undefined) throw codedError(error);
    block(step, "changed", "it was written meanwhile");
  }
}

/** Like `putBack`, but ignores errors of the disk. The caller must check whether the file has left the trash. */
function tryPutBack(step: Step, from: WorkspacePath): void {
  try {
    putBack(step, from);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * Makes sure that the trash has the file to be replaced. Returns the file's stat. Blocks the step if the file is gone
 * or changed.
 */
function ensureAside(context: LandContext, step: Step): FileStat | undefined {
  const { fs, staging } = step.root;
  const now = fs.lstat(step.inner);
  let kept = staging.trash.lstat(aside(step));
  if (now === undefined) {
    block(step, "changed", "it is gone");
    return undefined;
  }
  if (kept !== undefined && (kept.ino !== now.ino || kept.dev !== now.dev)) {
    // An editor has saved by a rename, so the file at the path is no longer the file in the trash.
    staging.trash.unlink(aside(step));
    kept = undefined;
  }
  if (kept === undefined) {
    linkAside(step);
    kept = staging.trash.lstat(aside(step));
  }
  const seen = kept ?? now;
  const same = step.present !== undefined && isStill(context, step, step.present, seen);
  if (!same) block(step, "changed", "it was written meanwhile");
  if (same && kept === undefined) moveAside(step);
  return seen;
}

/**
 * Moves the old file into the trash, on a file system without hard links. The path is missing until the new file is
 * renamed to the path. If the apply is interrupted before that rename, a resumed apply accepts the missing path (see
 * `mayBeGone`).
 */
function moveAside(step: Step): void {
  step.root.fs.renameFile(step.inner, aside(step), step.root.staging.trash);
}

/** True if the file was not written since the earlier stat. Compares the bytes if the times could hide a write. */
function isStill(context: LandContext, step: Step, earlier: FileStat, now: FileStat): boolean {
  const isTold = step.isKnown || (step.root.traits.ctime && !isRacy({ ...now, ctimeNs: now.mtimeNs }, context.nowNs()));
  if (isTold && isSameContent(earlier, now)) return true;
  const trash = step.root.staging.trash;
  const path = trash.lstat(aside(step)) === undefined ? removedTo(step) : aside(step);
  const there = trash.lstat(path);
  if (there === undefined) return isSameContent(earlier, now);
  if (there.kind !== step.before?.kind) return false;
  if (there.kind === "symlink") return sha256(trash.readlink(path)) === step.before.hash;
  const read = hashFile(trash, path);
  return read.kind === "read" && !read.unstable && read.hash === step.before.hash;
}

function landMode(context: LandContext, step: Step): void {
  const { fs } = step.root;
  const { present, after } = step;
  if (present === undefined || after === undefined) return;
  using file = fs.openRead(step.inner);
  const now = fs.fstat(file);
  if (now.ino !== present.ino || now.kind !== "file") {
    block(step, "changed", "another file has its name");
    return;
  }
  if (!isSameContent(present, now)) {
    block(step, "changed", "it was written meanwhile");
    return;
  }
  context.undo.push(() => {
    const there = fs.lstat(step.inner);
    if (there?.ino !== present.ino || there.dev !== present.dev) return;
    fs.chmod(step.inner, present.mode, "file");
    step.landed = false;
  });
  context.disk.chmod(file.fd, after.mode);
  context.disk.sync(file.fd);
  step.stat = fs.fstat(file);
}

/**
 * Moves a file or link to the trash. Removes a folder, together with the files that an interrupted apply has staged in
 * the folder. If the folder holds anything else, blocks the step.
 */
export function remove(context: LandContext, step: Step): void {
  if (!isLive(step)) return;
  try {
    loosened(context.modes, step, () => removeOne(context, step));
    if (step.todo === "remove") step.landed = step.blocked === undefined;
  } catch (error) {
    blockFor(step, error);
  }
}

function removeOne(context: LandContext, step: Step): void {
  const { fs, staging } = step.root;
  const { present } = step;
  const now = fs.lstat(step.inner);
  if (present === undefined || now === undefined) return;
  if (now.ino !== present.ino || now.dev !== present.dev || now.kind !== present.kind) {
    block(step, "changed", "another file has its name");
    return;
  }
  if (present.kind === "dir") {
    removeLeftFolder(fs, step.inner);
    context.undo.push(() => putBackRemoved(context, step));
    return;
  }
  fs.renameFile(step.inner, removedTo(step), staging.trash);
  const moved = staging.trash.lstat(removedTo(step));
  if (moved !== undefined && !isStill(context, step, present, moved)) keepOrPutBack(context, step, removedTo(step));
  if (step.blocked !== undefined) return;
  context.undo.push(() => putBack(step, removedTo(step)));
}

/**
 * Moves a file from the trash back to its path. Does nothing if the file is not in the trash, or if somebody else has
 * put or changed the entry at the path.
 */
function putBack(step: Step, from: WorkspacePath): void {
  const { fs, staging } = step.root;
  if (staging.trash.lstat(from) === undefined) return;
  const now = fs.lstat(step.inner);
  if (now !== undefined && !isOwn(step, now)) return;
  staging.trash.renameFile(from, step.inner, fs);
  step.landed = false;
}

/**
 * True if the path still has the file or link that the apply put there. If `isCertain` is set, an equal stat is enough
 * proof. Otherwise, the bytes are compared, because the stat may hide a write. The file may have been written before
 * the stat was taken, or afterwards within one tick of the clock.
 */
function isOwn({ root: { fs }, inner, after, stat, isCertain: showsWrites }: Step, now: FileStat): boolean {
  if (after?.hash === undefined || now.kind !== after.kind) return false;
  if (stat !== undefined && !isSameContent(stat, now)) return false;
  if (now.kind === "symlink") return sha256(fs.readlink(inner)) === after.hash;
  if (stat !== undefined && showsWrites && isSameStat(stat, now)) return true;
  const read = hashFile(fs, inner);
  // The mode of a new file may deny read access even to the process that made the file.
  if (read.kind === "unreadable") return stat !== undefined;
  return read.kind === "read" && !read.unstable && read.hash === after.hash;
}

/**
 * Undoes a creation. For a new folder, also undoes the paths that were renamed together with it. Leaves entries that
 * somebody else has changed or created meanwhile.
 */
function undoCreation(context: LandContext, step: Step): void {
  const { fs } = step.root;
  const carried = context.steps.filter((one) => one === step || one.carrier === step);
  for (const one of carried.toReversed()) {
    const now = fs.lstat(one.inner);
    if (now === undefined || one.blocked !== undefined) continue;
    if (now.kind === "dir" && one.after?.kind === "dir") removeLeftFolder(fs, one.inner);
    else if (isOwn(one, now)) fs.unlink(one.inner);
    one.landed = false;
  }
}

/** True if the step changed a name in its folder. */
export function changesNames(step: Step): boolean {
  return step.landed && step.carrier === undefined && step.todo !== "chmod";
}

interface ConflictList {
  readonly token: string;
  readonly conflicts: { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
}

/** The maximum length, in bytes, of a file name on Linux and macOS. */
const MAX_NAME_BYTES = 255;

/**
 * Keeps a file from the trash as a conflict copy, because somebody wrote the file at the last moment. Gives the file a
 * free name beside its path, and returns the path of the copy. Uses a folder further up if the path's own folder is
 * gone or takes no new name. If no folder takes a new name, throws the disk's error and leaves the file in the trash.
 */
function keepConflict(list: ConflictList, step: Step, trashed: WorkspacePath): WorkspacePath {
  const { fs, root } = step.root;
  for (let folder = parentOf(step.inner); ; folder = parentOf(folder)) {
    if (folder !== "" && fs.lstat(folder)?.kind !== "dir") continue;
    try {
      const kept = copyInto(folder, { list, step, trashed });
      list.conflicts.push({ path: step.path, keptAt: pathInRoot(root.id, kept) });
      return kept;
    } catch (error) {
      if (errnoOf(error) === undefined || folder === "") throw error;
    }
  }
}

/** Removes a conflict copy after its step was undone, if the copy is a second name of the file at the step's path. */
function dropCopy({ conflicts }: ConflictList, { root: { fs, root }, inner }: Step, copy: WorkspacePath): void {
  const [now, kept] = [fs.lstat(inner), fs.lstat(copy)];
  if (now === undefined || kept === undefined || now.ino !== kept.ino || now.dev !== kept.dev) return;
  fs.unlink(copy);
  const keptAt = pathInRoot(root.id, copy);
  const at = conflicts.findIndex((one) => one.keptAt === keptAt);
  if (at >= 0) conflicts.splice(at, 1);
}

interface Copying {
  readonly list: ConflictList;
  readonly step: Step;
  readonly trashed: WorkspacePath;
}

function copyInto(folder: WorkspacePath, { list, step, trashed }: Copying): WorkspacePath {
  const { fs, staging } = step.root;
  for (let n = 1; ; n += 1) {
    const mark = `.conflict-${list.token.slice(-8).toLowerCase()}${n === 1 ? "" : `-${n}`}`;
    const kept = childOf(folder, `${cutTo(MAX_NAME_BYTES - mark.length, nameOf(step.inner))}${mark}`);
    if (fs.lstat(kept) !== undefined) continue;
    try {
      staging.trash.link(trashed, kept, fs);
    } catch (error) {
      if (errnoOf(error) === "EEXIST") continue;
      staging.trash.renameFile(trashed, kept, fs);
    }
    return kept;
  }
}

/** The maximum length, in bytes, of the extension that a shortened name keeps. */
const MAX_ENDING_BYTES = 32;

/**
 * Shortens a name to at most `bytes` bytes, without splitting a character. Keeps the beginning of the name, and the
 * extension, because secrets are recognised by their extension.
 */
function cutTo(bytes: number, name: string): string {
  const dot = name.lastIndexOf(".");
  const ending = dot > 0 && pathToBytes(name.slice(dot)).length <= MAX_ENDING_BYTES ? name.slice(dot) : "";
  const characters = Array.from(name.slice(0, name.length - ending.length));
  while (pathToBytes(`${characters.join("")}${ending}`).length > bytes) characters.pop();
  return `${characters.join("")}${ending}`;
}

/**
 * Empties the trash of an interrupted apply. Removes a file if it belongs to no step, if its bytes are recorded, or if
 * its path still leads to the same file. Keeps any other file as a conflict copy, because somebody wrote that file at
 * the last moment.
 */
export function settleLeftovers(run: LandContext, root: ApplyRoot): void {
  const { staging } = root;
  if (!staging.exists()) return;
  run.modes.load(root);
  const steps = new Map(run.steps.filter((step) => step.root === root).map((step) => [String(step.index), step]));
  for (const name of staging.leftAside()) {
    const step = steps.get(name.replace(/\.r$/, ""));
    const path = staging.oldPath(name);
    if (step !== undefined && !isRecorded(step, path) && !hasName(step, path)) keepOrRestoreName(run, step, path);
    if (staging.trash.lstat(path) !== undefined) staging.trash.unlink(path);
  }
}

/**
 * Keeps the file as a conflict copy. If no folder takes a new name, but the file's own name is free, gives the file its
 * own name back. If the file stayed in the trash, every later change of the workspace would fail with the same error.
 */
function keepOrRestoreName(run: LandContext, step: Step, path: WorkspacePath): void {
  try {
    loosened(run.modes, step, () => keepConflict(run, step, path));
  } catch (error) {
    if (errnoOf(error) === undefined || !isFree(step)) throw error;
    loosened(run.modes, step, () => step.root.staging.trash.renameFile(path, step.inner, step.root.fs));
  }
}

/** True if the step's path is free, or has only an entry that the apply itself put there. */
function isFree(step: Step): boolean {
  const now = step.root.fs.lstat(step.inner);
  return now === undefined || isOwn(step, now);
}

function hasName(step: Step, path: WorkspacePath): boolean {
  const now = step.root.fs.lstat(step.inner);
  const kept = step.root.staging.trash.lstat(path);
  return now !== undefined && kept !== undefined && now.ino === kept.ino && now.dev === kept.dev;
}

function isRecorded(step: Step, path: WorkspacePath): boolean {
  const { trash } = step.root.staging;
  const hash = step.before?.hash;
  if (hash === undefined) return false;
  if (trash.lstat(path)?.kind === "symlink") return sha256(trash.readlink(path)) === hash;
  const read = hashFile(trash, path);
  return read.kind === "read" && !read.unstable && read.hash === hash;
}
