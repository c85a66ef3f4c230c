import { availableParallelism } from "node:os";
import { StagePool } from "./stage-pool.ts";

const MOST_WORKERS = 8;
/**
 * The time for which idle threads are kept, in ms. Starting one takes about 45 ms of processor time: if one large step
 * follows another, as in a folder that follows an origin, that would be a good part of each.
 */
const KEPT_MS = 2_000;

interface Kept {
  readonly base: string;
  readonly pool: StagePool;
  readonly timer: NodeJS.Timeout;
}

/** Keeps the last pool of threads for a moment. Kept threads have no files open, and do not keep the process alive. */
export class KeptStagePool {
  readonly #home: string;
  readonly #keptMs: number;
  #kept: Kept | undefined;

  /** `home`: the store's folder. */
  constructor(home: string, keptMs = KEPT_MS) {
    this.#home = home;
    this.#keptMs = keptMs;
  }

  /**
   * Returns threads that write beneath this folder: the kept ones, or new ones. They belong to the caller until
   * `giveBack`.
   */
  take(base: string): StagePool {
    const kept = this.#kept;
    if (kept?.base === base) {
      this.#kept = undefined;
      clearTimeout(kept.timer);
      if (kept.pool.isFree) {
        kept.pool.holdOpen(true);
        return kept.pool;
      }
      void kept.pool[Symbol.asyncDispose]();
    }
    return new StagePool({ home: this.#home, base }, Math.min(MOST_WORKERS, availableParallelism()));
  }

  /** True if threads that write beneath this folder need not be started. */
  isKept(base: string): boolean {
    return this.#kept?.base === base && this.#kept.pool.isFree;
  }

  /** Keeps the threads; those that have failed have ended when it resolves. */
  async giveBack(base: string, pool: StagePool): Promise<void> {
    if (!pool.isFree || this.#kept !== undefined) return pool[Symbol.asyncDispose]();
    pool.holdOpen(false);
    this.#kept = { base, pool, timer: setTimeout(() => this.#letGo(pool), this.#keptMs).unref() };
  }

  #letGo(pool: StagePool): void {
    this.#kept = undefined;
    void pool[Symbol.asyncDispose]();
  }
}
