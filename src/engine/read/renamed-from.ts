import type { WorkspacePath } from "../../core/values/path.ts";
import type { IndexStore, IterationRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "../log/context.ts";

/** The maximum number of paths among which the earlier path is looked for. */
const MOST_TOUCHED = 50_000;

/** The path that a file had before, and the iterations of this path up to the one with the content of the file. */
export interface EarlierPath {
  readonly path: WorkspacePath;
  readonly rows: readonly IterationRow[];
}

/**
 * Returns the path from which a new file was renamed: the path that had exactly this content, and lost it in the same
 * commit or in the commit before. Returns `undefined` if there is none, or if an empty file or a commit with very many
 * paths makes the answer a guess. Among several, the first in path order is taken.
 */
export async function renamedFrom({ index }: HistoryContext, row: IterationRow): Promise<EarlierPath | undefined> {
  const { hash, size = 0 } = row.entry ?? {};
  const own = await index.commitFrom(row.seq);
  if (hash === undefined || size === 0 || own === undefined) return undefined;
  const previous = await index.commitFrom(own.first - 1);
  const starts = previous === undefined ? [own.first] : [own.first, previous.first];
  for (const start of starts) {
    const found = await lostBetween(index, row, { from: start - 1, to: own.last });
    if (found === undefined) continue;
    const rows = (await index.iterations(found.path)).filter((one) => one.seq <= found.seq);
    return { path: found.path, rows };
  }
  return undefined;
}

/** Returns the iteration of another path with the content of the row, if this path exists after `from` but not after `to`. */
async function lostBetween(
  index: IndexStore,
  { path, entry }: IterationRow,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<IterationRow | undefined> {
  const touched = (await index.touched(from, to)).filter((one) => one !== path);
  if (touched.length > MOST_TOUCHED) return undefined;
  const before = await index.iterationsAt(touched, from);
  const after = await index.iterationsAt(touched, to);
  return before.find(
    (one, i) => one?.entry?.kind === entry?.kind && one?.entry?.hash === entry?.hash && after[i]?.entry === undefined,
  );
}
