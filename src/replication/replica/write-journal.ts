import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { Signal } from "../../util/signal.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";

/**
 * The journal of a replica's own changes for its origin, in order. It has only durable changes. The `localSeq` of an
 * entry is the seq of its event in the replica's own log.
 */
export interface WriteJournal {
  /**
   * The last entry whose answer the replica remembers; 0 if there is none. The origin may have decided later entries.
   */
  readonly settledTo: number;
  /**
   * Returns the next entries after `after`, at most `limit`. `upTo` of the result is the last own event that was looked
   * at. Events up to `upTo` that are not returned need not be sent.
   */
  next(after: number, limit: number): Promise<JournalPage>;
  /**
   * Notes that all entries up to `upTo` are answered, or need no answer. An entry that `answer` does not name was
   * decided as well, but its answer was lost. `decidedBy` is an event of the origin by which all those lost decisions
   * were recorded.
   */
  settled(upTo: number, answer: WriteBackAnswer, decidedBy?: number): Promise<void>;
  /**
   * Called when a session begins. The origin remembers its decisions up to the entry `upTo`, and its last event is
   * `head`. If this replica has received an answer to a later entry, or an answer that names a later event, the origin
   * was restored to an earlier state.
   */
  remembered(upTo: number, head: number): void;
  /**
   * Returns false if this replica's own event is missing, or if its hash differs from the one that the origin was sent.
   * Returns true if that cannot be determined, because `hash` is undefined or because the event was compacted away.
   */
  isStillHeld(localSeq: number, hash: Hash | undefined): Promise<boolean>;
  /**
   * Returns true if this replica's own event changes or proposes this path or a path beneath it. Also returns true if
   * the event was compacted away.
   */
  hasWritten(localSeq: number, path: WorkspacePath): Promise<boolean>;
  /** Emitted when there may be more entries. */
  readonly changed: Signal<void>;
  /** Opens the content of an entry. Returns `undefined` if the content is no longer in the store. */
  open(hash: Hash): Promise<BlobReader | undefined>;
}

/** A page of a journal, as returned by `next`. */
export interface JournalPage {
  readonly entries: readonly WriteBackEntry[];
  readonly upTo: number;
}
