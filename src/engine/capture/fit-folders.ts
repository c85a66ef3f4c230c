import type { Change, Entry } from "../../core/values/entry.ts";
import type { ConflictReason } from "../../core/tree/merge-text.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { comparePaths, foldersAbove, parentOf, type WorkspacePath } from "../../core/values/path.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { makeable } from "./never-set.ts";
import type { SkippedPath } from "./seen-absent.ts";

/** A state of a path that an undo would restore, but cannot because of later work. */
export interface Unmerged {
  readonly path: WorkspacePath;
  readonly reason: ConflictReason;
  /**
   * The state that the undone work left (`base`), the state that the path keeps (`current`), and the state that the
   * undo would restore (`wanted`).
   */
  readonly base: Entry | undefined;
  readonly current: Entry | undefined;
  readonly wanted: Entry | undefined;
}

/** The present state of a path, and the state that the plan gives it. */
export interface Target {
  readonly present: Entry | undefined;
  target: Entry | undefined;
}

/** The plan so far, which `fitFolders` changes in place. */
export interface FolderPlan {
  readonly targets: Map<WorkspacePath, Target>;
  readonly unmerged: Map<WorkspacePath, Unmerged>;
  /** Changes on disk that are not recorded. */
  readonly pending: ReadonlyMap<WorkspacePath, Change>;
}

/**
 * Changes a plan so that each path has a folder. The folders above restored paths are restored, too. A folder that the
 * plan removes or replaces is kept if something in it stays. Returns the folders that are kept although the plan would
 * remove them.
 */
export async function fitFolders(context: Context, plan: FolderPlan): Promise<BlockedPath[]> {
  const folders = new Folders(context, plan, (await context.index.head()).seq);
  for (const [path, { present, target }] of [...plan.targets]) {
    if (present === undefined && target !== undefined) await folders.bringBack(path);
  }
  const leaving = [...plan.targets].filter(
    ([, { present, target }]) => present?.kind === "dir" && target?.kind !== "dir",
  );
  // Children come before their folders, because a child that stays keeps the folders above it.
  for (const [path] of leaving.sort(([a], [b]) => comparePaths(b, a))) await folders.keepIfHeld(path);
  return folders.stayed;
}

/** Changes that fit their folders, and the paths that are left alone because their changes do not fit. */
export interface FittedChanges {
  readonly changes: readonly Change[];
  readonly skipped: readonly SkippedPath[];
}

/**
 * Adds the folders above restored paths to the changes, if these folders were removed. Leaves out a path if something
 * else is in the place of its folder. The removal of a folder in which a path stays is not left out, because `apply`
 * blocks this removal.
 */
export async function withFolders(
  context: Context,
  changes: readonly Change[],
  unrecorded: readonly Change[],
): Promise<FittedChanges> {
  const plan = folderPlan(changes, unrecorded);
  await fitFolders(context, plan);
  const own = new Set(changes.map((change) => change.path));
  const inTheWay = [...plan.unmerged.values()].filter(({ path, reason }) => own.has(path) && reason === "folder");
  const held = new Set(inTheWay.map(({ path }) => path));
  const folders = [...plan.targets].flatMap(([path, { present, target }]): Change[] => {
    const isMade = present === undefined && target?.kind === "dir";
    const isGone = present?.kind === "dir" && target === undefined;
    return !own.has(path) && (isMade || isGone) ? [{ path, before: present, after: target }] : [];
  });
  const free = changes.filter(({ path }) => !held.has(path));
  return {
    changes: [...free, ...makeable(folders)].sort((a, b) => comparePaths(a.path, b.path)),
    skipped: inTheWay.map(({ path }) => ({ path, reason: "no-folder", detail: FOLDER_REPLACED })),
  };
}

/**
 * Adds the folders above restored paths to the changes. Leaves out changes that do not fit, and removals of folders in
 * which a path stays.
 */
export async function amongFolders(
  context: Context,
  changes: readonly Change[],
  unrecorded: readonly Change[],
): Promise<FittedChanges> {
  const plan = folderPlan(changes, unrecorded);
  const stayed = await fitFolders(context, plan);
  const inTheWay = [...plan.unmerged.values()].map(({ path, reason }) => ({
    path,
    reason: "no-folder" as const,
    detail: reason === "folder" ? FOLDER_REPLACED : "a folder that is not empty is in its place",
  }));
  const fitting = [...plan.targets].flatMap(
    ([path, { present, target }]) => changeBetween(path, present, target) ?? [],
  );
  return { changes: fitting.sort((a, b) => comparePaths(a.path, b.path)), skipped: [...stayed, ...inTheWay] };
}

/**
 * Leaves out the changes that contradict the recorded states of the paths that are left alone (`left`). Nothing can be
 * made beneath such a path, unless the path is a folder. No folder above such a path can be removed while the path
 * exists.
 */
