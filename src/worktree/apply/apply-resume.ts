import type { LandContext } from "./apply-land.ts";
import type { ApplyRoot, Step } from "./apply-step.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import { keepConflict } from "./conflict-copy.ts";
import { hashFile } from "../files/inspect.ts";
import { loosened } from "./loose-modes.ts";

/**
 * Settles the files that an interrupted run has set aside. Drops the second name of bytes that are recorded or still
 * have their own name; keeps anything else as a conflict copy, since it was written at the last moment.
 */
export function settleLeftovers(run: LandContext, root: ApplyRoot): void {
  const { staging } = root;
  if (!staging.exists()) return;
  run.modes.load(root);
  const steps = new Map(run.steps.filter((step) => step.root === root).map((step) => [String(step.index), step]));
  for (const name of staging.leftAside()) {
    const step = steps.get(name.replace(/\.r$/, ""));
    const path = staging.oldPath(name);
    if (step !== undefined && !isRecorded(step, path) && !hasName(step, path)) keepOrGiveBack(run, step, path);
    if (staging.trash.lstat(path) !== undefined) staging.trash.unlink(path);
  }
}

/**
 * Keeps a copy beside the path. If no folder takes another name, gives the file its own name back, which needs no new
 * one: otherwise every later change of the workspace would fail here. The path is then reported as changed.
 */
function keepOrGiveBack(run: LandContext, step: Step, path: WorkspacePath): void {
  try {
    loosened(run.modes, step, () => keepConflict(run, step, path));
  } catch (error) {
    if (errnoOf(error) === undefined || !isFree(step)) throw error;
    loosened(run.modes, step, () => step.root.staging.trash.renameFile(path, step.inner, step.root.fs));
  }
}

/** True if the step's name is free, or holds only what the run itself put there. */
function isFree({ root: { fs }, inner, after }: Step): boolean {
  const now = fs.lstat(inner);
  if (now === undefined) return true;
  if (after?.hash === undefined || now.kind !== after.kind) return false;
  if (now.kind === "symlink") return sha256(fs.readlink(inner)) === after.hash;
  const read = hashFile(fs, inner);
  return read.kind === "read" && !read.unstable && read.hash === after.hash;
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
