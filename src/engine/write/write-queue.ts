import type { FileWriteShape } from "../../api/file-api.ts";
import { refuseReadOnly } from "../commit/commit.ts";
import type { Caller, Context } from "../log/context.ts";
import { type FileWrite, readyWrite, type ReadyWrite } from "./ready-write.ts";
import type { OperationQueue } from "../capture/operation-queue.ts";
import type { Outcome } from "./write-batch.ts";
import { writeTogether } from "./write-together.ts";

/** The most writes, and the most bytes of contents, in one commit: other operations get their turn in between. */
const MOST_WRITES = 512;
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * The time that a commit waits for clients that were answered together and ask again, in milliseconds: less than a sync
 * takes.
 */
const GATHER_MS = 2;
/** The most turns of the event loop that a commit waits, as the clock may stand still, or be set back. */
const GATHER_TURNS = 2_000;

interface Waiting {
  readonly write: ReadyWrite;
  readonly resolve: (answer: FileWriteShape) => void;
  readonly reject: (error: unknown) => void;
}

/** Queues writes to files: those that come while others are being made durable share the next commit. */
export class WriteQueue {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  #waiting: Waiting[] = [];
  #isScheduled = false;
  /** The number of writes that the last commit answered, or that waited for it to end. */
  #expected = 0;

  constructor(context: Context, queue: OperationQueue) {
    this.#context = context;
    this.#queue = queue;
  }

  /**
   * Resolves when the write is durable. Only its own writer waits for a content that is still being received; writes
   * whose contents are here go in the order in which they were asked for.
   */
  write(write: FileWrite, caller: Caller): Promise<FileWriteShape> {
    return this.#queue.whileOpen(() => {
      refuseReadOnly(this.#context);
      const ready = readyWrite(this.#context, write, caller);
      return ready instanceof Promise ? ready.then((one) => this.#received(one)) : this.#inTurn(ready);
    });
  }

  /** Holds the lease on a content that is in the store but named by no event yet, so that the collector keeps it. */
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
      // If it failed before any write was taken, all that wait fail.
      (error: unknown) => this.#failed(taken ?? this.#waiting.splice(0), error),
    );
  }

  /**
   * Waits for as many writes as the last commit saw, so that many clients do not fall into small groups. A client that
   * writes alone does not wait.
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
