import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlockedPath, PathStat } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import type { SkippedPath } from "./seen-absent.ts";

/**
 * Paths that somebody changes while an operation is being done: a program that goes on writing a log, say. The operation
 * leaves them alone and names them, and does everything else.
 */

/**
 * Returns the paths that an apply skipped, as an operation reports them. Everything was captured just before, so a path
 * that was not as the plan expected was changed meanwhile.
 */
export function meanwhile(blocked: readonly BlockedPath[]): SkippedPath[] {
  return blocked.map((one) => (one.reason === "changed" ? changedMeanwhile(one.path, one.with) : one));
}

/** A path that is left alone because somebody changed it meanwhile, or a file (`cause`) of the same database. */
export function changedMeanwhile(path: WorkspacePath, cause?: WorkspacePath): SkippedPath {
  const detail = "what is there is not what was recorded when this began";
  return { path, reason: "changed-meanwhile", detail: cause === undefined ? detail : oneUnitWith(cause, detail) };
}

/** A path counts as being written if it changed within this time before a check, and again within this time, in ms. */
const RECENT_MS = 2_000;
/** The wait between two scans, in ms. */
const BETWEEN_MS = 20;

/**
 * Returns the paths that somebody is still writing: each was changed a moment ago, and changes again during the check.
 * Resolves at once if none was changed in the last two seconds, and after two seconds at the latest.
 */
export async function beingWritten(
  context: Context,
  paths: readonly WorkspacePath[],
): Promise<ReadonlySet<WorkspacePath>> {
  const { pause, worktree } = context;
  const written = new Set<WorkspacePath>();
  if (pause === undefined) return written;
  const before = new Map(await lookAt(worktree, paths));
  for (let waited = 0; waited < RECENT_MS; waited += BETWEEN_MS) {
    const open = paths.filter((path) => !written.has(path));
    if (!open.some((path) => isRecent(before.get(path), context.now()))) break;
    await pause(BETWEEN_MS);
    for (const [path, stat] of await lookAt(worktree, open)) if (isOther(before.get(path), stat)) written.add(path);
  }
  return written;
}

async function lookAt(
  worktree: Context["worktree"],
  paths: readonly WorkspacePath[],
): Promise<[WorkspacePath, PathStat][]> {
  const stats = await worktree.stats(paths);
  return paths.map((path, i) => [path, stats[i]]);
}

function isRecent(stat: PathStat, nowMs: number): boolean {
  // A file that is not there may be back in a moment: it was replaced.
  if (stat === undefined || stat === "unknown") return true;
  return Number(newest(stat) / 1_000_000n) > nowMs - RECENT_MS;
}

function isOther(known: PathStat, now: PathStat): boolean {
  if (known === undefined || known === "unknown" || now === undefined || now === "unknown")
    return (known === undefined) !== (now === undefined);
  return known.ino !== now.ino || known.size !== now.size || newest(known) !== newest(now);
}

function newest({ mtimeNs, ctimeNs }: { readonly mtimeNs: bigint; readonly ctimeNs: bigint }): bigint {
  return mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
}
