import { isWithin, foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import type { BlockedPath, PathStat } from "../../worktree/worktree.ts";
import { type Context, isHosted } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import type { SkippedPath } from "./seen-absent.ts";

/**
 * While an operation is running, somebody else can change paths. For example, a program may keep writing a log. If the
 * operation may be done in part, it leaves such a path alone, reports the path, and does everything else.
 */

/** Something that no capture takes, at a path or in the place of a folder above it. */
interface Obstacle {
  readonly at: WorkspacePath;
  readonly reason: "special" | "left-out";
  readonly what: string;
}

interface LeftPath<Reason> extends Omit<BlockedPath, "reason"> {
  readonly reason: Reason;
}

/**
 * Returns the paths that `apply` skipped, as an operation reports them. The reason `changed` has one of two causes.
 * Either somebody changed the path after the operation's capture, or an obstacle is in the place of the path or of a
 * folder above it. An obstacle is a special file, or a path that a rule or a limit leaves out. An obstacle stays until
 * somebody moves it away.
 */
export async function meanwhile<Reason extends string>(
  context: Context,
  blocked: readonly LeftPath<Reason>[],
): Promise<LeftPath<Reason | SkippedPath["reason"]>[]> {
  const changed = blocked.filter(({ reason }) => reason === "changed").map(({ path }) => path);
  const obstacles = await obstaclesAt(context, [...new Set(changed.flatMap(pathAndFolders))]);
  return blocked.map((one) => {
    if (one.reason !== "changed") return one;
    const found = pathAndFolders(one.path).flatMap((path) => obstacles.get(path) ?? [])[0];
    return found === undefined ? changedMeanwhile(one.path, one.with) : behind(one.path, found);
  });
}

function pathAndFolders(path: WorkspacePath): WorkspacePath[] {
  return [path, ...foldersAbove(path)];
}

async function obstaclesAt(
  context: Context,
  paths: readonly WorkspacePath[],
): Promise<ReadonlyMap<WorkspacePath, Obstacle>> {
  const obstacles = new Map<WorkspacePath, Obstacle>();
  const there: WorkspacePath[] = [];
  for (const [path, stat] of await lookAt(context, paths)) {
    if (stat === undefined || stat === "unknown") continue;
    if (stat.kind !== "special") there.push(path);
    else obstacles.set(path, { at: path, reason: "special", what: "a pipe, a socket or a device" });
  }
  for (const { path, why } of await leftOutAmong(context, there))
    obstacles.set(path, { at: path, reason: "left-out", what: `a path that no capture takes (${why})` });
  return obstacles;
}

/** Returns the paths that exist on disk, but are not recorded because a rule or a limit leaves them out. */
async function leftOutAmong(
  context: Context,
  paths: readonly WorkspacePath[],
): Promise<{ readonly path: WorkspacePath; readonly why: string }[]> {
  if (paths.length === 0 || isHosted(context.worktree.roots)) return [];
  const rows = await context.index.iterationsAt(paths, (await context.index.head()).seq);
  const unrecorded = paths.filter((_, i) => rows[i]?.entry === undefined);
  if (unrecorded.length === 0) return [];
  const { omitted } = await context.worktree.scan({ only: unrecorded }, () => undefined);
  // A file that was written during the scan was changed meanwhile, and is not left out by a rule or a limit.
  const lasting = omitted.filter(({ reason }) => reason !== "unstable");
  return unrecorded.flatMap((path) => {
    const found = lasting.find((one) => isWithin(path, one.path));
    return found === undefined ? [] : [{ path, why: whyOf(found) }];
  });
}

function whyOf({ reason, detail }: Omission): string {
  const word = reason.replaceAll("-", " ");
  if (reason === "excluded" && detail !== undefined) return detail;
  return detail === undefined || detail === "" ? word : `${word}: ${detail}`;
}

function behind(path: WorkspacePath, { at, reason, what }: Obstacle): SkippedPath {
  const where = path === at ? "its place" : `the place of ${shownPath(at)}`;
  return { path, reason, detail: `${what} is in ${where}: move it away first` };
}

/**
 * Returns a skipped path that was changed meanwhile. `cause`: the changed file, if that is another file of the same
 * SQLite database (such as its `-wal`).
 */
export function changedMeanwhile(path: WorkspacePath, cause?: WorkspacePath): SkippedPath {
  const detail = "the path was changed after this operation had begun";
  return { path, reason: "changed-meanwhile", detail: cause === undefined ? detail : oneUnitWith(cause, detail) };
}

/** The time, in milliseconds, after which an unchanged file counts as not being written. */
const RECENT_MS = 2_000;

/** The wait between two checks, in milliseconds. */
const BETWEEN_MS = 20;

/**
 * Returns the paths that change during a check, because somebody is still writing them. Resolves at once if all paths
 * are present and none has changed in the last two seconds. Otherwise resolves after about two seconds at most. If
 * `context.pause` is `undefined`, checks nothing and returns no paths.
 */
export async function beingWritten(
  context: Context,
  paths: readonly WorkspacePath[],
): Promise<ReadonlySet<WorkspacePath>> {
  const { pause } = context;
  const written = new Set<WorkspacePath>();
  if (pause === undefined) return written;
  const before = new Map(await lookAt(context, paths));
  for (let waited = 0; waited < RECENT_MS; waited += BETWEEN_MS) {
    const open = paths.filter((path) => !written.has(path));
    if (!open.some((path) => isRecent(before.get(path), context.now()))) break;
    await pause(BETWEEN_MS);
    for (const [path, stat] of await lookAt(context, open)) if (isOther(before.get(path), stat)) written.add(path);
  }
  return written;
}

async function lookAt(
  { worktree }: Pick<Context, "worktree">,
  paths: readonly WorkspacePath[],
): Promise<[WorkspacePath, PathStat][]> {
  const stats = await worktree.stats(paths);
  return paths.map((path, i) => [path, stats[i]]);
}

function isRecent(stat: PathStat, nowMs: number): boolean {
  // An absent file may soon appear again, because programs replace files.
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
