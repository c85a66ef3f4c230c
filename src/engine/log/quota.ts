import { sha256, type Hash } from "../../core/values/hash.ts";
import { withBatch, type BlobStore } from "../../storage/blob-store.ts";
import { storeFull } from "../../core/text/store-full.ts";
import type { ScannedPath } from "../../worktree/worktree.ts";
import type { Context } from "./context.ts";

/**
 * A restore first stores the files that it replaces. With these files, the store may exceed the limit `max_store_bytes`
 * by a reserve. The reserve is the limit divided by `RESERVE_SHARE`, plus `RESERVE_BYTES`.
 */
const RESERVE_SHARE = 10;
const RESERVE_BYTES = 1024 * 1024;

export interface QuotaOptions {
  /** True if the write prepares a restore. Such a write may use the reserve. */
  readonly reserve?: boolean;
}

/**
 * Throws `LIMIT_EXCEEDED` if the store would exceed `max_store_bytes` with these bytes. If `bytes` is 0, throws if the
 * store has reached the limit. No contents are freed to make room. If there is room, counts these bytes as taken,
 * without reading the disk.
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
 * Like `refuseOverQuota`, for a batch of files that are to be read and stored. If the whole batch does not fit, counts
 * only the files whose sizes differ from their recorded sizes, because most of the other files are stored already.
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

/** Like `refuseBatchOverQuota`, for a single file. If the file has its recorded size, it counts as stored already. */
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
 * True if the store may take these bytes. The known size of the store can be too large, because some contents were
 * compressed or stored already. The store is therefore measured before this function returns false.
 */
function mayTake({ retention, store }: Context, bytes: number, { reserve }: QuotaOptions): boolean {
  const max = retention.limits.max_store_bytes;
  const limit = reserve === true ? max + Math.floor(max / RESERVE_SHARE) + RESERVE_BYTES : max;
  return max === 0 || !isOver(store.takes(), bytes, limit) || !isOver(store.takes({ fresh: true }), bytes, limit);
}

function isOver(taken: number, bytes: number, limit: number): boolean {
  return bytes === 0 ? taken >= limit : taken + bytes > limit;
}

/**
 * Stores bytes as a content, durably, and returns the hash of the content. Writes nothing if an undamaged copy is
 * stored already.
 */
export async function keepBytes(blobs: BlobStore, bytes: Uint8Array): Promise<Hash> {
  const hash = sha256(bytes);
  if ((await blobs.sound([hash])).has(hash)) return hash;
  return withBatch(blobs, (batch) => batch.put(bytes));
}
