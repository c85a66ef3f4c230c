import type { Hash } from "../../core/values/hash.ts";
import { type WorkspacePath, comparePaths } from "../../core/values/path.ts";
import { erasedAmong } from "./contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { followSettings } from "../log/follow-settings.ts";
import type { OmittedChangeShape } from "../../api/shapes.ts";
import { type Coverage, type Omission, reasonsWith } from "../../core/records/coverage.ts";
import {
  type OmittedChange,
  encodeOmittedList,
  type ListedOmission,
  type OmittedStat,
} from "../../core/records/omitted-change.ts";
import type { PathStat } from "../../worktree/worktree.ts";
import { isDerived } from "../log/database-units.ts";
import { keepBytes } from "../log/quota.ts";
import { exactPath, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/**
 * Finds changes of paths that no capture takes. Only the omitted paths themselves are compared: an omitted folder by
 * its presence and kind, never by its contents.
 */

/** Maps each omitted path that existed before some work to its omission and its stat. */
export type OmittedPaths = ReadonlyMap<WorkspacePath, ListedOmission>;

/**
 * Omission reasons for which a path is not compared. The store is not compared, because it belongs to Chronicle.
 * Unstable paths are not compared, because they are read again and recorded.
 */
const NOT_COMPARED = reasonsWith("notCompared");

/**
 * Returns the paths that a capture omitted, with their stats. Leaves out paths that are not compared, do not exist or
 * cannot be read. Costs one `lstat` for each path.
 */
export async function statOmitted(context: Context, { omitted }: Pick<Coverage, "omitted">): Promise<OmittedPaths> {
  const compared: Omission[] = [];
  for (const one of omitted)
    if (!NOT_COMPARED.has(one.reason) && !(await isDerived(context, one.path))) compared.push(one);
  const stats = await context.worktree.stats(compared.map(({ path }) => path));
  const found = new Map<WorkspacePath, ListedOmission>();
  compared.forEach((omission, i) => {
    const stat = stats[i];
    if (typeof stat === "object") found.set(omission.path, { omission, stat });
  });
  return found;
}

/** Returns the changes of these paths since they were listed: removals, and modifications that their stats show. */
export async function changesOfOmitted(context: Context, before: OmittedPaths): Promise<OmittedChange[]> {
  const paths = [...before.keys()].sort(comparePaths);
  const stats = await context.worktree.stats(paths);
  return paths.flatMap((path, i) => {
    const known = before.get(path);
    return known === undefined ? [] : changeOf(path, known, stats[i]);
  });
}

/** Omission reasons that make the recorded state of a file outdated, if the file has such a state. */
const OUTGROWN = reasonsWith("outgrown");

/**
 * Returns the files that were not omitted before (`known`), and are omitted now because of their new state. Such a file
 * has an erased content, or is a recorded file that is now, for example, too large or unreadable. An undo leaves such a
 * file as it is, because its present content has no copy.
 */
export async function unrecordedSince(
  { index }: Pick<Context, "index">,
  known: OmittedPaths,
  omitted: readonly Omission[],
): Promise<OmittedChange[]> {
  const isMeant = ({ path, reason }: Omission): boolean =>
    (reason === "erased" || OUTGROWN.has(reason)) && !known.has(path);
  const fresh = omitted.filter(isMeant);
  if (fresh.length === 0) return [];
  const { seq } = await index.head();
  const rows = await index.iterationsAt(
    fresh.map(({ path }) => path),
    seq,
  );
  return fresh.flatMap(({ path, reason, detail }, i): OmittedChange[] => {
    const isThere = rows[i]?.entry !== undefined;
    const common = { path, reason, ...optional({ detail }), kept: false, lost: false };
    if (reason === "erased") return [{ ...common, type: isThere ? "modified" : "created" }];
    // The folder itself is recorded, even if its contents cannot be read.
    return isThere && rows[i]?.entry?.kind !== "dir" ? [{ ...common, type: "modified", recorded: true }] : [];
  });
}

/**
 * Stores the list of omitted paths before an action that may touch any path. Returns the hash of the list; `undefined`
 * if no omitted path exists. The list is durable when the promise resolves. The caller must hold a lease of the blob
 * store until the record of the action is durable, too.
 */
export async function keepOmittedList(context: Context, omitted: readonly Omission[]): Promise<Hash | undefined> {
  const found = await statOmitted(context, { omitted });
  if (found.size === 0) return undefined;
  const rows = [...found.values()].sort((a, b) => comparePaths(a.omission.path, b.omission.path));
  return keepBytes(context.blobs, encodeOmittedList(rows));
}

function changeOf(path: WorkspacePath, { omission, stat }: ListedOmission, now: PathStat): OmittedChange[] {
  const { reason, detail } = omission;
  const common = { path, reason, ...optional({ detail }), kept: false };
  if (now === undefined) return [{ ...common, type: "deleted", lost: true }];
  // A path that cannot be read is not known to have changed.
  if (now === "unknown" || isAsBefore(stat, now)) return [];
  return [{ ...common, type: "modified", lost: !hasOnlyGrown(stat, now) && !isExcludedByPerson(omission) }];
}

/** Folders and special files are compared by their kind alone, other files by size, modification time and inode. */
function isAsBefore(before: OmittedStat, now: OmittedStat): boolean {
  if (before.kind !== now.kind) return false;
  if (before.kind === "dir" || before.kind === "special") return true;
  return before.size === now.size && before.mtimeNs === now.mtimeNs && before.ino === now.ino;
}

/**
 * True if a file has only grown. The file is then most likely a log or a database to which data was appended, so that
 * nothing was lost.
 */
function hasOnlyGrown(before: OmittedStat, now: OmittedStat): boolean {
  return before.kind === "file" && now.kind === "file" && before.ino === now.ino && now.size > before.size;
}

/** True if a person has excluded the content of the path from Chronicle. The removal of the path is still reported. */
export function isExcludedByPerson({ reason, detail = "" }: Omission): boolean {
  return (
    reason === "off-record" || reason === "erased" || (reason === "excluded" && /^exclude(-glob)?(:|$)/.test(detail))
  );
}

/** The time in milliseconds for which `status` reports a loss: seven days after the end of the work. */
const TOLD_MS = 7 * 24 * 3_600_000;
const MOST_LOSSES = 3;
const MOST_PATHS = 5;

export interface Loser {
  /** The name for people: `run 3f2a1b0c (rm -rf .git)`. */
  readonly name: string;
  readonly ended: string | null;
  readonly omittedChanges: readonly OmittedChange[];
}

/**
 * Returns notes for people about work that ended within the last `TOLD_MS` and whose losses remain. The latest work
 * comes first. There are at most `MOST_LOSSES` notes, and each lists at most `MOST_PATHS` paths.
 */
export async function lossNotes(context: Context, losers: readonly Loser[]): Promise<string[]> {
  const notes: string[] = [];
  for (const { name, ended, omittedChanges } of losers.toReversed()) {
    if (notes.length === MOST_LOSSES) break;
    if (ended === null || context.now() - Date.parse(ended) > TOLD_MS) continue;
    const lost = await stillLost(context, omittedChanges);
    if (lost.length === 0) continue;
    const shown = lost.slice(0, MOST_PATHS).map(({ path }) => shownPath(path));
    const more = lost.length > shown.length ? ` and ${lost.length - shown.length} more` : "";
    notes.push(
      `the ${name} removed or overwrote paths that were not recorded, so they cannot be brought back: ${shown.join(", ")}${more}`,
    );
  }
  return notes;
}

/** Returns the losses that remain. A removed path that exists again is not a loss any more. */
export async function stillLost(context: Context, changes: readonly OmittedChange[]): Promise<OmittedChange[]> {
  const lost = changes.filter((one) => one.lost);
  if (lost.length === 0) return [];
  const stats = await context.worktree.stats(lost.map(({ path }) => path));
  return lost.filter(({ type }, i) => type !== "deleted" || stats[i] === undefined);
}

export function omittedChangeShape(change: OmittedChange): OmittedChangeShape {
  const { path, type, reason, detail, kept, lost, recorded, candidates } = change;
  return {
    path: shownPath(path),
    ...exactPath(path),
    change_type: type,
    reason,
    ...optional({ detail }),
    kept,
    lost,
    ...optional({ recorded }),
    ...(candidates === undefined ? {} : { ambiguous: true as const }),
  };
}

/**
 * Returns the recorded files that the present rules leave out by name, in path order. A file is returned only if at
 * least one of its contents, present or earlier, is not erased.
 */
export async function leftOutByNow(context: Context): Promise<readonly WorkspacePath[]> {
  await followSettings(context);
  const { seq } = await context.index.head();
  const left = new Set(await context.worktree.leftOut(await context.index.touched(0, seq)));
  const found: WorkspacePath[] = [];
  for (const path of left) {
    const rows = await context.index.iterations(path);
    const hashes = rows.flatMap(({ entry }): Hash[] =>
      entry?.hash === undefined || entry.size === 0 ? [] : [entry.hash],
    );
    const erased = await erasedAmong(context, hashes);
    if (hashes.some((hash) => !erased.has(hash))) found.push(path);
  }
  return found;
}
