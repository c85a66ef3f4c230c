import { Worker } from "node:worker_threads";
import { availableParallelism } from "node:os";
import type { StageReply, StageWorkerData } from "./stage-worker.ts";
import type { BlockBatch, BlockColumns } from "./block-job.ts";
import type { StageBatch, StageColumns } from "./stage-job.ts";
import { workerFile } from "./worker-file.ts";

/** Batches queued for a worker, so that it never idles between two. */
const AHEAD = 2;

interface Job {
  readonly batch: StageBatch | BlockBatch;
  /** Memory that is transferred with it. */
  readonly given: ArrayBuffer[];
  readonly answer: PromiseWithResolvers<StageReply | undefined>;
}

/**
 * Worker threads that write files from packs or from blocks. A free worker takes the next batch. Disposing of the pool
 * ends them.
 */
export class StagePool implements AsyncDisposable {
  readonly #members: readonly Member[];
  readonly #queue: Job[] = [];
  #hasFailed = false;

  constructor(data: StageWorkerData, count: number) {
    const events = { onIdle: () => this.#feed(), onFailure: () => this.#fail() };
    this.#members = Array.from({ length: count }, () => new Member(data, events));
  }

  /** Writes a batch. Returns `undefined` if a worker has failed: some of its files may then exist, half written. */
  async run(batch: StageBatch): Promise<StageColumns | undefined> {
    const reply = await this.#give(batch, []);
    return reply?.kind === "columns" ? reply.columns : undefined;
  }

  /** Checks blocks, and writes their files; `undefined` as above. */
  async check(batch: BlockBatch): Promise<BlockColumns | undefined> {
    const reply = await this.#give(batch, givenAway(batch));
    return reply?.kind === "blocks" ? reply.columns : undefined;
  }

  #give(batch: Job["batch"], given: ArrayBuffer[]): Promise<StageReply | undefined> {
    const answer = Promise.withResolvers<StageReply | undefined>();
    if (this.#hasFailed) answer.resolve(undefined);
    else this.#queue.push({ batch, given, answer });
    this.#feed();
    return answer.promise;
  }

  /** True if nothing has failed and nothing is pending. */
  get isFree(): boolean {
    return !this.#hasFailed && this.#queue.length === 0 && this.#members.every(({ waiting }) => waiting === 0);
  }

  /** While held open, the pool keeps the process alive. Initially it is held open. */
  holdOpen(isHeld: boolean): void {
    for (const member of this.#members) member.holdOpen(isHeld);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#fail();
    await Promise.all(this.#members.map((member) => member.end()));
  }

  #feed(): void {
    for (let least = this.#leastBusy(); least.waiting < AHEAD; least = this.#leastBusy()) {
      const job = this.#queue.shift();
      if (job === undefined) return;
      least.send(job);
    }
  }

  #leastBusy(): Member {
    return this.#members.reduce((least, one) => (one.waiting < least.waiting ? one : least));
  }

  /** Fails the whole pool: if one worker cannot do its work, the others should not continue. */
  #fail(): void {
    this.#hasFailed = true;
    for (const { answer } of this.#queue.splice(0)) answer.resolve(undefined);
    for (const member of this.#members) member.giveUp();
  }
}

interface MemberEvents {
  readonly onIdle: () => void;
  readonly onFailure: () => void;
}

/** One worker thread and the jobs sent to it. */
class Member {
  readonly #worker: Worker;
  readonly #sent: Job[] = [];

  constructor(data: StageWorkerData, { onIdle, onFailure }: MemberEvents) {
    this.#worker = new Worker(workerFile("stage-worker"), {
      workerData: data,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on("message", (reply: StageReply) => {
      if (reply.kind === "failed") return onFailure();
      this.#sent.shift()?.answer.resolve(reply);
      onIdle();
    });
    this.#worker.on("error", onFailure);
    this.#worker.on("exit", onFailure);
  }

  get waiting(): number {
    return this.#sent.length;
  }

  send(job: Job): void {
    this.#sent.push(job);
    this.#worker.postMessage(job.batch, job.given);
  }

  giveUp(): void {
    for (const { answer } of this.#sent.splice(0)) answer.resolve(undefined);
  }

  holdOpen(isHeld: boolean): void {
    if (isHeld) this.#worker.ref();
    else this.#worker.unref();
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

/**
 * Returns the memory to transfer: blocks that were assembled for the worker alone are sent without another copy. Short
 * ones share their memory with others.
 */
function givenAway({ blocks }: BlockBatch): ArrayBuffer[] {
  const { buffer, byteLength } = blocks;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

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
