import type { Hash } from "../../../core/values/hash.ts";
import {
  type PathDecision,
  mergeContents,
  type MergedContents,
  type PendingMerge,
} from "../../../core/tree/reconcile.ts";
import { withBatch, type BlobStore } from "../../../storage/blob-store.ts";
import type { SettledDecision } from "./decide-cycle.ts";

/** The maximum size, in bytes, of a content that is merged. People do not edit longer contents by hand. */
const MOST_BYTES = 8 * 1024 ** 2;

/** The decisions after all merges, and the hashes of the merged contents (`contents`), which are in the store. */
export interface SettledMerges {
  readonly decisions: readonly SettledDecision[];
  readonly contents: readonly Hash[];
}

/**
 * Carries out pending merges. If a content is missing or too long, or if the contents of the two sides do not merge,
 * the merge's `otherwise` decision is used.
 */
export async function settleMerges(blobs: BlobStore, decisions: readonly PathDecision[]): Promise<SettledMerges> {
  const settled: SettledDecision[] = [];
  const contents: Buffer[] = [];
  for (const one of decisions) {
    const { decision } = one;
    if (decision.action !== "merge") {
      settled.push({ ...one, decision });
      continue;
    }
    const merged = await merge(blobs, decision);
    if (merged.content !== undefined) contents.push(merged.content);
    settled.push({ ...one, decision: merged.decision });
  }
  return { decisions: settled, contents: await keepContents(blobs, contents) };
}

async function merge(blobs: BlobStore, decision: PendingMerge): Promise<MergedContents> {
  const { base, local, remote } = decision.contents;
  if ([base, local, remote].some(({ size }) => size > MOST_BYTES)) return { decision: decision.otherwise };
  const [before, here, there] = await Promise.all([base, local, remote].map(({ hash }) => contentOf(blobs, hash)));
  if (before === undefined || here === undefined || there === undefined) return { decision: decision.otherwise };
  return mergeContents(decision, { base: before, local: here, remote: there });
}

function contentOf(blobs: BlobStore, hash: Hash | undefined): Promise<Buffer | undefined> {
  return hash === undefined ? Promise.resolve(undefined) : blobs.get(hash);
}

/** Stores the contents durably, and returns their hashes in the same order. */
export async function keepContents(blobs: BlobStore, contents: readonly Uint8Array[]): Promise<Hash[]> {
  if (contents.length === 0) return [];
  return withBatch(blobs, async (batch) => {
    const hashes: Hash[] = [];
    for (const content of contents) hashes.push(await batch.put(content));
    return hashes;
  });
}
