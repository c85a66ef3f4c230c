import { Worker } from "node:worker_threads";
import { ChronicleError } from "../core/values/errors.ts";
import { workerFile, type WorkerName } from "./worker-file.ts";

/** The number of unanswered messages that a worker may have. With two, the worker never idles between two messages. */
const AHEAD = 2;

interface PoolOptions<Reply> {
  readonly name: WorkerName;
  /** The initial data of each worker; one worker is started for each item. */
  readonly data: readonly unknown[];
  /** Returns the failure that a reply reports; `undefined` if it reports none. */
  readonly failureOf: (reply: Reply) => ChronicleError | undefined;
}

/** A message to a worker, and the memory that is transferred with it. */
interface Sending<Request> {
  readonly message: Request;
  readonly transfer?: readonly ArrayBuffer[];
}

interface Job<Request, Reply> {
  /** Makes the message when a worker takes the job. */
  readonly make: () => Sending<Request>;
  readonly answer: PromiseWithResolvers<Reply>;
}

/**
 * Worker threads that run the same code. A free worker takes the next job. If one worker fails, the pool has failed:
 * every job that waits or is under way is rejected with the first failure. Disposing of the pool ends the threads.
 */
export class WorkerPool<Request, Reply> implements AsyncDisposable {
  readonly #members: readonly Member<Request, Reply>[];
  readonly #queue: Job<Request, Reply>[] = [];
  #room: { readonly below: number; readonly found: PromiseWithResolvers<void> } | undefined;
  #failure: ChronicleError | undefined;

  constructor(options: PoolOptions<Reply>) {
    const events = {
      onIdle: () => this.#feed(),
      onFailure: (error: ChronicleError) => this.#fail(error),
    };
    this.#members = options.data.map((data) => new Member(options, data, events));
  }

  /** Resolves to the reply of the worker that takes the job. Rejects with the pool's failure. */
  give(make: () => Sending<Request>): Promise<Reply> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const answer = Promise.withResolvers<Reply>();
    this.#queue.push({ make, answer });
    this.#feed();
    return answer.promise;
  }

  /**
   * Sends each worker one message, even if the pool has failed. Each worker takes the message after its earlier
   * messages. The promise for a dead worker rejects.
   */
  toEach(message: Request): Promise<Reply>[] {
    return this.#members.map((member) => {
      const answer = Promise.withResolvers<Reply>();
      member.send({ message }, answer);
      return answer.promise;
    });
  }

  /** Resolves when fewer than `below` jobs wait for a worker, or when the pool has failed. */
  async whenRoom(below: number): Promise<void> {
    if (this.#queue.length < below || this.#failure !== undefined) return;
    this.#room ??= { below, found: Promise.withResolvers<void>() };
    await this.#room.found.promise;
  }

  /** True if nothing has failed and nothing is pending. */
  get isFree(): boolean {
    return (
      this.#failure === undefined && this.#queue.length === 0 && this.#members.every(({ waiting }) => waiting === 0)
    );
  }

  /** Decides whether the pool keeps the process alive. A new pool keeps the process alive. */
  holdOpen(isHeld: boolean): void {
    for (const member of this.#members) member.holdOpen(isHeld);
  }

  /** Rejects every job that waits or is under way. The threads still run, and answer the messages of `toEach`. */
  giveUp(): void {
    this.#fail(new ChronicleError("IO", "the work of the worker threads was given up"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.giveUp();
    await Promise.all(this.#members.map((member) => member.end()));
  }

  #feed(): void {
    for (let least = this.#leastBusy(); least !== undefined && least.waiting < AHEAD; least = this.#leastBusy()) {
      const job = this.#queue.shift();
      if (job === undefined) break;
      try {
        least.send(job.make(), job.answer);
      } catch (error) {
        job.answer.reject(error);
      }
    }
    if (this.#room === undefined) return;
    if (this.#queue.length >= this.#room.below && this.#failure === undefined) return;
    this.#room.found.resolve();
    this.#room = undefined;
  }

  #leastBusy(): Member<Request, Reply> | undefined {
    return this.#members.reduce<Member<Request, Reply> | undefined>(
      (least, one) => (least === undefined || one.waiting < least.waiting ? one : least),
      undefined,
    );
  }

  #fail(error: ChronicleError): void {
    // The first failure has already rejected all jobs. A later message of `toEach` concerns only the worker that got
    // it.
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const { answer } of this.#queue.splice(0)) answer.reject(error);
    for (const member of this.#members) member.giveUp(error);
    this.#feed();
  }
}

interface MemberEvents {
  readonly onIdle: () => void;
  readonly onFailure: (error: ChronicleError) => void;
}

class Member<Request, Reply> {
  readonly #worker: Worker;
  readonly #events: MemberEvents;
  /** The promises for the replies that have not come yet, in the order of the messages. */
  readonly #sent: PromiseWithResolvers<Reply>[] = [];
  #death: ChronicleError | undefined;

  constructor({ name, failureOf }: PoolOptions<Reply>, data: unknown, events: MemberEvents) {
    this.#events = events;
    this.#worker = new Worker(workerFile(name), {
      workerData: data,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on("message", (reply: Reply) => {
      const answer = this.#sent.shift();
      const failure = failureOf(reply);
      if (failure === undefined) answer?.resolve(reply);
      else {
        answer?.reject(failure);
        events.onFailure(failure);
      }
      events.onIdle();
    });
    this.#worker.on("error", (error) => {
      this.#die(new ChronicleError("IO", `a worker thread failed: ${error.message}`, { cause: error }));
    });
    this.#worker.on("exit", () => this.#die(new ChronicleError("IO", "a worker thread ended too early")));
  }

  get waiting(): number {
    return this.#sent.length;
  }

  send({ message, transfer = [] }: Sending<Request>, answer: PromiseWithResolvers<Reply>): void {
    if (this.#death !== undefined) return answer.reject(this.#death);
    // The message is posted before it is counted, because a message that cannot be posted gets no answer.
    this.#worker.postMessage(message, [...transfer]);
    this.#sent.push(answer);
  }

  /**
   * Rejects the promises for the replies that have not come yet. These replies still arrive, and each of them removes
   * its promise from the list.
   */
  giveUp(error: ChronicleError): void {
    for (const { reject } of this.#sent) reject(error);
  }

  holdOpen(isHeld: boolean): void {
    if (isHeld) this.#worker.ref();
    else this.#worker.unref();
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #die(error: ChronicleError): void {
    this.#death ??= error;
    for (const { reject } of this.#sent.splice(0)) reject(this.#death);
    this.#events.onFailure(this.#death);
  }
}
