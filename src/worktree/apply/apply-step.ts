import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat, Owner } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { OpenRoot } from "../scan/scan.ts";
import type { Staging } from "./staging.ts";
import type { BlockReason, OnBlocked } from "../worktree.ts";
import { errnoOf } from "../../core/values/errors.ts";

/** A root with the place where an apply stages files for it. */
export interface ApplyRoot extends OpenRoot {
  readonly staging: Staging;
}

/**
 * What a step does. `create`: makes what is not there (after `clear`, if something of another kind is). `replace`: a
 * file or link in place of one. `chmod`: only the mode.
 */
export type Todo = "nothing" | "create" | "replace" | "chmod" | "remove";

/** Why a path cannot be changed. */
export interface Blocked {
  readonly reason: BlockReason;
  readonly detail: string;
  /** A folder that is not empty only because of what was changed in it meanwhile. */
  readonly isMeanwhile?: boolean;
}

/** One change on its way. */
export interface Step {
  /** Its place among all changes in order: names its files in staging. */
  readonly index: number;
  readonly path: WorkspacePath;
  /** The path beneath the root. */
  readonly inner: WorkspacePath;
  readonly root: ApplyRoot;
  readonly before: Entry | undefined;
  /** With the mode that is to be set on disk. */
  after: Entry | undefined;
  /** The mode that `after` had when it was asked for. */
  readonly asked: number | undefined;
  /** Bits of the mode that are neither set nor taken away. */
  readonly mask: number;
  /** What was there when it was checked. */
  present: FileStat | undefined;
  /** It was found to be `after` already. */
  isAfter: boolean;
  todo: Todo;
  /** Something of another kind must go first. */
  clear: boolean;
  /** What stands under another name that the disk takes for this one, and must go first. */
  alias: Step | undefined;
  blocked: Blocked | undefined;
  /** Its new file was staged before the apply began. */
  early: FileStat | undefined;
  /** Where its new file lies in staging. */
  staged: WorkspacePath | undefined;
  /** The way to it. */
  stagedIn: ConfinedFs;
  /** To whom the replaced file belonged, where its new one could not be given to them. */
  lostOwner: Owner | undefined;
  /** The new folder that takes this path along when it is renamed into place: staged inside it. */
  carrier: Step | undefined;
  /** The state after it was staged or landed. */
  stat: FileStat | undefined;
  /** It is in place as it was staged, and a later change will show in its times. */
  isCertain: boolean;
  landed: boolean;
}

/** Is this path a reason to change nothing at all? A folder that merely stays is none, nor is what the disk cannot hold anyway. */
export function stopsAll(
  { blocked, after }: { readonly blocked: Blocked | undefined; readonly after: Entry | undefined },
  onBlocked: OnBlocked,
): boolean {
  if (blocked === undefined || onBlocked === "skip" || blocked.reason === "not-held") return false;
  if (isOfMeanwhile(blocked) && onBlocked === "skip-changed") return false;
  return blocked.reason !== "not-empty" || after !== undefined;
}

/** Was the path changed meanwhile, or something in the folder, so that it cannot go? */
function isOfMeanwhile({ reason, isMeanwhile }: Blocked): boolean {
  return reason === "changed" || isMeanwhile === true;
}

/** Why a folder cannot go that still holds these; `undefined`: all of them go. A name whose own block is not known stays. */
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

/** Says why a step is not done; the first reason stays. */
export function block(step: Step, reason: BlockReason, detail: string): void {
  step.blocked ??= { reason, detail };
}

const REASONS: Readonly<Record<string, BlockReason>> = {
  EACCES: "not-permitted",
  EPERM: "not-permitted",
  EROFS: "not-permitted",
  // What this file system calls no name, though another one does.
  EINVAL: "not-permitted",
  EILSEQ: "not-permitted",
  ENAMETOOLONG: "not-permitted",
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EFBIG: "no-space",
  EBUSY: "busy",
  // Another file system is mounted above it.
  EXDEV: "busy",
  ETXTBSY: "busy",
  ENOTDIR: "outside",
  ELOOP: "outside",
  ENOENT: "changed",
  EEXIST: "changed",
  EISDIR: "changed",
  ENOTEMPTY: "not-empty",
};

/** Blocks a step for what the disk said; anything that is trouble, not an answer, is thrown on. */
export function blockFor(step: Step, error: unknown): void {
  const errno = errnoOf(error);
  const reason = errno === undefined ? undefined : REASONS[errno];
  if (reason === undefined) throw error;
  block(step, reason, errno ?? "");
}

/** The roots of these steps. */
export function rootsOf(steps: readonly Step[]): ApplyRoot[] {
  return [...new Set(steps.map((step) => step.root))];
}

/** Before others get a turn: what is open may have another name afterwards. */
export function releaseAll(steps: readonly Step[]): void {
  releaseRoots(rootsOf(steps));
}

/** The same, where the roots are known: to find them, every step is looked at. */
export function releaseRoots(roots: readonly ApplyRoot[]): void {
  for (const { fs, staging } of roots) {
    fs.release();
    staging.release();
  }
}
