import { changeBetween } from "../../core/tree/plan.ts";
import type { Change } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { type Rename, renameSides } from "../../core/tree/renames.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { RenameBudget, renamesAmong } from "./renames.ts";

/** The maximum number of paths among which a path with the same content is looked for. */
const MOST_TOUCHED = 50_000;

/** The maximum number of paths among which a path with a similar content is looked for. */
const MOST_SIMILAR = 1_000;

/**
 * The maximum number of earlier commits that are searched for a commit that changed a file. The commits that are passed
 * over only record work.
 */
const MOST_COMMITS = 8;

/** The path that a file had before a rename, and the iterations of this path up to the rename. */
export interface EarlierPath {
  readonly path: WorkspacePath;
  /** The iterations, ordered from oldest to newest. The last one has the content from which the new file was made. */
  readonly rows: readonly IterationRow[];
  readonly rename: Rename;
}

/** Returns the limits of what one answer may read to find earlier paths. */
export function renamedBudget(): RenameBudget {
  return new RenameBudget({ files: 100, bytes: 8 * 1024 ** 2, steps: 1_000_000 });
}

/**
 * Returns the path from which a new file was renamed. Such a path had the same or a similar content. The path lost this
 * content in the same commit, or in the last earlier commit that changed a file. Files are matched by the same rule as
 * in a difference (`renamesAmong`).
 *
 * Returns `undefined` if there is no such path. Also returns `undefined` if any answer would be a guess, because the
 * file is empty, or the commit has very many paths.
 */
export async function renamedFrom(
  context: Context,
  row: IterationRow,
  budget: RenameBudget = renamedBudget(),
): Promise<EarlierPath | undefined> {
  const { index } = context;
  const { hash, size = 0 } = row.entry ?? {};
  const own = await index.commitFrom(row.seq);
  if (hash === undefined || size === 0 || own === undefined) return undefined;
  for (const from of [own.first - 1, await lastChangeBefore(context, own.first)]) {
    if (from === undefined || from <= 0) continue;
    const rename = await renameTo(context, row, { from, to: own.last, budget });
    if (rename === undefined) continue;
    const { path, before } = rename.gone;
    const all = (await index.iterations(path)).filter((one) => one.seq <= own.last);
    const last = all.findLastIndex(({ entry }) => entry?.hash === before.hash);
    if (last >= 0) return { path, rows: all.slice(0, last + 1), rename };
  }
  return undefined;
}

/**
 * Returns the seq right before the last commit that changed a file and ended before event `seq`. Returns `undefined` if
 * none of the last `MOST_COMMITS` commits changed a file.
 */
async function lastChangeBefore({ index }: Context, seq: number): Promise<number | undefined> {
  let first = seq;
  for (let n = 0; n < MOST_COMMITS; n += 1) {
    const commit = await index.commitFrom(first - 1);
    if (commit === undefined || commit.first >= first) return undefined;
    first = commit.first;
    if ((await index.touched(commit.first - 1, commit.last)).length > 0) return first - 1;
  }
  return undefined;
}

interface Span {
  /** The events after `from`, up to `to`. */
  readonly from: number;
  readonly to: number;
  readonly budget: RenameBudget;
}

/** Returns the rename that made the file of a row; `undefined` if the changes of these events have none. */
async function renameTo(
  context: Context,
  { path, entry }: IterationRow,
  { from, to, budget }: Span,
): Promise<Rename | undefined> {
  const { index } = context;
  const touched = await index.touched(from, to);
  if (touched.length > MOST_TOUCHED) return undefined;
  const before = await index.iterationsAt(touched, from);
  const after = await index.iterationsAt(touched, to);
  const all = touched.flatMap((one, i) => changeBetween(one, before[i]?.entry, after[i]?.entry) ?? []);
  const isEqual = (one: Change): boolean => one.path === path || one.before?.hash === entry?.hash;
  const changes = all.length > MOST_SIMILAR ? all.filter(isEqual) : all;
  const { gone, made } = renameSides(changes);
  const wanted = made.find((one) => one.path === path);
  if (wanted === undefined || wanted.after.hash !== entry?.hash) return undefined;
  const found = (await renamesAmong(context, changes, budget)).get(path);
  if (found !== undefined) return found;
  // If a file was both renamed and copied, each of the new files has its lines from the old one.
  const equal = gone.find(({ before }) => before.hash === wanted.after.hash);
  return equal === undefined ? undefined : { gone: equal, made: wanted, similarity: 100 };
}
