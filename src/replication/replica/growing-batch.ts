import type { Hash } from "../../core/values/hash.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";
import type { BlobBatch, BlobStore } from "../../storage/blob-store.ts";

/** Committed when about so many bytes have been taken: after a break they need not come again. */
const PORTION_BYTES = 16 * 1024 * 1024;

/**
 * A batch of any length: it is committed from time to time, while more is taken. Disposed of, what was not committed is given up.
 */
export class GrowingBatch implements AsyncDisposable {
  readonly #blobs: BlobStore;
  readonly #portionBytes: number;
  #batch: BlobBatch | undefined;
  #bytes = 0;
  /** What is being committed; it rejects where that has failed. */
  #committing: Promise<void> = Promise.resolve();

  constructor(blobs: BlobStore, portionBytes = PORTION_BYTES) {
    this.#blobs = blobs;
    this.#portionBytes = portionBytes;
  }

  /** As `BlobBatch.put`. */
  async put(content: Uint8Array): Promise<Hash> {
    const batch = await this.#open();
    this.#bytes += content.length;
    return batch.put(content);
  }

  /** As `BlobBatch.putBlock`. */
  async putBlock(block: BlobBlock, checked?: Promise<void>): Promise<void> {
    const batch = await this.#open();
    this.#bytes += block.bytes.length;
    await batch.putBlock(block, checked);
  }

  /** Makes durable and visible what was taken. More may follow. */
  async commit(): Promise<void> {
    await this.#beginCommit();
    await this.#committing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#batch?.abandon();
    await this.#committing.catch(() => undefined);
  }

  /** At most one is under way, so that memory stays bounded where the disk is slower than what comes. */
  async #beginCommit(): Promise<void> {
    const batch = this.#batch;
    this.#batch = undefined;
    this.#bytes = 0;
    try {
      await this.#committing;
    } catch (error) {
      await batch?.abandon();
      throw error;
    }
    if (batch === undefined) return;
    this.#committing = batch.commit({ beside: true });
    // Whoever commits next is told.
    this.#committing.catch(() => undefined);
  }

  async #open(): Promise<BlobBatch> {
    if (this.#bytes >= this.#portionBytes) await this.#beginCommit();
    return (this.#batch ??= await this.#blobs.batch());
  }
}
