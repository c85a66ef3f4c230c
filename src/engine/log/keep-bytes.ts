import { sha256, type Hash } from "../../core/values/hash.ts";
import { withBatch, type BlobStore } from "../../storage/blob-store.ts";

/**
 * Stores some bytes as a content of their own, durably, and returns its hash. Costs one lookup if it is stored and
 * sound.
 */
export async function keepBytes(blobs: BlobStore, bytes: Uint8Array): Promise<Hash> {
  const hash = sha256(bytes);
  if ((await blobs.sound([hash])).has(hash)) return hash;
  return withBatch(blobs, (batch) => batch.put(bytes));
}
