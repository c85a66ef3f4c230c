import { errnoOf } from "../../core/values/errors.ts";
import { parentOf } from "../../core/values/path.ts";
import type { Disk, FileStat, Owner } from "../../disk/disk.ts";
import type { OpenedFile } from "../files/confined-fs.ts";
import type { Step } from "./apply-step.ts";
import type { Wanted } from "./apply-workers.ts";

/**
 * Returns the owner to give a new file to, or `undefined` if it already belongs to them. A file that replaces another
 * gets that one's owner. A file that root makes anew gets the owner of its folder: no record says whose it was, and a
 * user who once ran Chronicle as root could not read it otherwise.
 */
export function ownerFor(step: Step, made: FileStat): Owner | undefined {
  const owner = replacedOwner(step) ?? (made.uid === 0 ? folderOwner(step) : undefined);
  return owner === undefined || (owner.uid === made.uid && owner.gid === made.gid) ? undefined : owner;
}

function replacedOwner({ todo, present, after }: Step): Owner | undefined {
  if (todo !== "replace" || present?.kind !== "file" || after?.kind !== "file") return undefined;
  return present.gid === undefined ? undefined : { uid: present.uid, gid: present.gid };
}

function folderOwner(step: Step): Owner | undefined {
  const { root, inner } = step.carrier ?? step;
  const folder = root.fs.lstat(parentOf(inner));
  if (folder?.gid === undefined || folder.uid === 0) return undefined;
  return { uid: folder.uid, gid: folder.gid };
}

/**
 * Gives an open file, or an empty folder, to its owner. If that is not permitted, notes the owner of the replaced file
 * in the step.
 */
export function giveToOwner(disk: Disk, step: Step, { fd }: OpenedFile): boolean {
  const owner = ownerFor(step, disk.fstat(fd));
  if (owner === undefined) return false;
  if (!disk.give(fd, owner) && replacedOwner(step) !== undefined) step.lostOwner = owner;
  return true;
}

/** Like `giveToOwner`, for a file that the workers have written. */
export function giveStaged(disk: Disk, step: Step): void {
  const { stat, staged, stagedIn } = step;
  if (stat === undefined || staged === undefined) return;
  const owner = ownerFor(step, stat);
  if (owner === undefined) return;
  try {
    using file = stagedIn.openRead(staged);
    giveToOwner(disk, step, file);
    step.stat = disk.fstat(file.fd);
  } catch (error) {
    // Even the process that made the file may not be allowed to read it.
    if (errnoOf(error) !== "EACCES") throw error;
    step.lostOwner = replacedOwner(step);
  }
}

/** Calls `giveStaged` for all that the workers were to write. */
export function giveWritten(disk: Disk, wanted: Wanted): void {
  for (const steps of wanted.values()) for (const step of steps) giveStaged(disk, step);
}
