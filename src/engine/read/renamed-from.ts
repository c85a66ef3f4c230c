import { changeBetween } from "../../core/tree/plan.ts";
import type { Change } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { type Rename, renameSides } from "../../core/tree/renames.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { RenameBudget, renamesAmong } from "./renames.ts";

/** The maximum number of paths among which the earlier path is looked for by its content. */
const MOST_TOUCHED = 50_000;

/** The maximum number of paths among which the earlier path is looked for by a similar content. */
const MOST_SIMILAR = 1_000;

/** The number of earlier commits that are looked at until one changed a file. The others are records of work. */
const MOST_COMMITS = 8;

/** The path that a file had before, and the iterations of this path up to the one with the content of the file. */
export interface EarlierPath {
  readonly path: WorkspacePath;
  /** The last one has the content from which the file was made. */
  readonly rows: readonly IterationRow[];
  readonly rename: Rename;
}

/** The limits of what one answer may read to find earlier paths. */
export function renamedBudget(): RenameBudget {
  return new RenameBudget({ files: 100, bytes: 8 * 1024 ** 2, steps: 1_000_000 });
}

/**
 * Returns the path from which a new file was renamed: a path that had this content or a similar one, and lost it in the
 * same commit, or in the last commit before that changed a file. The rule is that of a difference (`renamesAmong`).
 * Returns `undefined` if there is none, and if an empty file or a commit with very many paths makes the answer a guess.
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

/** Returns the event before the last commit that ended before an event and changed a file. */
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

/** Returns the rename that made the file of a row, if the changes of these events have one. */
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
  // If a file was renamed and copied, each of the new files has its earlier lines from it.
  const equal = gone.find(({ before }) => before.hash === wanted.after.hash);
  return equal === undefined ? undefined : { gone: equal, made: wanted, similarity: 100 };
}
