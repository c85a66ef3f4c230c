import type { Change } from "../../core/values/change.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { gitFolderOf } from "../../core/filter/git-name.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import { outsidePath } from "../../core/records/outside-record.ts";
import { comparePaths, isWithin, pathInRoot, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { BlobBatch } from "../../storage/blob-store.ts";
import type { Context } from "../log/context.ts";
import { isHosted } from "../log/hosted.ts";
import { type QuotaOptions, refuseFileOverQuota } from "../log/quota.ts";
import { absoluteOf } from "../log/resolve-targets.ts";

/**
 * The own state of a git repository in a folder (`.git`) is no part of the workspace: a state of it that was recorded would
 * be put back by every later restore, and rewind branches. Where an action is about to change it (`rm -rf .git`), it is
 * kept aside whole, so that the undo of that action, and nothing else, brings it back.
 */

/** Git's own state that an action reaches, and how far the store may grow by it. */
export interface GitAsked {
  readonly tops: readonly WorkspacePath[];
  readonly quota?: QuotaOptions;
}

/** True if this omission, or this change of an omitted path, is git's own state. */
export function isGitState({ reason, detail = "" }: Pick<Omission, "reason" | "detail">): boolean {
  return reason === "excluded" && detail.startsWith("git:");
}

/** The paths of git's own state that are there, among those that are named and in folders that are named. */
export async function gitStateNamed(context: Context, paths: readonly WorkspacePath[]): Promise<WorkspacePath[]> {
  if (isHosted(context.worktree.roots) || paths.length === 0) return [];
  const stats = await context.worktree.stats(paths);
  const own = await gitPathsAmong(
    context,
    paths.filter((_, i) => stats[i] !== undefined),
  );
  const isFolder = (i: number): boolean => typeof stats[i] === "object" && stats[i].kind === "dir";
  const only = paths.filter((path, i) => isFolder(i) && !own.includes(path));
  if (only.length === 0) return own;
  const { omitted } = await context.worktree.scan({ only, named: true }, () => undefined);
  return [...own, ...omitted.filter(isGitState).map(({ path }) => path)];
}

/** Returns the paths that are git's own state. */
export async function gitPathsAmong(context: Context, paths: readonly WorkspacePath[]): Promise<WorkspacePath[]> {
  if (paths.length === 0 || isHosted(context.worktree.roots)) return [];
  const topOf = context.worktree.gitTops();
  const found: WorkspacePath[] = [];
  for (const path of paths) {
    const mayBe = gitFolderOf(path) !== undefined || topOf(path) !== undefined;
    if (mayBe && (await context.worktree.explain(path)).rule === "git") found.push(path);
  }
  return found;
}

/** Git's own state among what was kept aside. Folders are kept of nothing else, also where it is gone by now. */
export function gitAmongKept(context: Context, kept: Iterable<Pick<Entry, "path" | "kind">>): WorkspacePath[] {
  const all = [...kept];
  if (all.length === 0) return [];
  const topOf = context.worktree.gitTops();
  const isGits = ({ path, kind }: Pick<Entry, "path" | "kind">): boolean =>
    kind === "dir" || gitFolderOf(path) !== undefined || topOf(path) !== undefined;
  return all.filter(isGits).map(({ path }) => path);
}

/**
 * Returns the entries of git's own state at a path and beneath it, and puts their contents into the batch; or returns
 * why not all of it can be kept. Sockets and the like (such as that of git's daemon) hold nothing that could be kept.
 */
export async function keepGitState(
  context: Context,
  batch: BlobBatch,
  { top, quota = {} }: { readonly top: WorkspacePath; readonly quota?: QuotaOptions },
): Promise<Map<WorkspacePath, Entry> | Omission> {
  const base = outsidePath(absoluteOf(context, top));
  const look = await context.outside.look(base, {
    deep: true,
    whole: true,
    isInside: true,
    keep: async (pieces, { size }) => {
      await refuseFileOverQuota(context, { size, recorded: () => Promise.resolve(undefined) }, quota);
      return batch.putStream(pieces);
    },
  });
  const left = look.omitted.find(({ reason }) => reason !== "special");
  if (left !== undefined) return { ...left, path: top };
  const { root, path: inner } = splitRoot(top);
  const entries = new Map<WorkspacePath, Entry>();
  for (const { path, entry } of look.found) {
    const own = pathInRoot(root, `${inner}${path.slice(base.length)}` as WorkspacePath);
    if (entry !== undefined) entries.set(own, { ...entry, path: own });
  }
  return entries;
}

/** Returns the changes of git's own state, and what is reported of them. */
export async function changesOfGitState(
  context: Context,
  batch: BlobBatch,
  { top, before }: { readonly top: WorkspacePath; readonly before: ReadonlyMap<WorkspacePath, Entry> },
): Promise<{ readonly plan: readonly Change[]; readonly told: readonly OmittedChange[] }> {
  const then = new Map([...before].filter(([path]) => isWithin(path, top)));
  const now = await keepGitState(context, batch, { top, quota: { reserve: true } });
  const common = { path: top, reason: "excluded", detail: "git: .git" } as const;
  if (!(now instanceof Map)) {
    // As it was kept it stays kept: an undo puts it back where nothing is there.
    const plan = [...then.values()].map((before): Change => ({ path: before.path, before, after: undefined }));
    return { plan, told: [{ ...common, type: "modified", kept: plan.length > 0, lost: false }] };
  }
  const paths = [...new Set([...then.keys(), ...now.keys()])].sort(comparePaths);
  const plan = paths
    .map((path): Change => ({ path, before: then.get(path), after: now.get(path) }))
    .filter((change) => !sameEntry(change.before, change.after));
  if (plan.length === 0) return { plan, told: [] };
  const type = then.size === 0 ? "created" : now.size === 0 ? "deleted" : "modified";
  return { plan, told: [{ ...common, type, kept: true, lost: false }] };
}

/** The paths that no other of them holds. */
export function outermost(paths: Iterable<WorkspacePath>): WorkspacePath[] {
  const found: WorkspacePath[] = [];
  for (const path of [...new Set(paths)].sort(comparePaths)) {
    const last = found.at(-1);
    if (last === undefined || !isWithin(path, last)) found.push(path);
  }
  return found;
}