export async function besideLeft(
  context: Context,
  changes: readonly Change[],
  { left, unrecorded }: { readonly left: readonly SkippedPath[]; readonly unrecorded: readonly Change[] },
): Promise<FittedChanges> {
  if (left.length === 0) return { changes, skipped: [] };
  const paths = left.map(({ path }) => path);
  const rows = await context.index.iterationsAt(paths, (await context.index.head()).seq);
  const pending = new Map(unrecorded.map(({ path, after }) => [path, after]));
  const kept = paths.map((path, i) => ({ path, entry: pending.has(path) ? pending.get(path) : rows[i]?.entry }));
  const noFolders = new Set(kept.filter(({ entry }) => entry?.kind !== "dir").map(({ path }) => path));
  const held = new Set(kept.flatMap(({ path, entry }) => (entry === undefined ? [] : [...foldersAbove(path)])));
  const skipped = changes.flatMap(({ path, after }): SkippedPath[] => {
    if (after !== undefined && [...foldersAbove(path)].some((folder) => noFolders.has(folder)))
      return [{ path, reason: "no-folder", detail: FOLDER_REPLACED }];
    return after?.kind !== "dir" && held.has(path) ? [{ path, reason: "not-empty", detail: HELD }] : [];
  });
  const out = new Set(skipped.map(({ path }) => path));
  return { changes: changes.filter(({ path }) => !out.has(path)), skipped };
}

function folderPlan(changes: readonly Change[], unrecorded: readonly Change[]): FolderPlan {
  return {
    targets: new Map(changes.map(({ path, before, after }) => [path, { present: before, target: after }])),
    unmerged: new Map(),
    pending: new Map(unrecorded.map((change) => [change.path, change])),
  };
}

/** The mode of a restored folder of which the history has no state. */
const USUAL_MODE = 0o755;
const FOLDER_REPLACED = "something else is in the place of its folder";
const HELD = "it contains files or folders that stay";

class Folders {
  readonly #context: Context;
  readonly #plan: FolderPlan;
  readonly #seq: number;
  readonly #stayed = new Map<WorkspacePath, BlockedPath>();

  constructor(context: Context, plan: FolderPlan, seq: number) {
    this.#context = context;
    this.#plan = plan;
    this.#seq = seq;
  }

  get stayed(): BlockedPath[] {
    return [...this.#stayed.values()];
  }

  /**
   * Restores the folders above a restored path. If something else is in the place of one of these folders, the path is
   * not restored.
   */
  async bringBack(path: WorkspacePath): Promise<void> {
    const { targets, unmerged } = this.#plan;
    const missing: WorkspacePath[] = [];
    for (const folder of foldersAbove(path)) {
      const target = await this.#targetOf(folder);
      if (target?.kind === "dir") break;
      if (target !== undefined) {
        const wanted = targets.get(path)?.target;
        targets.set(path, { present: undefined, target: undefined });
        unmerged.set(path, { path, reason: "folder", base: undefined, current: undefined, wanted });
        return;
      }
      missing.push(folder);
    }
    for (const folder of missing) {
      const present = await this.#presentOf(folder);
      if (present?.kind === "dir") this.#stay(folder, present);
      else targets.set(folder, { present, target: await this.#lastFolder(folder) });
    }
  }

  async keepIfHeld(folder: WorkspacePath): Promise<void> {
    const { targets, unmerged } = this.#plan;
    const { present, target } = targets.get(folder) ?? { present: undefined, target: undefined };
    if (present === undefined || target?.kind === "dir" || !(await this.#holdsSomething(folder))) return;
    if (target === undefined) return this.#stay(folder, present);
    targets.set(folder, { present, target: present });
    unmerged.set(folder, { path: folder, reason: "kind", base: present, current: present, wanted: target });
  }

  /** Keeps a folder. A folder that is reported as a conflict is not also reported as kept. */
  #stay(folder: WorkspacePath, present: Entry): void {
    const { targets, unmerged } = this.#plan;
    targets.set(folder, { present, target: present });
    const conflict = unmerged.get(folder);
    if (conflict !== undefined) unmerged.set(folder, { ...conflict, current: present });
    else this.#stayed.set(folder, { path: folder, reason: "not-empty", detail: HELD });
  }

  async #holdsSomething(folder: WorkspacePath): Promise<boolean> {
    const recorded = await this.#context.index.childrenAt(folder, this.#seq);
    const made = [...this.#plan.pending.keys()].filter((path) => parentOf(path) === folder);
    for (const path of [...recorded.map((row) => row.path), ...made])
      if ((await this.#targetOf(path)) !== undefined) return true;
    return false;
  }

  async #targetOf(path: WorkspacePath): Promise<Entry | undefined> {
    const planned = this.#plan.targets.get(path);
    return planned === undefined ? this.#presentOf(path) : planned.target;
  }

  async #presentOf(path: WorkspacePath): Promise<Entry | undefined> {
    const seen = this.#plan.pending.get(path);
    if (seen !== undefined) return seen.after;
    return (await this.#context.index.iterationAt(path, this.#seq))?.entry;
  }

  async #lastFolder(path: WorkspacePath): Promise<Entry> {
    const rows = await this.#context.index.iterations(path);
    const last = rows.findLast((row) => row.entry?.kind === "dir")?.entry;
    return last ?? { path, kind: "dir", mode: USUAL_MODE, size: 0, mtimeMs: 0, hash: undefined };
  }
}
