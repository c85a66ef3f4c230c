import type { FileWriteShape } from "../../api/file-api.ts";
import { refuseReadOnly } from "../commit/commit.ts";
import type { Caller, Context } from "../log/context.ts";
import { type FileWrite, readyWrite, type ReadyWrite } from "./ready-write.ts";
import type { OperationQueue } from "../capture/operation-queue.ts";
import type { Outcome } from "./write-batch.ts";
import { writeTogether } from "./write-together.ts";

/** The maximum number of writes in one commit. Other operations get their turn between two commits. */
const MOST_WRITES = 512;
/**
 * The maximum size, in bytes, of all contents in one commit. A write that is alone in its commit may have a larger
 * content.
 */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * The maximum time, in ms, for which a commit waits for more writes. Clients that were answered together are likely to
 * write again together. The wait is shorter than the fsync that each further commit would need.
 */
const GATHER_MS = 2;
/**
 * The maximum number of turns of the event loop for which a commit waits. This limit is needed because the clock can
 * stand still or be set back.
 */
const GATHER_TURNS = 2_000;

interface Waiting {
  readonly write: ReadyWrite;
  readonly resolve: (answer: FileWriteShape) => void;
  readonly reject: (error: unknown) => void;
}

/** Queues writes to files. Writes that arrive while others are being made durable share the next commit. */
export class WriteQueue {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  #waiting: Waiting[] = [];
  #isScheduled = false;
  /**
   * The number of writes that the next commit waits for: those that the last commit answered, plus those that were
   * waiting when the last commit ended.
   */
  #expected = 0;

  constructor(context: Context, queue: OperationQueue) {
    this.#context = context;
    this.#queue = queue;
  }

  /**
   * Queues a write. Resolves when the write is durable. A write whose content is still being received does not delay
   * other writes. Writes whose contents are complete are done in the order of their calls.
   */
  write(write: FileWrite, caller: Caller): Promise<FileWriteShape> {
    return this.#queue.whileOpen(() => {
      refuseReadOnly(this.#context);
      const ready = readyWrite(this.#context, write, caller);
      return ready instanceof Promise ? ready.then((one) => this.#received(one)) : this.#inTurn(ready);
    });
  }

  /**
   * Queues a write whose content was received. Keeps the content's lease until the write is done, because no event
   * names the content before, and garbage collection could free it.
   */
  async #received(write: ReadyWrite): Promise<FileWriteShape> {
    using _lease = write.kind === "put" ? write.content.lease : undefined;
    return await this.#inTurn(write);
  }

  #inTurn(write: ReadyWrite): Promise<FileWriteShape> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    let taken: readonly Waiting[] | undefined;
    const turn = this.#queue.change(async () => {
      await this.#gather();
      taken = this.#take();
      return writeTogether(
        this.#context,
        taken.map((one) => one.write),
      );
    });
    turn.then(
      (outcomes) => this.#ended(taken ?? [], outcomes),
      // If the turn failed before it took any write, all waiting writes fail.
      (error: unknown) => this.#failed(taken ?? this.#waiting.splice(0), error),
    );
  }

  /**
   * Waits until `#expected` writes have arrived, so that the writes of many clients are not split into small commits.
   * The wait is limited by `GATHER_MS` and `GATHER_TURNS`. A client that writes alone does not wait.
   */
  async #gather(): Promise<void> {
    const { now } = this.#context;
    const end = now() + GATHER_MS;
    for (let turn = 0; turn < GATHER_TURNS && this.#waiting.length < this.#expected && now() < end; turn += 1) {
      await new Promise<void>((done) => setImmediate(done));
    }
  }

  #take(): Waiting[] {
    let bytes = 0;
    const upTo = this.#waiting.findIndex(({ write }, i) => {
      bytes += write.kind === "put" ? (write.content.bytes?.length ?? 0) : 0;
      return i === MOST_WRITES || (i > 0 && bytes > MOST_BYTES);
    });
    return this.#waiting.splice(0, upTo < 0 ? this.#waiting.length : upTo);
  }

  #ended(taken: readonly Waiting[], outcomes: readonly Outcome[]): void {
    for (const [i, { resolve, reject }] of taken.entries()) {
      const outcome = outcomes[i];
      if (outcome !== undefined && "answer" in outcome) resolve(outcome.answer);
      else reject(outcome?.error);
    }
    this.#expected = Math.min(MOST_WRITES, taken.length + this.#waiting.length);
    this.#isScheduled = false;
    this.#schedule();
  }

  #failed(taken: readonly Waiting[], error: unknown): void {
    for (const { reject } of taken) reject(error);
    this.#isScheduled = false;
    this.#schedule();
  }
}
