import { sameEntry, type Entry } from "../core/entry.ts";
import type { WorkspacePath } from "../core/path.ts";
import { breathe } from "../util/breathe.ts";
import { isSameStat } from "./same-stat.ts";
import type { OpenRoot } from "./scan.ts";
import type { StatCache } from "./stat-cache.ts";

/** So many are looked at before others get a turn. */
const TURN = 2_048;

/** Where files are looked for. */
export interface StillContext {
  readonly cache: StatCache;
  readonly roots: readonly OpenRoot[];
  readonly rootOf: (path: WorkspacePath) => { readonly open: OpenRoot; readonly inner: WorkspacePath };
}

/** See `Worktree.areStill`. Where memory alone says that it cannot be told, nothing is looked at. */
export async function areStill({ cache, roots, rootOf }: StillContext, entries: readonly Entry[]): Promise<boolean> {
  const certain = entries.flatMap((entry) => {
    const known = cache.get(entry.path);
    const isCertain = known?.racy === false && entry.kind !== "dir" && sameEntry(known.entry, entry);
    return isCertain ? { path: entry.path, stat: known.stat } : [];
  });
  if (certain.length < entries.length) return false;
  try {
    for (const [at, { path, stat }] of certain.entries()) {
      const { open, inner } = rootOf(path);
      const now = open.fs.lstat(inner);
      if (now === undefined || !isSameStat(stat, now)) return false;
      if ((at + 1) % TURN > 0) continue;
      for (const { fs } of roots) fs.release();
      await breathe();
    }
    return true;
  } finally {
    for (const { fs } of roots) fs.release();
  }
}
