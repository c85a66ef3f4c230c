import type { IterationRow } from "../storage/index-store.ts";
import type { FileStat } from "../disk/disk.ts";
import type { KnownPath } from "../worktree/worktree.ts";
import type { Context } from "./context.ts";

/** No file has this stat: what is remembered with it is read again at the next scan. */
const UNKNOWN: Omit<FileStat, "kind"> = {
  mode: 0,
  size: -1,
  mtimeNs: 0n,
  ctimeNs: 0n,
  ino: 0n,
  dev: 0n,
  nlink: 0,
  uid: 0,
};

/** Up to which event each worktree knows what is recorded. */
const knownTo = new WeakMap<object, number>();

/**
 * Lets the worktree know of paths that were recorded by others, or whose memory was lost: a scan can then tell that they
 * are gone, and goes on tracking them whatever the rules say by now.
 */
export async function rememberRecorded(context: Context): Promise<void> {
  const { worktree, index } = context;
  const { seq } = await index.head();
  const since = knownTo.get(worktree) ?? worktree.rememberedSeq ?? 0;
  knownTo.set(worktree, seq);
  if (since >= seq) return;
  const touched = await index.touched(since, seq);
  const unknown = touched.filter((path) => worktree.recall(path) === undefined);
  // Usually all of it is our own work, and remembered.
  if (unknown.length === 0) return;
  const known: KnownPath[] = [];
  for (const row of await index.iterationsAt(unknown, seq)) {
    const one = row === undefined ? undefined : withUnknownStat(row);
    if (one !== undefined) known.push(one);
  }
  worktree.remember(known);
}

function withUnknownStat({ entry }: IterationRow): KnownPath | undefined {
  return entry === undefined ? undefined : { entry, stat: { ...UNKNOWN, kind: entry.kind } };
}
