import type { IterationShape } from "../../api/shapes.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { pruningInForce } from "../facts/pruning.ts";
import type { HistoryContext } from "../log/context.ts";
import { historyStart } from "../log/history-start.ts";
import { memoKey } from "../log/memo.ts";

/** The origin of some lines. */
export interface LineSource {
  /**
   * - `iteration`: the iteration `shape` wrote the lines.
   * - `between`: one of the iterations from number `first` to `shape` wrote the lines. It is not known which, because
   *   contents between these iterations are missing.
   * - `earlier`: `shape` or an earlier iteration wrote the lines. It is not known which, because the earlier contents
   *   are missing.
   */
  readonly kind: "iteration" | "between" | "earlier";
  readonly shape: IterationShape;
  readonly path: WorkspacePath;
  readonly first?: number;
}

/** The maximum number of files that are remembered, and of the lines of all these files. */
const MOST_FILES = 32;
const MOST_LINES = 500_000;

/** The sources of all lines that a file has at an iteration. `seq`: the event of the iteration. */
interface KnownSources {
  readonly seq: number;
  readonly sources: readonly LineSource[];
}

/**
 * Remembers the sources of the lines of files that were asked about. The sources stay valid when iterations are added.
 * A pruning, an erasure or a compaction may make contents unreadable. After each of these operations, the memo is
 * empty.
 */
export class BlameMemo {
  readonly #files = new Map<WorkspacePath, KnownSources>();
  readonly #stamp: string;
  #lines = 0;

  private constructor(stamp: string) {
    this.#stamp = stamp;
  }

  /** Returns the memo of a history. The memo is empty if contents may have become unreadable since the last call. */
  static async of(context: HistoryContext): Promise<BlameMemo> {
    const start = (await historyStart(context))?.seq;
    const pruning = (await pruningInForce(context))?.seq;
    const stamp = JSON.stringify([start, pruning, (await erasuresInForce(context)).size]);
    const known = context.memo.get(key);
    if (known !== undefined && known.#stamp === stamp) return known;
    const fresh = new BlameMemo(stamp);
    context.memo.set(key, fresh);
    return fresh;
  }

  /** Returns the sources of the lines of an iteration; `undefined` if they are not remembered. */
  of(path: WorkspacePath, seq: number): readonly LineSource[] | undefined {
    const known = this.#files.get(path);
    return known?.seq === seq ? known.sources : undefined;
  }

  keep(path: WorkspacePath, known: KnownSources): void {
    this.#forget(path);
    const isFull = (): boolean => this.#files.size >= MOST_FILES || this.#lines + known.sources.length > MOST_LINES;
    for (const [oldest] of this.#files) if (isFull()) this.#forget(oldest);
    if (isFull()) return;
    this.#files.set(path, known);
    this.#lines += known.sources.length;
  }

  #forget(path: WorkspacePath): void {
    this.#lines -= this.#files.get(path)?.sources.length ?? 0;
    this.#files.delete(path);
  }
}

const key = memoKey<BlameMemo>("authors of lines");
