import { Worker } from "node:worker_threads";
import { ChronicleError } from "../core/errors.ts";
import type { StageReply, StageWorkerData } from "../stage-worker.ts";
import type { StageBatch, StageColumns } from "./stage-job.ts";

/** Batches that a worker has waiting, so that it never idles between two. */
const AHEAD = 2;

interface Job {
  readonly batch: StageBatch;
  readonly answer: PromiseWithResolvers<StageColumns>;
}

/** Worker threads that write files from packs; whoever is free takes the next batch. Disposed of, they end. */
export class StagePool implements AsyncDisposable {
  readonly #members: readonly Member[];
  readonly #queue: Job[] = [];
  #failure: ChronicleError | undefined;

  constructor(data: StageWorkerData, count: number) {
    const onIdle = (): void => this.#feed();
    const onFailure = (error: ChronicleError): void => this.#fail(error);
    this.#members = Array.from({ length: count }, () => new Member(data, onIdle, onFailure));
  }

  /** Writes a batch; rejects where a worker has failed. */
  run(batch: StageBatch): Promise<StageColumns> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const answer = Promise.withResolvers<StageColumns>();
    this.#queue.push({ batch, answer });
    this.#feed();
    return answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#fail(new ChronicleError("IO", "the threads that write files have ended"));
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

  #fail(error: ChronicleError): void {
    this.#failure ??= error;
    for (const { answer } of this.#queue.splice(0)) answer.reject(error);
    for (const member of this.#members) member.fail(error);
  }
}

/** One worker thread and what it was given. */
class Member {
  readonly #worker: Worker;
  readonly #sent: Job[] = [];

  constructor(data: StageWorkerData, onIdle: () => void, onFailure: (error: ChronicleError) => void) {
    // In a checkout the sources run as they are; in the package this file is bundled beside the worker.
    const file = import.meta.url.endsWith(".ts") ? "../stage-worker.ts" : "./stage-worker.js";
    this.#worker = new Worker(new URL(file, import.meta.url), {
      workerData: data,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on("message", (reply: StageReply) => {
      if (reply.kind === "failed") return onFailure(new ChronicleError("IO", reply.message));
      this.#sent.shift()?.answer.resolve(reply.columns);
      onIdle();
    });
    this.#worker.on("error", (cause) => onFailure(new ChronicleError("IO", "a worker thread has failed", { cause })));
    this.#worker.on("exit", () => onFailure(new ChronicleError("IO", "a worker thread ended too early")));
  }

  get waiting(): number {
    return this.#sent.length;
  }

  send(job: Job): void {
    this.#sent.push(job);
    this.#worker.postMessage(job.batch);
  }

  fail(error: ChronicleError): void {
    for (const { answer } of this.#sent.splice(0)) answer.reject(error);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
