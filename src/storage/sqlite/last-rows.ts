import type { WorkspacePath } from "../../core/path.ts";
import type { IterationRow } from "../index-store.ts";

/** So many paths are remembered: as many as a large step has. */
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
  /** The path that was not recorded for the longest time first. */
  readonly #rows = new Map<WorkspacePath, Last>();

  put({ path, seq, iteration, entry }: IterationRow): void {
    const before = this.#rows.get(path)?.row;
    this.#rows.delete(path);
    // Not in the order of events: which of two is the last one is for the table to say.
    if (before !== undefined && before.seq >= seq) return;
    this.#rows.set(path, { row: { path, seq, iteration, entry: entry && { ...entry, path } }, before });
    if (this.#rows.size <= MOST_LAST_ROWS) return;
    for (const oldest of this.#rows.keys()) {
      this.#rows.delete(oldest);
      return;
    }
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
