import type { WorkspacePath } from "../../core/values/path.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { IterationRow } from "../index-store.ts";

/** Least number of remembered paths, which is as many as a large step has. At most twice as many are remembered. */
export const MOST_LAST_ROWS = 16_384;

interface Last {
  readonly row: IterationRow;
  /** The one before it. */
  readonly before: IterationRow | undefined;
}

/**
 * Caches the last iterations of the most recently recorded paths, which a step reads repeatedly. Every added iteration
 * must be put here, and the cache cleared whenever others may have added some.
 */
export class LastRows {
  readonly #rows = new RecentMap<WorkspacePath, Last>(MOST_LAST_ROWS);

  put({ path, seq, iteration, entry }: IterationRow): void {
    const before = this.#rows.get(path)?.row;
    // Not in event order: only the table knows which of the two is the last one.
    if (before !== undefined && before.seq >= seq) this.#rows.delete(path);
    else this.#rows.put(path, { row: { path, seq, iteration, entry: entry && { ...entry, path } }, before });
  }

  /** Returns the last iteration up to a seq; `undefined` if it is not cached. */
  at(path: WorkspacePath, seq: number): IterationRow | undefined {
    const last = this.#rows.get(path);
    if (last === undefined || last.row.seq <= seq) return last?.row;
    return last.before !== undefined && last.before.seq <= seq ? last.before : undefined;
  }

  forget(): void {
    this.#rows.clear();
  }
}
