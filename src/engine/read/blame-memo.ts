import type { IterationShape } from "../../api/shapes.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { pruningInForce } from "../facts/pruning.ts";
import type { HistoryContext } from "../log/context.ts";
import { historyStart } from "../log/history-start.ts";
import { memoKey } from "../log/memo.ts";

/** Where some lines come from. */
export interface LineSource {
  /**
   * - `iteration`: the iteration wrote the lines.
   * - `between`: one of the iterations `first` to this one wrote them; the contents between them are missing.
   * - `earlier`: the lines were there by this iteration, and the contents before it are missing.
   */
  readonly kind: "iteration" | "between" | "earlier";
  readonly shape: IterationShape;
  readonly path: WorkspacePath;
  readonly first?: number;
}

/** The most files, and the most lines of all these files, that are remembered. */
const MOST_FILES = 32;
const MOST_LINES = 500_000;

/** The sources of all lines of the content that an iteration has. */
interface KnownSources {
  readonly seq: number;
  readonly sources: readonly LineSource[];
}

/**
 * The sources of the lines of files that were asked about. They stay valid when iterations are added. A pruning, an
 * erasure or a compaction may make contents unreadable, so that nothing is remembered beyond one.
 */
export class BlameMemo {
  readonly #files = new Map<WorkspacePath, KnownSources>();
  readonly #stamp: string;
  #lines = 0;

  private constructor(stamp: string) {
    this.#stamp = stamp;
  }

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

  /** Returns the sources of the lines of an iteration, if they are remembered. */
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
