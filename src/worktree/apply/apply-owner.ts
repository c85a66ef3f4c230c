import { errnoOf } from "../../core/values/errors.ts";
import { parentOf } from "../../core/values/path.ts";
import type { Disk, FileStat, Owner } from "../../disk/disk.ts";
import type { OpenedFile } from "../files/confined-fs.ts";
import type { Step } from "./apply-step.ts";
import type { Wanted } from "./apply-workers.ts";

/**
 * To whom what was made for a step is to be given; `undefined`: it belongs to them. A file that replaces one belongs to who had that.
 * What root makes anew belongs to the owner of the folder that receives it: nothing records whose it was, and a user who
 * had Chronicle run as root once could not read it otherwise.
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

/** Gives an open file, or an empty folder, to its owner. Where that is not permitted, the step notes who had what it replaces. */
export function giveToOwner(disk: Disk, step: Step, { fd }: OpenedFile): boolean {
  const owner = ownerFor(step, disk.fstat(fd));
  if (owner === undefined) return false;
  if (!disk.give(fd, owner) && replacedOwner(step) !== undefined) step.lostOwner = owner;
  return true;
}

/** The same of a file that others have written. */
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
    // It may not be read, by who has made it either.
    if (errnoOf(error) !== "EACCES") throw error;
    step.lostOwner = replacedOwner(step);
  }
}

/** The same of all that were written. */
export function giveWritten(disk: Disk, wanted: Wanted): void {
  for (const steps of wanted.values()) for (const step of steps) giveStaged(disk, step);
}
