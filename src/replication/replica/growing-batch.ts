import type { Hash } from "../../core/values/hash.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";
import type { BlobBatch, BlobStore } from "../../storage/blob-store.ts";

/** Bytes after which a batch is committed, so that they need not come again after an interruption. */
const PORTION_BYTES = 16 * 1024 * 1024;

/**
 * A batch of any length, committed from time to time while more is taken. Disposing of it drops what was not committed.
 */
export class GrowingBatch implements AsyncDisposable {
  readonly #blobs: BlobStore;
  readonly #portionBytes: number;
  #batch: BlobBatch | undefined;
  #bytes = 0;
  /** The commit under way; rejects if that has failed. */
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

  /** At most one commit is under way, so that memory stays bounded if the disk is slower than the network. */
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
    // The next commit reports the error.
    this.#committing.catch(() => undefined);
  }

  async #open(): Promise<BlobBatch> {
    if (this.#bytes >= this.#portionBytes) await this.#beginCommit();
    return (this.#batch ??= await this.#blobs.batch());
  }
}
