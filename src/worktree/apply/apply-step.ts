import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat, Owner } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { OpenRoot } from "../scan/scan.ts";
import type { Staging } from "./staging.ts";
import type { ApplyRequest, BlockReason, OnBlocked } from "../worktree.ts";
import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import { errnoOf } from "../../core/values/errors.ts";

export interface ApplyRoot extends OpenRoot {
  readonly staging: Staging;
}

/**
 * The action of a step. `create`: makes a missing path; with `clear`, first removes an entry of another kind.
 * `replace`: replaces a file or link. `chmod`: changes only the mode.
 */
export type Todo = "nothing" | "create" | "replace" | "chmod" | "remove";

export interface Blocked {
  readonly reason: BlockReason;
  readonly detail: string;
  /** True for a folder that still has contents, but only contents that were changed meanwhile. */
  readonly isMeanwhile?: boolean;
  /**
   * The path whose block is the reason for this block. Both paths are in one unit, which changes as a whole or not at
   * all.
   */
  readonly with?: WorkspacePath;
}

export interface Step {
  /**
   * The position of this change among all changes in path order. This number is the name of the step's files in
   * staging.
   */
  readonly index: number;
  readonly path: WorkspacePath;
  /** The path beneath the root. */
  readonly inner: WorkspacePath;
  readonly root: ApplyRoot;
  readonly before: Entry | undefined;
  /** The target entry, with the mode that is to be set on disk. */
  after: Entry | undefined;
  /** The mode that the step was asked to set: the mode in the request's `after`, without the bits of `mask`. */
  readonly asked: number | undefined;
  /** Mode bits that are never set, and that an existing folder keeps. */
  readonly mask: number;
  /** The stat that the check found at the path; `undefined` if the path is missing. */
  present: FileStat | undefined;
  /** True if `present` proves the content, because it equals a cached stat that cannot hide a later write. */
  isKnown: boolean;
  /** True if the check found that the path already equals `after`. */
  isAfter: boolean;
  todo: Todo;
  /** True if an entry of another kind must be removed first. */
  clear: boolean;
  /**
   * The step that removes another name, which the disk takes for this step's name. The removal must precede this step.
   */
  alias: Step | undefined;
  blocked: Blocked | undefined;
  /** The stat of the file that was staged for this path before the apply began. */
  early: FileStat | undefined;
  /** The path of the new file, link or folder in staging. */
  staged: WorkspacePath | undefined;
  /** The file system through which `staged` is reached. */
  stagedIn: ConfinedFs;
  /** The owner of the replaced file, if the new file could not be given to this owner. */
  lostOwner: Owner | undefined;
  /** The new folder in which this path is staged. The rename of that folder puts this path into place, too. */
  carrier: Step | undefined;
  /** The stat of the path's new state, after that state was staged or put into place. */
  stat: FileStat | undefined;
  /** True if the path is in place as staged, and its times will show every later change. */
  isCertain: boolean;
  /** True once the step is done on disk; false again after the step is undone. */
  landed: boolean;
}

/**
 * True if the block of this path forbids all changes. Exceptions:
 *
 * - With `skip`, a block forbids nothing.
 * - With `skip-changed`, the block of a path that was changed meanwhile forbids nothing.
 * - The block of a folder that cannot be removed because it is not empty forbids nothing.
 * - The block of an entry that the disk cannot hold forbids nothing.
 */
export function stopsAll(
  { blocked, after }: { readonly blocked: Blocked | undefined; readonly after: Entry | undefined },
  onBlocked: OnBlocked,
): boolean {
  if (blocked === undefined || onBlocked === "skip" || blocked.reason === "not-held") return false;
  if (isOfMeanwhile(blocked) && onBlocked === "skip-changed") return false;
  return blocked.reason !== "not-empty" || after !== undefined;
}

/** True if the path was changed meanwhile, or is a folder that still has contents that were changed meanwhile. */
function isOfMeanwhile({ reason, isMeanwhile }: Blocked): boolean {
  return reason === "changed" || isMeanwhile === true;
}

/**
 * Returns the block for a folder that cannot be removed, because a child remains; `undefined` if all children are
 * removed. Prefers to name a child that was not changed meanwhile.
 */
export function heldBy(
  children: Iterable<{ readonly name: string; readonly goes: boolean; readonly blocked: Blocked | undefined }>,
): Blocked | undefined {
  let found: Blocked | undefined;
  for (const { name, goes, blocked } of children) {
    if (goes) continue;
    const detail = `it holds ${JSON.stringify(name)}`;
    if (blocked === undefined || !isOfMeanwhile(blocked)) return { reason: "not-empty", detail };
    found ??= { reason: "not-empty", detail, isMeanwhile: true };
  }
  return found;
}

/** Returns the steps of each set of paths that change together. Leaves out sets with fewer than two steps. */
export function unitsOf(steps: readonly Step[], together: ApplyRequest["together"] = []): (readonly Step[])[] {
  if (together.length === 0) return [];
  const byPath = new Map(steps.map((step) => [step.path, step]));
  return together.map((paths) => paths.flatMap((path) => byPath.get(path) ?? [])).filter((unit) => unit.length > 1);
}

/** If one step of a set is blocked, blocks the other steps of the set that would still change something. */
export function holdUnits(units: readonly (readonly Step[])[]): void {
  for (const unit of units) {
    const blocked = unit.filter((step) => step.blocked !== undefined);
    const cause = blocked.find((step) => step.blocked?.with === undefined) ?? blocked[0];
    if (cause?.blocked === undefined) continue;
    const { reason, detail } = cause.blocked;
    const why = { reason, detail: oneUnitWith(cause.path, detail), with: cause.path };
    for (const step of unit) if (step.todo !== "nothing" && !step.landed) step.blocked ??= why;
  }
}

/** Blocks a step. If the step is already blocked, the first reason is kept. */
export function block(step: Step, reason: BlockReason, detail: string): void {
  step.blocked ??= { reason, detail };
}

const REASONS: Readonly<Record<string, BlockReason>> = {
  EACCES: "not-permitted",
  EPERM: "not-permitted",
  EROFS: "not-permitted",
  // This file system refuses the name, though other file systems accept it.
  EINVAL: "not-permitted",
  EILSEQ: "not-permitted",
  ENAMETOOLONG: "not-permitted",
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EFBIG: "no-space",
  EBUSY: "busy",
  // Another file system is mounted on a folder above the path.
  EXDEV: "busy",
  ETXTBSY: "busy",
  ENOTDIR: "outside",
  ELOOP: "outside",
  ENOENT: "changed",
  EEXIST: "changed",
  EISDIR: "changed",
  ENOTEMPTY: "not-empty",
};

/** Blocks a step for an expected error of the disk. Rethrows any other error. */
export function blockFor(step: Step, error: unknown): void {
  const errno = errnoOf(error);
  const reason = errno === undefined ? undefined : REASONS[errno];
  if (reason === undefined) throw error;
  block(step, reason, errno ?? "");
}

export function rootsOf(steps: readonly Step[]): ApplyRoot[] {
  return [...new Set(steps.map((step) => step.root))];
}

/** Closes the open folders before other tasks get a turn, because these tasks may rename the folders. */
export function releaseAll(steps: readonly Step[]): void {
  releaseRoots(rootsOf(steps));
}

/**
 * Like `releaseAll`, for callers that know the roots. This function is faster, because `releaseAll` visits every step.
 */
export function releaseRoots(roots: readonly ApplyRoot[]): void {
  for (const { fs, staging } of roots) {
    fs.release();
    staging.release();
  }
}
