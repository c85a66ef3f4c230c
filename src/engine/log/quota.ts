import { sha256, type Hash } from "../../core/values/hash.ts";
import { withBatch, type BlobStore } from "../../storage/blob-store.ts";
import { storeFull } from "../../core/text/store-full.ts";
import type { ScannedPath } from "../../worktree/worktree.ts";
import type { Context } from "./context.ts";

/**
 * Stores some bytes as a content of their own, durably, and returns its hash. Costs one lookup if it is stored and
 * sound.
 */
export async function keepBytes(blobs: BlobStore, bytes: Uint8Array): Promise<Hash> {
  const hash = sha256(bytes);
  if ((await blobs.sound([hash])).has(hash)) return hash;
  return withBatch(blobs, (batch) => batch.put(bytes));
}

/** The reserve beyond the limit that a restore may use, since it first keeps what it replaces. */
const RESERVE_SHARE = 10;
const RESERVE_BYTES = 1024 * 1024;

export interface QuotaOptions {
  /** True if the write makes a restore possible: the reserve is for that. */
  readonly reserve?: boolean;
}

/**
 * Throws `LIMIT_EXCEEDED` if the store would take more than `max_store_bytes` with so many bytes more (default: if it
 * takes that already). Existing contents are kept, new ones are refused. Does not read the disk while there is room.
 */
export function refuseOverQuota(context: Context, bytes = 0, options: QuotaOptions = {}): void {
  if (mayTake(context, bytes, options)) return context.store.grew(bytes);
  throw storeFull({
    taken: context.store.takes(),
    wanted: bytes,
    limit: context.retention.limits.max_store_bytes,
  });
}

/**
 * Does the same for a batch before it is read and kept. Most scanned files are recorded already: a file with the
 * recorded size counts nothing, as long as there is any room.
 */
export async function refuseBatchOverQuota(
  context: Context,
  batch: readonly ScannedPath[],
  options: QuotaOptions,
): Promise<void> {
  const files = batch.filter(({ stat }) => stat.kind === "file");
  const all = sizeOf(files);
  if (all === 0 || mayTake(context, all, options)) return context.store.grew(all);
  const paths = files.map((one) => one.path);
  const recorded = await context.index.iterationsAt(paths, (await context.index.head()).seq);
  refuseOverQuota(context, sizeOf(files.filter(({ stat }, i) => recorded[i]?.entry?.size !== stat.size)), options);
}

/**
 * Does the same for one file elsewhere: one that was recorded with this size counts nothing, as long as there is any
 * room.
 */
export async function refuseFileOverQuota(
  context: Context,
  { size, recorded }: { readonly size: number; readonly recorded: () => Promise<number | undefined> },
  options: QuotaOptions,
): Promise<void> {
  if (mayTake(context, size, options)) return context.store.grew(size);
  refuseOverQuota(context, (await recorded()) === size ? 0 : size, options);
}

function sizeOf(files: readonly ScannedPath[]): number {
  return files.reduce((sum, { stat }) => sum + stat.size, 0);
}

/**
 * True if so many bytes more stay within the limit. Contents that are compressed or already stored take less than
 * announced, so it measures the store before it answers no.
 */
function mayTake({ retention, store }: Context, bytes: number, { reserve }: QuotaOptions): boolean {
  const max = retention.limits.max_store_bytes;
  const limit = reserve === true ? max + Math.floor(max / RESERVE_SHARE) + RESERVE_BYTES : max;
  return max === 0 || !isOver(store.takes(), bytes, limit) || !isOver(store.takes({ fresh: true }), bytes, limit);
}

function isOver(taken: number, bytes: number, limit: number): boolean {
  return bytes === 0 ? taken >= limit : taken + bytes > limit;
}
