import { formatBytes } from "../values/duration.ts";
import { ChronicleError } from "../values/errors.ts";

/** What a store takes, and what more was to be kept, in bytes. */
export interface StoreFull {
  readonly taken: number;
  /** 0: the store takes its limit already, whatever was to be kept. */
  readonly wanted: number;
  readonly limit: number;
}

const WAY_OUT =
  "everything kept so far is safe; free some with `chronicle prune` and `chronicle gc`, or raise max_store_bytes in config.yaml";

/**
 * The error for a store that may take no more. What all workspaces take together stands in its hint and data alone: its words are
 * also recorded in a workspace, where those read them who may see no other.
 */
export function storeFull({ taken, wanted, limit }: StoreFull): ChronicleError {
  const more = wanted === 0 ? "nothing" : `no ${formatBytes(wanted)}`;
  return new ChronicleError(
    "LIMIT_EXCEEDED",
    `the store is full, and ${more} more may be kept (max_store_bytes is ${formatBytes(limit)})`,
    { hint: `it takes ${formatBytes(taken)}; ${WAY_OUT}`, data: { taken, wanted, limit } },
  );
}

/** The same error for whoever may see a part of the store only: its size would tell whether others have a certain content. */
export function withoutStoreSize(error: unknown): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "LIMIT_EXCEEDED" || !("taken" in error.data)) return error;
  const { taken: _size, ...data } = error.data;
  return new ChronicleError("LIMIT_EXCEEDED", error.message, { data, cause: error });
}
