import type { DirectionalFilter } from "../../core/directional-filter.ts";
import type { WriteBackEntry } from "../../core/write-back.ts";

/** Entries of one replica, in the order of `localSeq`, whose contents are in the store. */
export interface WriteBack {
  readonly replica: string;
  /** The last event that the replica is known to hold: what is later it cannot have seen. */
  readonly acknowledged: number;
  readonly entries: readonly WriteBackEntry[];
  /** What of the replica's is not taken (its direction `from-replica`). */
  readonly filter?: DirectionalFilter;
  /** Longest content, in bytes. */
  readonly maxBytes?: number;
}
