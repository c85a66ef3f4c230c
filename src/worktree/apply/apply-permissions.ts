import { errnoOf } from "../../core/values/errors.ts";
import { parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { block, blockFor, type Step } from "./apply-step.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";

/** Blocks the steps that the system already refuses. Called after `checkSteps`. */
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

/** Returns the folder in which a name would be changed, or the innermost existing folder above it. */
function innermost({ root: { fs }, inner }: Step): WorkspacePath {
  let folder = parentOf(inner);
  while (folder !== ROOT && fs.lstat(folder)?.kind !== "dir") folder = parentOf(folder);
  return folder;
}

function isMountPoint({ root: { fs }, inner, present, todo }: Step): boolean {
  if (present === undefined || todo === "chmod") return false;
  return fs.lstat(parentOf(inner))?.dev !== present.dev;
}

/** True if the path lies on another file system than its root: nothing staged for the root can be renamed there. */
function isMountedAbove(step: Step): boolean {
  const { fs } = step.root;
  return fs.lstat(innermost(step))?.dev !== fs.lstat(ROOT)?.dev;
}

/**
 * Checks that the folder is writable. One's own folder without the write permission is opened for the moment (see
 * `LooseModes`).
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
