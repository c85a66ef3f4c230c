import type { Change } from "../core/change.ts";
import type { WorkspacePath } from "../core/path.ts";
import { comparePaths } from "../core/path.ts";
import type { Context } from "./context.ts";
import { fitFolders, type Target } from "./fit-folders.ts";
import { makeable } from "./operate.ts";

/**
 * The changes of a step, and of the folders around what comes back: where somebody has removed them, they come back as
 * well. Of the folders that are to go with it, those stay that hold what stays.
 */
export async function withFolders(
  context: Context,
  changes: readonly Change[],
  unrecorded: readonly Change[],
): Promise<Change[]> {
  const own = new Set(changes.map((change) => change.path));
  const targets = new Map<WorkspacePath, Target>();
  for (const { path, before, after } of changes) targets.set(path, { present: before, target: after });
  const pending = new Map(unrecorded.map((change) => [change.path, change]));
  await fitFolders(context, { targets, unmerged: new Map(), pending });
  const folders = [...targets].flatMap(([path, { present, target }]): Change[] => {
    const isMade = present === undefined && target?.kind === "dir";
    const isGone = present?.kind === "dir" && target === undefined;
    return !own.has(path) && (isMade || isGone) ? [{ path, before: present, after: target }] : [];
  });
  return [...changes, ...makeable(folders)].sort((a, b) => comparePaths(a.path, b.path));
}
