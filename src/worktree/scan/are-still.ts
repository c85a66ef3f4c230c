import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { heldEntry, type FolderTraits } from "../../core/tree/folder-traits.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { nameOf, type WorkspacePath } from "../../core/values/path.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { isSameStat } from "../files/same-stat.ts";
import { type OpenRoot, RULING } from "./scan.ts";
import type { StatCache } from "./stat-cache.ts";

/** The number of paths after which `areStill` yields to other tasks. */
const TURN = 2_048;

export interface StillContext {
  readonly cache: StatCache;
  readonly roots: readonly OpenRoot[];
  readonly rootOf: (path: WorkspacePath) => { readonly open: OpenRoot; readonly inner: WorkspacePath };
}

/**
 * See `Worktree.areStill`. If the cache does not know every entry for certain, returns false without reading any stat.
 */
export async function areStill({ cache, roots, rootOf }: StillContext, entries: readonly Entry[]): Promise<boolean> {
  const asked = new Map<OpenRoot, FolderTraits>();
  const certain = entries.flatMap((entry) => {
    const known = cache.get(entry.path);
    const isCertain = known?.racy === false && entry.kind !== "dir" && isSameBytes(known.entry, entry);
    return isCertain ? { entry, known: known.entry, stat: known.stat } : [];
  });
  if (certain.length < entries.length) return false;
  try {
    for (const [at, { entry, known, stat }] of certain.entries()) {
      const { open, inner } = rootOf(entry.path);
      const traits = asked.get(open) ?? open.traits;
      asked.set(open, traits);
      if (!traits.ctime || !sameEntry(heldEntry(traits, known, entry), entry)) return false;
      const now = open.fs.lstat(inner);
      if (now === undefined || !isSameStat(stat, now)) return false;
      if ((at + 1) % TURN > 0) continue;
      for (const { fs } of roots) fs.release();
      await yieldToEventLoop();
    }
    return true;
  } finally {
    for (const { fs } of roots) fs.release();
  }
}

/** See `Worktree.unchangedAmong`. */
export function unchangedAmong(
  { cache, roots, rootOf }: StillContext,
  paths: readonly WorkspacePath[],
): WorkspacePath[] {
  const asked = new Map<OpenRoot, boolean>();
  const hasTimes = (open: OpenRoot): boolean => {
    const known = asked.get(open) ?? open.traits.ctime;
    asked.set(open, known);
    return known;
  };
  try {
    return paths.filter((path) => {
      const known = cache.get(path);
      if (known === undefined || known.racy || known.entry.kind === "dir" || RULING.has(nameOf(path))) return false;
      const { open, inner } = rootOf(path);
      return hasTimes(open) && isStatOf(open.fs, inner, known.stat);
    });
  } finally {
    for (const { fs } of roots) fs.release();
  }
}

function isStatOf(fs: ConfinedFs, inner: WorkspacePath, stat: FileStat): boolean {
  try {
    const now = fs.lstat(inner);
    return now !== undefined && isSameStat(stat, now);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

function isSameBytes(a: Entry, b: Entry): boolean {
  return a.kind === b.kind && a.hash === b.hash;
}
