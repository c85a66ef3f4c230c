import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { comparePaths, foldersAbove, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import {
  modeOfPut,
  type ReadyDelete,
  type ReadyFolder,
  type ReadyMove,
  type ReadyPut,
  type ReadyWrite,
} from "./ready-write.ts";
import { settable } from "../capture/never-set.ts";
import { shownPath } from "../log/shape.ts";
import { tooLong, unwritable } from "./writable-path.ts";
import type { WriteState } from "./write-state.ts";

export interface PlanGround {
  readonly state: Pick<WriteState, "at" | "beneath">;
  /** The present time, in milliseconds since the epoch. */
  readonly now: number;
  /**
   * Returns true if a folder exists on disk at this path, so that it need not be made. Called only for a path that is
   * not recorded.
   */
  readonly isUnrecordedFolder: (path: WorkspacePath) => Promise<boolean>;
  /**
   * True if a capture has just recorded the folders above the written paths. A folder that is still not recorded then
   * cannot be recorded at all, so no file or folder may be made in this folder.
   */
  readonly areHoldersRecorded?: boolean | undefined;
  /**
   * Throws `ERASED` if a content of these files was erased. Otherwise, a move would make an erased content readable
   * again at the new path.
   */
  readonly refuseErased: (entries: readonly Entry[]) => Promise<void>;
}

/**
 * Returns the changes that a write makes, sorted by path. The list is empty if the state is already as the write asks.
 * Throws:
 *
 * - `PRECONDITION_FAILED` if the write's condition does not hold;
 * - `NOT_FOUND` if there is nothing to move or delete;
 * - `REFUSED` if a file or folder is in the way;
 * - `PATH_INVALID` if a moved path would be too long or too deep;
 * - `ERASED` if a content to be moved was erased.
 */
export async function planWrite(write: ReadyWrite, ground: PlanGround): Promise<Change[]> {
  const present = (await ground.state.at(write.path)).entry;
  checkCondition(write, present);
  const changes = await changesOf(write, present, ground);
  return changes.sort((a, b) => comparePaths(a.path, b.path));
}

async function changesOf(write: ReadyWrite, present: Entry | undefined, ground: PlanGround): Promise<Change[]> {
  switch (write.kind) {
    case "put":
      return planPut(write, present, ground);
    case "folder":
      return planFolder(write, present, ground);
    case "delete":
      return planDelete(write, present, ground);
    case "move":
      return planMove(write, present, ground);
  }
}

/** Throws `PRECONDITION_FAILED` if the condition of the write does not hold. */
function checkCondition({ path, ifMatch }: ReadyWrite, present: Entry | undefined): void {
  if (ifMatch === undefined) return;
  const holds =
    ifMatch === "none"
      ? present === undefined
      : present !== undefined && (ifMatch === "*" || [ifMatch].flat().includes(present.hash ?? ""));
  if (holds) return;
  const shown = shownPath(path);
  const hash = present === undefined ? null : (present.hash ?? "");
  const is = present === undefined ? "not there" : "not as expected";
  const why = ifMatch === "none" ? "is there already" : `is ${is}`;
  throw new ChronicleError("PRECONDITION_FAILED", `${JSON.stringify(shown)} ${why}: nothing was changed`, {
    hint: "read the path again, and base the write on its present state",
    data: { path: shown, hash },
  });
}

async function planPut(write: ReadyPut, present: Entry | undefined, ground: PlanGround): Promise<Change[]> {
  const { path, content, link } = write;
  if (present?.kind === "dir") throw refused(path, "is a folder", "delete it first, or choose another name");
  const mode = modeOfPut(write, present?.kind === "file" ? present.mode : undefined);
  const { hash, size } = content;
  const after: Entry = { path, kind: link ? "symlink" : "file", mode, size, mtimeMs: ground.now, hash };
  // A file that already has this content and mode stays as it is, even if the mode has the setuid bit. A file that is
  // written anew never gets the setuid bit.
  const change = sameEntry(present, after) ? undefined : changeBetween(path, present, settable(after));
  return change === undefined ? [] : [...(await foldersFor(path, ground)), change];
}

/** The mode of a new folder for which no permissions are given. */
const FOLDER_MODE = 0o755;

async function planFolder(
  { path, permissions }: ReadyFolder,
  present: Entry | undefined,
  ground: PlanGround,
): Promise<Change[]> {
  if (present?.kind === "dir" || (present === undefined && (await ground.isUnrecordedFolder(path)))) return [];
  if (present !== undefined) throw refused(path, "is there already, and is no folder", "choose another name");
  const after = folderEntry(path, permissions ?? FOLDER_MODE);
  return [...(await foldersFor(path, ground)), { path, before: undefined, after }];
}

async function planDelete({ path }: ReadyDelete, present: Entry | undefined, { state }: PlanGround): Promise<Change[]> {
  const going = await state.beneath(path);
  if (going.length === 0) throw notThere(path);
  if (present !== undefined && present.kind !== "dir") return [{ path, before: present, after: undefined }];
  return going.map((entry) => ({ path: entry.path, before: entry, after: undefined }));
}

async function planMove(
  { path, to, overwrite }: ReadyMove,
  present: Entry | undefined,
  ground: PlanGround,
): Promise<Change[]> {
  const { state } = ground;
  const going = await state.beneath(path);
  if (going.length === 0) throw notThere(path);
  if (to === path) return [];
  if (isWithin(to, path)) throw refused(path, "cannot be moved into itself", "choose a place outside it");
  const inTheWay = (await state.at(to)).entry;
  if (inTheWay?.kind === "dir") throw refused(to, "is a folder", "name the new path itself, not the folder for it");
  if (inTheWay !== undefined && !overwrite)
    throw refused(
      to,
      "is there already",
      "replace it with `--overwrite` (in a request: `overwrite`), or choose another name",
    );
  await ground.refuseErased(going);
  const changes = await foldersFor(to, ground);
  for (const entry of going) {
    const target = movedPath(entry.path, path, to);
    const before = target === to ? inTheWay : undefined;
    changes.push({ path: entry.path, before: entry, after: undefined });
    const moved = changeBetween(target, before, settable({ ...entry, path: target }));
    if (moved !== undefined) changes.push(moved);
  }
  // The old folder itself may be unrecorded, although files beneath it are recorded. The new folder is then recorded.
  if (present === undefined) changes.push({ path: to, before: inTheWay, after: folderEntry(to, FOLDER_MODE) });
  return changes;
}

/** Throws `PATH_INVALID` if the new path is too long or too deep. */
function movedPath(path: WorkspacePath, from: WorkspacePath, to: WorkspacePath): WorkspacePath {
  const target = (to + path.slice(from.length)) as WorkspacePath;
  const trouble = tooLong(target);
  if (trouble !== undefined) throw unwritable(target, trouble);
  return target;
}

/**
 * Returns the changes that make the missing folders above a path, the outermost first. Throws `REFUSED` if a file is
 * in the way, or a folder above exists and cannot be recorded.
 */
export async function foldersFor(
  path: WorkspacePath,
  ground: Pick<PlanGround, "state" | "isUnrecordedFolder" | "areHoldersRecorded">,
): Promise<Change[]> {
  const made: Change[] = [];
  for (const folder of foldersAbove(path)) {
    const { entry } = await ground.state.at(folder);
    // All folders above a recorded folder are recorded, too.
    if (entry?.kind === "dir") break;
    if (entry !== undefined) throw refused(folder, "is no folder", "choose another path, or delete it first");
    if (await ground.isUnrecordedFolder(folder)) {
      if (ground.areHoldersRecorded !== true) break;
      throw refused(folder, "exists on disk, but cannot be recorded", "choose another path, or delete it first");
    }
    made.push({ path: folder, before: undefined, after: folderEntry(folder, FOLDER_MODE) });
  }
  return made.reverse();
}

function folderEntry(path: WorkspacePath, mode: number): Entry {
  return { path, kind: "dir", mode, size: 0, mtimeMs: 0, hash: undefined };
}

function refused(path: WorkspacePath, why: string, hint: string): ChronicleError {
  const shown = shownPath(path);
  return new ChronicleError("REFUSED", `${JSON.stringify(shown)} ${why}: nothing was changed`, {
    hint,
    data: { path: shown },
  });
}

export function notThere(path: WorkspacePath): ChronicleError {
  const shown = shownPath(path);
  return new ChronicleError("NOT_FOUND", `there is nothing at ${JSON.stringify(shown)}`, {
    hint: "list the folder above to see what is there",
    data: { path: shown },
  });
}
