import type { Omission } from "../../core/records/coverage.ts";
import { gitFolderOf } from "../../core/filter/git-name.ts";
import { comparePaths, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { type Context, isHosted } from "../log/context.ts";

/**
 * The own state of a git repository (`.git`) is no part of the workspace. If `.git` were recorded, every later restore
 * would put an earlier `.git` back, and so rewind the branches. Before an action that is about to change `.git` (such
 * as `rm -rf .git`), all of `.git` is kept aside. Only the undo of that action restores the kept `.git`.
 */

/** The omission of a path that is git's own state. */
export const GIT_STATE = { reason: "excluded", detail: "git: .git" } as const;

/** Returns true if a path was omitted because it is git's own state. */
export function isGitState({ reason, detail = "" }: Pick<Omission, "reason" | "detail">): boolean {
  return reason === "excluded" && detail.startsWith("git:");
}

/** Returns the paths that are git's own state. Leaves out force-included paths. */
export async function gitPathsAmong(context: Context, paths: readonly WorkspacePath[]): Promise<WorkspacePath[]> {
  if (paths.length === 0 || isHosted(context.worktree.roots)) return [];
  const found: WorkspacePath[] = [];
  for (const path of gitByName(context, paths))
    if ((await context.worktree.explain(path)).rule === "git") found.push(path);
  return found;
}

/**
 * Returns the paths that are git's own state: those with the name `.git`, and those where a repository keeps its state.
 */
export function gitByName(context: Context, paths: readonly WorkspacePath[]): WorkspacePath[] {
  if (paths.length === 0) return [];
  const topOf = context.worktree.gitTops();
  return paths.filter((path) => gitFolderOf(path) !== undefined || topOf(path) !== undefined);
}

/** Returns the paths that lie beneath none of the others, sorted. */
export function outermost(paths: Iterable<WorkspacePath>): WorkspacePath[] {
  const found: WorkspacePath[] = [];
  for (const path of [...new Set(paths)].sort(comparePaths)) {
    const last = found.at(-1);
    if (last === undefined || !isWithin(path, last)) found.push(path);
  }
  return found;
}
