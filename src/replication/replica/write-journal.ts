import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { Signal } from "../../util/signal.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";

/**
 * A replica's own durable changes for its origin, in order. The `localSeq` of an entry is the seq of its event in the
 * replica's own log.
 */
export interface WriteJournal {
  /**
   * The last entry for which this replica remembers the origin's answer; 0 if there is none. The origin may already
   * have decided later entries.
   */
  readonly settledTo: number;
  /**
   * Returns at most `limit` entries after `after`. `upTo` of the result is the last event of the replica's own log that
   * was examined. Events up to `upTo` that are not returned need not be sent.
   */
  next(after: number, limit: number): Promise<JournalPage>;
  /**
   * Called when all entries up to `upTo` are answered, or need no answer. An entry that `answer` does not name was also
   * decided, but its answer was lost. The origin recorded the decisions about all such entries at event `decidedBy` or
   * earlier.
   */
  settled(upTo: number, answer: WriteBackAnswer, decidedBy?: number): Promise<void>;
  /**
   * Called when a connection to the origin begins. The origin remembers its decisions up to the entry `upTo`, and its
   * last event is `head`. The origin was restored to an earlier state if this replica has received an answer about an
   * entry after `upTo`, or an answer that names an event after `head`.
   */
  remembered(upTo: number, head: number): void;
  /**
   * True if this replica's own event `localSeq` still has the hash `hash`, which is the hash that the origin received
   * for this event. Also true if the hashes cannot be compared, because `hash` is `undefined` or the event was
   * compacted away. False if the event is missing or has another hash.
   */
  isStillHeld(localSeq: number, hash: Hash | undefined): Promise<boolean>;
  /**
   * True if this replica's own event `localSeq` changes or proposes `path` or a path beneath it. Also true if that
   * event was compacted away.
   */
  hasWritten(localSeq: number, path: WorkspacePath): Promise<boolean>;
  /** Emitted when there may be more entries. */
  readonly changed: Signal<void>;
  /** Opens the content of an entry. Returns `undefined` if the content is no longer in the store. */
  open(hash: Hash): Promise<BlobReader | undefined>;
}

export interface JournalPage {
  readonly entries: readonly WriteBackEntry[];
  readonly upTo: number;
}
