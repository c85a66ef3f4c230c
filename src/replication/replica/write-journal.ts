import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { Signal } from "../../util/signal.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";

/**
 * A replica's own changes for its origin, in order, each durable before it is shown here. `localSeq` is the event's seq
 * in the replica's own log.
 */
export interface WriteJournal {
  /** The last entry whose answer the replica remembers; 0 if none. The origin knows better. */
  readonly settledTo: number;
  /**
   * Returns the next entries after one, at most `limit`. `upTo`: the last entry that was considered; none before it is
   * left out.
   */
  next(after: number, limit: number): Promise<JournalPage>;
  /**
   * Notes that all entries up to here have their answers, or need none. An entry whose answer was lost was decided with
   * event `decidedBy` of the origin at the latest.
   */
  settled(upTo: number, answer: WriteBackAnswer, decidedBy?: number): Promise<void>;
  /**
   * Notes that the origin remembers its answers up to here, and that its last event is `head`. If it has already given
   * later answers, or decided with a later event, it was put back to an earlier state.
   */
  remembered(upTo: number, head: number): void;
  /**
   * True if this own event is still the one that the origin has heard of, or if that cannot be told: `hash` is
   * undefined, or the event was compacted away.
   */
  isStillHeld(localSeq: number, hash: Hash | undefined): Promise<boolean>;
  /** True if this own event changes this path, or something in it. An event that is no longer known counts as one. */
  hasWritten(localSeq: number, path: WorkspacePath): Promise<boolean>;
  /** Emitted when there may be more entries. */
  readonly changed: Signal<void>;
  /** Opens the content of an entry; `undefined` if it is gone. */
  open(hash: Hash): Promise<BlobReader | undefined>;
}

/** A page of a journal. */
export interface JournalPage {
  readonly entries: readonly WriteBackEntry[];
  readonly upTo: number;
}
