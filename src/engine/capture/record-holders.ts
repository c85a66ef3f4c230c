import type { Change } from "../../core/values/change.ts";
import type { Entry } from "../../core/values/entry.ts";
import { childOf, foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { capture } from "./capture.ts";
import type { Context } from "../log/context.ts";
import { isHosted } from "../log/hosted.ts";
import type { SkippedPath } from "./seen-absent.ts";

/** The result of recording the folders. */
export interface RecordedHolders {
  /** The changes, from what is recorded now. */
  readonly changes: readonly Change[];
  /** The paths whose folder could not be recorded. */
  readonly skipped: readonly SkippedPath[];
}

/**
 * Records the folders that are on disk, kept out by a rule, and about to get something that is recorded, or to be made themselves: what is
 * recorded lies in recorded folders. Nothing else in them is recorded. `changes` are those that are meant.
 */
export async function recordHolders(context: Context, changes: readonly Change[]): Promise<RecordedHolders> {
  if (isHosted(context.worktree.roots)) return { changes, skipped: [] };
  const before = await inUnrecorded(context, changes);
  const there = await unrecordedOf(context, foldersMadeBy(changes));
  if (before.length + there.length === 0) return { changes, skipped: [] };
  const stats = await context.worktree.stats(before.map(({ path }) => path));
  // A state that is already at the path is not recorded here.
  const free = before.filter((_, i) => stats[i] === undefined).map(({ path }) => path);
  // A capture takes the folders on the way to a path at which nothing is: of the folder itself it would take all that it holds.
  const only = [...free, ...there.map((folder) => childOf(folder, context.newId()))];
  await capture(context, { cause: "capture", reserve: true, only, named: true, holders: true });
  const detail = "its folder is there, and is not recorded";
  const rows = await context.index.iterationsAt(there, (await context.index.head()).seq);
  return {
    changes: from(changes, new Map(there.map((folder, i) => [folder, rows[i]?.entry]))),
    skipped: (await inUnrecorded(context, before)).map(({ path }) => ({ path, reason: "no-folder", detail })),
  };
}

/** The changes as they will be once the folders are recorded that they make and that are on disk: a dry run records nothing. */
export async function withHolders(context: Context, changes: readonly Change[]): Promise<readonly Change[]> {
  if (isHosted(context.worktree.roots)) return changes;
  const there = await unrecordedOf(context, foldersMadeBy(changes));
  const now = new Map<WorkspacePath, Entry | undefined>();
  for (const folder of there) now.set(folder, await context.worktree.inspect(folder));
  return from(changes, now);
}

/** The changes, of which some begin with another state. */
function from(changes: readonly Change[], states: ReadonlyMap<WorkspacePath, Entry | undefined>): readonly Change[] {
  if (states.size === 0) return changes;
  return changes.flatMap((one) => {
    const before = states.get(one.path);
    return before === undefined ? [one] : (changeBetween(one.path, before, one.after) ?? []);
  });
}

function foldersMadeBy(changes: readonly Change[]): WorkspacePath[] {
  return changes.filter(({ before, after }) => before === undefined && after?.kind === "dir").map(({ path }) => path);
}

/** Returns the paths that are folders on disk and not recorded. */
async function unrecordedOf(context: Context, folders: readonly WorkspacePath[]): Promise<WorkspacePath[]> {
  if (folders.length === 0) return [];
  const recorded = await context.index.iterationsAt(folders, (await context.index.head()).seq);
  const unknown = folders.filter((_, i) => recorded[i]?.entry === undefined);
  const stats = await context.worktree.stats(unknown);
  return unknown.filter((_, i) => {
    const stat = stats[i];
    return typeof stat === "object" && stat.kind === "dir";
  });
}

/** The paths to be made whose folder is on disk, and neither recorded nor made with them. */
async function inUnrecorded(context: Context, changes: readonly Change[]): Promise<Change[]> {
  const made = new Set(changes.filter(({ after }) => after?.kind === "dir").map(({ path }) => path));
  const within = Map.groupBy(
    changes.filter(({ before, after }) => before === undefined && after !== undefined),
    ({ path }): WorkspacePath | undefined => foldersAbove(path).find(() => true),
  );
  const folders = [...within.keys()].filter((folder) => folder !== undefined).filter((folder) => !made.has(folder));
  return (await unrecordedOf(context, folders)).flatMap((folder) => within.get(folder) ?? []);
}
