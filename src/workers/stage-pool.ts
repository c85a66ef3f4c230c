import { availableParallelism } from "node:os";
import type { StageReply, StageRequest, StageWorkerData } from "./stage-worker.ts";
import type { BlockBatch, BlockColumns } from "./block-job.ts";
import type { StageBatch, StageColumns } from "./stage-job.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import { WorkerPool } from "./worker-pool.ts";

/**
 * Worker threads that write files from packs or from blocks, and remove files. Disposing of the pool ends the threads.
 */
export class StagePool implements AsyncDisposable {
  readonly #pool: WorkerPool<StageRequest, StageReply>;

  constructor(data: StageWorkerData, count: number) {
    this.#pool = new WorkerPool({ name: "stage-worker", data: Array.from({ length: count }, () => data), failureOf });
  }

  /** Writes a batch. Returns `undefined` if a worker has failed. In that case, some files may exist, partly written. */
  async run(batch: StageBatch): Promise<StageColumns | undefined> {
    const reply = await this.#give(batch, []);
    return reply?.kind === "columns" ? reply.columns : undefined;
  }

  /** Checks blocks and writes their files. Returns `undefined` if a worker has failed, as `run` does. */
  async check(batch: BlockBatch): Promise<BlockColumns | undefined> {
    const reply = await this.#give(batch, givenAway(batch));
    return reply?.kind === "blocks" ? reply.columns : undefined;
  }

  /** Removes files. Returns false if a worker has failed. In that case, some files may be left. */
  async remove(paths: readonly WorkspacePath[]): Promise<boolean> {
    return (await this.#give({ kind: "remove", paths }, []))?.kind === "removed";
  }

  /**
   * Resolves to `undefined` if the pool has failed. The error can be dropped: the caller then does the work itself, and
   * gets the same error if its cause persists.
   */
  #give(message: StageRequest, transfer: readonly ArrayBuffer[]): Promise<StageReply | undefined> {
    return this.#pool.give(() => ({ message, transfer })).catch(() => undefined);
  }

  /** True if nothing has failed and nothing is pending. */
  get isFree(): boolean {
    return this.#pool.isFree;
  }

  /** Decides whether the pool keeps the process alive. A new pool keeps the process alive. */
  holdOpen(isHeld: boolean): void {
    this.#pool.holdOpen(isHeld);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}

function failureOf(reply: StageReply): ChronicleError | undefined {
  return reply.kind === "failed" ? new ChronicleError("IO", "a worker thread could not do its work") : undefined;
}

/**
 * Returns the buffer of the blocks, in a list, if the buffer holds nothing else. Otherwise, returns an empty list:
 * short blocks share a buffer with other data, and are copied instead.
 */
function givenAway({ blocks }: BlockBatch): ArrayBuffer[] {
  const { buffer, byteLength } = blocks;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

/** The maximum number of worker threads of a pool. */
const MOST_WORKERS = 8;

/**
 * The time for which an idle pool is kept, in ms. Starting a thread takes about 45 ms of processor time, which is too
 * much for one small apply.
 */
const KEPT_MS = 2_000;

interface Kept {
  readonly base: string;
  readonly pool: StagePool;
  readonly timer: NodeJS.Timeout;
}

/**
 * Keeps one idle pool for a short time. The threads of an idle pool have no files open, and do not keep the process
 * alive.
 */
export class KeptStagePool {
  readonly #home: string;
  readonly #keptMs: number;
  #kept: Kept | undefined;

  constructor(home: string, keptMs = KEPT_MS) {
    this.#home = home;
    this.#keptMs = keptMs;
  }

  /**
   * Returns a pool that writes beneath this folder: the kept pool or a new pool. The caller owns the pool until
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

  /** True if a usable pool for this folder is kept, so that `take` starts no threads. */
  isKept(base: string): boolean {
    return this.#kept?.base === base && this.#kept.pool.isFree;
  }

  /**
   * Takes back a pool, and keeps it. If the pool has failed or is busy, or if another pool is kept, ends the pool
   * instead, and resolves afterwards.
   */
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
