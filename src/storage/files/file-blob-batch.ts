import { setImmediate as othersHadATurn } from "node:timers/promises";
import type { CommitOptions, BlobBatch } from "../blob-store.ts";
import type { SinkResult } from "../blob-intake.ts";
import type { OpenSink } from "./pack-sink.ts";
import type { PackWriter } from "./pack-writer.ts";
import type { Hash } from "../../core/values/hash.ts";
import { checkBlock, type BlobBlock } from "../blob-block.ts";
import type { HeldLock } from "../lock.ts";

interface BatchHost {
  /** Opens a sink that appends to the pack in the store object's own lane (see `PackLeases`). */
  openSink(): Promise<OpenSink>;
  /** Makes the contents of a sink durable, then visible. Commits that are requested together share one sync. */
  commitSink(sink: OpenSink, options: CommitOptions | undefined): Promise<void>;
  batchEnded(batch: FileBlobBatch): void;
}

/** A batch of a `FileBlobStore`. The batch holds a lease until it ends, and opens its sink at the first put. */
export class FileBlobBatch implements BlobBatch {
  readonly #host: BatchHost;
  readonly #lease: HeldLock;
  #sink: Promise<OpenSink> | undefined;
  #state: "open" | "committing" | "ended" = "open";

  constructor(host: BatchHost, lease: HeldLock) {
    this.#host = host;
    this.#lease = lease;
  }

  async put(content: Uint8Array): Promise<Hash> {
    return (await this.#open()).put(content);
  }

  async putBlock(block: BlobBlock, checked?: Promise<void>): Promise<void> {
    this.#mustBeOpen();
    if (checked === undefined) checkBlock(block);
    else await checked;
    (await this.#open()).putBlock(block);
  }

  async putStream(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): Promise<{ readonly hash: Hash; readonly size: number }> {
    const intake = (await this.#open()).intake(true);
    try {
      for await (const piece of pieces) {
        this.#mustBeOpen();
        intake.add(piece);
      }
      this.#mustBeOpen();
      return intake.end();
    } catch (error) {
      intake.abandon();
      throw error;
    }
  }

  async commit(options?: CommitOptions): Promise<void> {
    this.#mustBeOpen();
    this.#state = "committing";
    try {
      if (this.#sink !== undefined) await this.#host.commitSink(await this.#sink, options);
    } finally {
      await this.#end();
    }
  }

  async abandon(): Promise<void> {
    if (this.#state === "open") await this.#end();
  }

  async #end(): Promise<void> {
    this.#state = "ended";
    try {
      const sink = await this.#sink?.catch(() => undefined);
      sink?.abandon();
    } finally {
      this.#lease.release();
      this.#host.batchEnded(this);
    }
  }

  #open(): Promise<OpenSink> {
    this.#mustBeOpen();
    this.#sink ??= this.#host.openSink().catch((error: unknown) => {
      this.#sink = undefined;
      throw error;
    });
    return this.#sink;
  }

  #mustBeOpen(): void {
    if (this.#state !== "open") throw new Error("this batch has been committed or abandoned");
  }
}

interface Waiting extends CommitOptions {
  readonly sink: OpenSink;
  readonly writer: PackWriter;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Commits the sinks of one writer in groups, one group after the other. The sinks of a group share one sync. A group
 * consists of the commits that are requested in one turn of the event loop, or during the sync of the previous group.
 */
export class CommitGroup {
  readonly #publish: (result: SinkResult) => void;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(publish: (result: SinkResult) => void) {
    this.#publish = publish;
  }

  commit(sink: OpenSink, writer: PackWriter, options: CommitOptions = {}): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ ...options, sink, writer, resolve, reject });
    this.#running ??= this.#run(options.beside === true);
    return promise;
  }

  /** Resolves when nothing is being committed. Never rejects. */
  async rest(): Promise<void> {
    await this.#running;
  }

  async #run(isBeside: boolean): Promise<void> {
    // Wait until all other work had a turn. Workspaces that write at the same time then share one sync. If `isBeside`
    // is true, do not wait, because commits that are requested during a background sync share the next sync anyway.
    if (!isBeside) await othersHadATurn();
    while (this.#waiting.length > 0) await this.#commitAll();
    this.#running = undefined;
  }

  async #commitAll(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    const flushed = group.filter((each) => attempt(each, () => each.sink.flush()));
    const isBeside = flushed.some(({ beside }) => beside === true);
    const synced = isBeside
      ? await syncBeside(flushed)
      : flushed.filter((each) => attempt(each, () => each.writer.sync()));
    for (const each of synced) {
      if (attempt(each, () => this.#publish(each.sink.settle()))) each.resolve();
    }
  }
}

/**
 * Syncs the writer of these sinks, and returns the sinks. If the sync fails, rejects their commits, and returns an
 * empty list.
 */
async function syncBeside(flushed: readonly Waiting[]): Promise<readonly Waiting[]> {
  try {
    await flushed[0]?.writer.syncBeside();
    return flushed;
  } catch (error) {
    for (const { reject } of flushed) reject(error);
    return [];
  }
}

function attempt(waiting: Waiting, action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    waiting.reject(error);
    return false;
  }
}
