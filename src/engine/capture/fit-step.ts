import type { Change } from "../../core/values/change.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { comparePaths } from "../../core/values/path.ts";
import type { FittedChanges } from "./change-files.ts";
import type { Context } from "../log/context.ts";
import { fitFolders, type Target, type Unmerged } from "./fit-folders.ts";
import { makeable } from "./operate.ts";
import { refused } from "./refused.ts";
import type { SkippedPath } from "./seen-absent.ts";

/** Options for fitting a step. */
export interface FittingHow {
  /** Changes on disk that are not recorded. */
  readonly unrecorded: readonly Change[];
  /** True if the step is done whole or not at all. */
  readonly isWhole: boolean;
  /** True if the caller may name other paths; false for an undo. */
  readonly takesPaths: boolean;
}

/**
 * The changes of a step, and of the folders around what comes back: where somebody has removed them, they come back as
 * well. Of the folders that are to go with it, those stay that hold what stays. Throws `REFUSED`
 * where something else stands in place of a folder, and the step is to be done whole.
 */
export async function withFolders(
  context: Context,
  changes: readonly Change[],
  { unrecorded, isWhole, takesPaths }: FittingHow,
): Promise<FittedChanges> {
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
  const detail = "something else stands where its folder was";
  const skipped = blocked.map(({ path }): SkippedPath => ({ path, reason: "no-folder", detail }));
  if (isWhole && skipped.length > 0) throw refused(skipped, { takesPaths });
  return { changes: [...free, ...makeable(folders)].sort((a, b) => comparePaths(a.path, b.path)), skipped };
}
