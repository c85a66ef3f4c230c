import type { DirectionalFilter } from "../filter/directional-filter.ts";
import type { Entry } from "../values/entry.ts";
import type { Hash } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";

/** One of a replica's own changes, as its origin receives it. */
export interface WriteBackEntry {
  /**
   * Identifies the entry, together with the replica: an entry that is sent again is answered as before and not done
   * again.
   */
  readonly localSeq: number;
  /** The hash of its event in the replica's own log. Another hash with this number belongs to another history. */
  readonly eventHash?: Hash;
  readonly path: WorkspacePath;
  /** `undefined`: deleted. */
  readonly entry: Entry | undefined;
  /** The origin's event of this path that the change is based on; 0: the replica has seen none. */
  readonly seen: number;
  readonly actor: string;
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
}

/** Entries of one replica that are decided together, by `localSeq`. */
export interface WriteBackBatch {
  readonly replica: string;
  /** The last event that was sent to the replica or that it has proved to hold. It cannot have seen later ones. */
  readonly acknowledged: number;
  /**
   * The replica's last decided entry, as far as the conversation that brings these entries knows. `undefined`: not
   * checked.
   */
  readonly after?: number;
  readonly entries: readonly WriteBackEntry[];
  /** Contents that the replica does not have: it may not pass on others' contents that have the same hash. */
  readonly missing?: ReadonlySet<Hash>;
}

/** Limits on what is accepted from a replica. */
export interface WriteBackRules {
  /** The filter of the direction `from-replica`. */
  readonly filter?: DirectionalFilter;
  /** Longest content, in bytes. */
  readonly maxBytes?: number;
}

/**
 * Why an entry was rejected, as in the protocol (docs/protocol.md). An entry that was `unavailable` must be sent again.
 */
export type WriteBackReason =
  | "stale"
  | "causal-lie"
  | "hash-mismatch"
  | "path"
  | "filtered"
  | "read-only"
  | "too-large"
  | "content-missing"
  | "erased"
  | "unavailable";

/** An entry that the origin accepted. */
export interface AcceptedEntry {
  readonly localSeq: number;
  /** The path's iteration now, and the event that recorded it; 0: the path never existed and does not exist. */
  readonly iteration: number;
  readonly sequence: number;
}

/** An entry that the origin rejected. */
export interface RejectedEntry {
  readonly localSeq: number;
  readonly reason: WriteBackReason;
  /** The event that is the reason, if one is: the last event of the path, or of a path in it or in its way. */
  readonly currentSequence?: number;
  /** Set if the replica itself rejected it: the origin does not know of it. */
  readonly unheard?: true;
  /** Set if the losing state is kept in the origin's history. The hash is `null` for a deletion and a folder. */
  readonly kept?: { readonly contentHash: Hash | null };
}

/**
 * The outcome of some entries, each list sorted by `localSeq`. An entry that was decided so long ago that its outcome
 * is no longer known is in neither list; it is settled, too.
 */
export interface WriteBackAnswer {
  readonly accepted: readonly AcceptedEntry[];
  readonly rejected: readonly RejectedEntry[];
}

/** The progress of deciding a replica's entries. */
export interface SettledWriteBack {
  /** The last decided entry; 0: none. */
  readonly upTo: number;
  /** Its hash in the replica's own log, if known. */
  readonly hash?: Hash;
  /** The answers to its last batch, for a replica that never received them. */
  readonly last: WriteBackAnswer;
}
