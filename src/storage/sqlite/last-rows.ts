import type { WorkspacePath } from "../../core/values/path.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { IterationRow } from "../index-store.ts";

/** So many paths are remembered, and no more than twice as many: as many as a large step has. */
export const MOST_LAST_ROWS = 16_384;

interface Last {
  readonly row: IterationRow;
  /** The one before it. */
  readonly before: IterationRow | undefined;
}

/**
 * The last iterations of the paths that were recorded last: what a step asks about again and again. It must be told of each
 * iteration that is added, and forget everything where others may have added some.
 */
export class LastRows {
  readonly #rows = new RecentMap<WorkspacePath, Last>(MOST_LAST_ROWS);

  put({ path, seq, iteration, entry }: IterationRow): void {
    const before = this.#rows.get(path)?.row;
    // Not in the order of events: which of two is the last one is for the table to say.
    if (before !== undefined && before.seq >= seq) this.#rows.delete(path);
    else this.#rows.put(path, { row: { path, seq, iteration, entry: entry && { ...entry, path } }, before });
  }

  /** The last iteration up to a seq; `undefined`: that is not known. */
  at(path: WorkspacePath, seq: number): IterationRow | undefined {
    const last = this.#rows.get(path);
    if (last === undefined || last.row.seq <= seq) return last?.row;
    return last.before !== undefined && last.before.seq <= seq ? last.before : undefined;
  }

  forget(): void {
    this.#rows.clear();
  }
}
