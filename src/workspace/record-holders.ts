import type { Change } from "../core/change.ts";
import { foldersAbove, type WorkspacePath } from "../core/path.ts";
import { capture } from "./capture.ts";
import type { Context } from "./context.ts";
import { isHosted } from "./hosted.ts";
import type { SkippedPath } from "./seen-absent.ts";

/**
 * Records the folders that are on disk, kept out by a rule, and about to get something that is recorded: what is recorded lies in
 * recorded folders. Nothing else in them is recorded. Answers the paths whose folder could not be.
 */
export async function recordHolders(context: Context, changes: readonly Change[]): Promise<readonly SkippedPath[]> {
  if (isHosted(context.worktree.roots)) return [];
  const before = await inUnrecorded(context, changes);
  if (before.length === 0) return [];
  const stats = await context.worktree.stats(before.map(({ path }) => path));
  // What is at the path itself is nobody's to record.
  const only = before.filter((_, i) => stats[i] === undefined).map(({ path }) => path);
  await capture(context, { cause: "capture", reserve: true, only, named: true, holders: true });
  const detail = "its folder is there, and is not recorded";
  return (await inUnrecorded(context, before)).map(({ path }) => ({ path, reason: "no-folder", detail }));
}

/** The paths to be made whose folder is on disk, and neither recorded nor made with them. */
async function inUnrecorded(context: Context, changes: readonly Change[]): Promise<Change[]> {
  const made = new Set(changes.filter(({ after }) => after?.kind === "dir").map(({ path }) => path));
  const within = Map.groupBy(
    changes.filter(({ before, after }) => before === undefined && after !== undefined),
    ({ path }): WorkspacePath | undefined => foldersAbove(path).find(() => true),
  );
  const folders = [...within.keys()].filter((folder) => folder !== undefined).filter((folder) => !made.has(folder));
  const { seq } = await context.index.head();
  const recorded = await context.index.iterationsAt(folders, seq);
  const unknown = folders.filter((_, i) => recorded[i]?.entry === undefined);
  const stats = await context.worktree.stats(unknown);
  return unknown.flatMap((folder, i) => {
    const stat = stats[i];
    return typeof stat === "object" && stat.kind === "dir" ? (within.get(folder) ?? []) : [];
  });
}
