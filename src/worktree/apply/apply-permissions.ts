import { errnoOf } from "../../core/values/errors.ts";
import { parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { block, blockFor, type Step } from "./apply-step.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";

/** Blocks the steps of which the system says beforehand that they cannot be done. After `checkSteps`. */
export function checkPermissions(steps: readonly Step[]): void {
  for (const step of steps) {
    if (step.blocked !== undefined || step.todo === "nothing") continue;
    try {
      if (isMountPoint(step) || isMountedAbove(step)) block(step, "busy", "another file system is mounted there");
      else checkFolder(step.root.fs, innermost(step));
    } catch (error) {
      blockFor(step, error);
    }
  }
}

/** The folder in which a name would be changed; of a folder that is yet to be made the one that holds it. */
function innermost({ root: { fs }, inner }: Step): WorkspacePath {
  let folder = parentOf(inner);
  while (folder !== ROOT && fs.lstat(folder)?.kind !== "dir") folder = parentOf(folder);
  return folder;
}

function isMountPoint({ root: { fs }, inner, present, todo }: Step): boolean {
  if (present === undefined || todo === "chmod") return false;
  return fs.lstat(parentOf(inner))?.dev !== present.dev;
}

/** Does the file lie on another file system than its root? Nothing staged for the root can be renamed into place there. */
function isMountedAbove(step: Step): boolean {
  const { fs } = step.root;
  return fs.lstat(innermost(step))?.dev !== fs.lstat(ROOT)?.dev;
}

/** A folder whose owner has not the permission is opened for the moment, if it is one's own (see `LooseModes`). */
function checkFolder(fs: ConfinedFs, folder: WorkspacePath): void {
  try {
    fs.checkWrite(folder);
  } catch (error) {
    const mode = fs.lstat(folder)?.mode ?? 0;
    if (errnoOf(error) !== "EACCES" || (mode & OWNERS) === OWNERS) throw error;
  }
}

const OWNERS = 0o700;
