import { formatBytes } from "../values/duration.ts";
import { ChronicleError } from "../values/errors.ts";

/** The sizes, in bytes, that the error reports. `taken` is the size of the store. */
export interface StoreFull {
  readonly taken: number;
  /** The size of the addition; 0 if the store has already reached its limit, and takes no addition of any size. */
  readonly wanted: number;
  readonly limit: number;
}

const WAY_OUT =
  "everything kept so far is safe; free space with `chronicle prune` and `chronicle gc`, or raise max_store_bytes in config.yaml";

/**
 * Returns the error for a store that must not grow further. The hint and the data have the size of all workspaces
 * together. The message does not have this size, because messages are also recorded in a workspace. The readers of that
 * workspace must not learn about other workspaces.
 */
export function storeFull({ taken, wanted, limit }: StoreFull): ChronicleError {
  const more = wanted === 0 ? "nothing" : `no ${formatBytes(wanted)}`;
  return new ChronicleError(
    "LIMIT_EXCEEDED",
    `the store is full, and ${more} more may be kept (max_store_bytes is ${formatBytes(limit)})`,
    { hint: `the store takes ${formatBytes(taken)}; ${WAY_OUT}`, data: { taken, wanted, limit } },
  );
}

/**
 * Returns a `storeFull` error without the store's size, and any other error unchanged. Callers who may see only a part
 * of the store must not get this size. The size reveals whether other workspaces have a certain content. The hint is
 * removed as a whole, because the hint has the size, too.
 */
export function withoutStoreSize(error: unknown): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "LIMIT_EXCEEDED" || !("taken" in error.data)) return error;
  const { taken: _size, ...data } = error.data;
  return new ChronicleError("LIMIT_EXCEEDED", error.message, { data, cause: error });
}
