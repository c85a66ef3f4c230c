import { createHash } from "node:crypto";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { withBatch, type BlobStore } from "../../storage/blob-store.ts";
import type { OfferedContent } from "../log/repair-source.ts";

/** Contents up to this size are held in memory until their hash is known; larger ones are read twice. */
const HELD_BYTES = 8 * 1024 * 1024;
/** The number of bytes that are held until they are made durable together. */
const PORTION_BYTES = 16 * 1024 * 1024;

/** Stores offered contents anew: each only after its bytes were found to match its hash. */
export class StoreAnew {
  readonly #blobs: BlobStore;
  readonly #stored: (hash: Hash, where: string) => void;
  readonly #held = new Map<Hash, { readonly bytes: Buffer; readonly where: string }>();
  #heldBytes = 0;

  /** `stored` is called for each content, once it is durable. */
  constructor(blobs: BlobStore, stored: (hash: Hash, where: string) => void) {
    this.#blobs = blobs;
    this.#stored = stored;
  }

  /** Takes an offer if its bytes match its hash. It is durable after `commit`. */
  async take(offer: OfferedContent): Promise<void> {
    if (this.#held.has(offer.hash)) return;
    if (offer.size > HELD_BYTES) return this.#takeLarge(offer);
    const bytes = await bytesOf(offer);
    if (bytes === undefined || sha256(bytes) !== offer.hash) return;
    this.#held.set(offer.hash, { bytes, where: offer.where });
    this.#heldBytes += bytes.length;
    if (this.#heldBytes >= PORTION_BYTES) await this.commit();
  }

  async commit(): Promise<void> {
    const held = [...this.#held];
    this.#held.clear();
    this.#heldBytes = 0;
    if (held.length === 0) return;
    await withBatch(this.#blobs, async (batch) => {
      for (const [, { bytes }] of held) await batch.put(bytes);
    });
    for (const [hash, { where }] of held) this.#stored(hash, where);
  }

  /**
   * Stores a large content. Nothing is written before the whole was hashed once; if the bytes differ the second time,
   * it is given up.
   */
  async #takeLarge(offer: OfferedContent): Promise<void> {
    const digest = createHash("sha256");
    const isRead = await readBounded(offer, (piece) => digest.update(piece));
    if (!isRead || digest.digest("hex") !== offer.hash) return;
    const batch = await this.#blobs.batch();
    try {
      const source = new SourceOfBatch(offer);
      const stored = await source.into((pieces) => batch.putStream(pieces));
      if (stored?.hash !== offer.hash) return;
      await batch.commit();
      this.#stored(offer.hash, offer.where);
    } finally {
      await batch.abandon();
    }
  }
}

async function bytesOf(offer: OfferedContent): Promise<Buffer | undefined> {
  const held: Buffer[] = [];
  const isRead = await readBounded(offer, (piece) => held.push(Buffer.from(piece)));
  return isRead ? Buffer.concat(held) : undefined;
}

/** Reads an offer; returns false if it could not be read, or is longer than announced. */
async function readBounded(offer: OfferedContent, take: (piece: Uint8Array) => void): Promise<boolean> {
  let left = offer.size;
  try {
    for await (const piece of offer.pieces()) {
      left -= piece.length;
      if (left < 0) return false;
      take(piece);
    }
    return true;
  } catch (error) {
    if (isTrouble(error)) return false;
    throw error;
  }
}

/** Passes the pieces of an offer to the store, and tells faults of the offer from faults of the store. */
class SourceOfBatch {
  readonly #offer: OfferedContent;
  #hasFailed = false;

  constructor(offer: OfferedContent) {
    this.#offer = offer;
  }

  /** Resolves to `undefined` if the offer could not be read to its end. */
  async into<T>(put: (pieces: AsyncIterable<Uint8Array>) => Promise<T>): Promise<T | undefined> {
    try {
      return await put(this.#pieces());
    } catch (error) {
      if (this.#hasFailed && isTrouble(error)) return undefined;
      throw error;
    }
  }

  async *#pieces(): AsyncGenerator<Uint8Array, void> {
    let left = this.#offer.size;
    const pieces = this.#offer.pieces();
    this.#hasFailed = true;
    for await (const piece of pieces) {
      left -= piece.length;
      if (left < 0) throw new ChronicleError("BLOB_CORRUPT", "a content is longer than was said");
      this.#hasFailed = false;
      yield piece;
      this.#hasFailed = true;
    }
    this.#hasFailed = false;
  }
}

function isTrouble(error: unknown): boolean {
  return error instanceof ChronicleError || errnoOf(error) !== undefined;
}
