import type { DirectionalFilter } from "../filter/directional-filter.ts";
import type { Entry } from "../values/entry.ts";
import type { Hash } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";

/** One of a replica's own changes, as it comes to its origin. */
export interface WriteBackEntry {
  /** Known by this and the replica: given again, it is answered as before and not done again. */
  readonly localSeq: number;
  /** The hash of its event in the replica's own log: another one with this number is of another history. */
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
  /** The last event that was sent to the replica, or that it has proved to hold: what is later it cannot have seen. */
  readonly acknowledged: number;
  /** The last entry of this replica that was decided, as far as the conversation knows that brings these. Left out: nobody asks. */
  readonly after?: number;
  readonly entries: readonly WriteBackEntry[];
  /** Contents that the replica has not got: what others have of the same hash is not its to hand on. */
  readonly missing?: ReadonlySet<Hash>;
}

/** What of a replica's is not taken. */
export interface WriteBackRules {
  /** Its direction `from-replica`. */
  readonly filter?: DirectionalFilter;
  /** Longest content, in bytes. */
  readonly maxBytes?: number;
}

/** Why an entry was not taken: as in the protocol (docs/protocol.md). After `unavailable` it is to be given again. */
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

/** An entry that the origin has taken. */
export interface AcceptedEntry {
  readonly localSeq: number;
  /** The path's iteration now, and the event that recorded it; 0: there never was anything, and there is nothing. */
  readonly iteration: number;
  readonly sequence: number;
}

/** An entry that it has not. */
export interface RejectedEntry {
  readonly localSeq: number;
  readonly reason: WriteBackReason;
  /** The last event of the path, where that is why; or that of what lies in it, or in its way, where that is. */
  readonly currentSequence?: number;
  /** The replica itself has rejected it: the origin has not heard of it. */
  readonly unheard?: true;
  /** The losing state is kept in the origin's history; its content, `null` for a deletion and a folder. */
  readonly kept?: { readonly contentHash: Hash | null };
}

/**
 * What became of some entries, each list by `localSeq`. One that was decided so long ago that nobody remembers how is in
 * neither; it is settled, too.
 */
export interface WriteBackAnswer {
  readonly accepted: readonly AcceptedEntry[];
  readonly rejected: readonly RejectedEntry[];
}

/** How far a replica's entries are decided. */
export interface SettledWriteBack {
  /** The last one that was; 0: none. */
  readonly upTo: number;
  /** Its hash in the replica's own log, where that is known. */
  readonly hash?: Hash;
  /** The answers to its last batch, for a replica that never got them. */
  readonly last: WriteBackAnswer;
}
