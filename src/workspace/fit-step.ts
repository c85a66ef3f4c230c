import type { Change } from "../core/change.ts";
import type { WorkspacePath } from "../core/path.ts";
import { comparePaths } from "../core/path.ts";
import type { BlockedPath } from "../worktree/worktree.ts";
import type { Context } from "./context.ts";
import { fitFolders, type Target, type Unmerged } from "./fit-folders.ts";
import { makeable } from "./operate.ts";

/** A step with its folders. */
export interface FittedStep {
  readonly changes: Change[];
  /** Paths that cannot come back: something else stands where their folder was. */
  readonly inTheWay: readonly BlockedPath[];
}

/**
 * The changes of a step, and of the folders around what comes back: where somebody has removed them, they come back as
 * well. Of the folders that are to go with it, those stay that hold what stays.
 */
export async function withFolders(
  context: Context,
  changes: readonly Change[],
  unrecorded: readonly Change[],
): Promise<FittedStep> {
  const own = new Set(changes.map((change) => change.path));
  const targets = new Map<WorkspacePath, Target>();
  for (const { path, before, after } of changes) targets.set(path, { present: before, target: after });
  const pending = new Map(unrecorded.map((change) => [change.path, change]));
  const unmerged = new Map<WorkspacePath, Unmerged>();
  await fitFolders(context, { targets, unmerged, pending });
  const blocked = [...unmerged.values()].filter(({ path, reason }) => own.has(path) && reason === "folder");
  const held = new Set(blocked.map(({ path }) => path));
  const folders = [...targets].flatMap(([path, { present, target }]): Change[] => {
    const isMade = present === undefined && target?.kind === "dir";
    const isGone = present?.kind === "dir" && target === undefined;
    return !own.has(path) && (isMade || isGone) ? [{ path, before: present, after: target }] : [];
  });
  const free = changes.filter(({ path }) => !held.has(path));
  return {
    changes: [...free, ...makeable(folders)].sort((a, b) => comparePaths(a.path, b.path)),
    inTheWay: blocked.map(({ path }) => ({
      path,
      reason: "no-folder",
      detail: "something else stands where its folder was",
    })),
  };
}
