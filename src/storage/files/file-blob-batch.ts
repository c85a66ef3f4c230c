import type { Hash } from "../../core/values/hash.ts";
import { checkBlock, type BlobBlock } from "../blob-block.ts";
import type { BlobBatch, CommitOptions } from "../blob-store.ts";
import type { HeldLock } from "../lock.ts";
import type { OpenSink } from "./pack-sink.ts";

/** The parts of a store that a batch uses. */
export interface BatchHost {
  /** Opens a sink on the store's own lane. */
  openSink(): Promise<OpenSink>;
  /** Makes a sink durable, then visible. Commits requested together share one sync. */
  commitSink(sink: OpenSink, options: CommitOptions | undefined): Promise<void>;
  /** Called when the batch has ended. */
  batchEnded(batch: FileBlobBatch): void;
}

/** A batch on a `FileBlobStore`. Holds a lease from beginning to end; takes a lane only on the first put. */
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
