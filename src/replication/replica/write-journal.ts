import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { Signal } from "../../util/signal.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";

/**
 * The journal: a replica's own changes for its origin, in order. Only durable changes are in it. The `localSeq` of an
 * entry is the seq of its event in the replica's own log.
 */
export interface WriteJournal {
  /** The last entry whose answer the replica remembers; 0 if none. The origin may have decided later ones. */
  readonly settledTo: number;
  /**
   * Returns the next entries after `after`, at most `limit`. `upTo`: the last own event that was looked at. Events up
   * to it that are not returned need not be sent.
   */
  next(after: number, limit: number): Promise<JournalPage>;
  /**
   * Notes that all entries up to `upTo` are answered, or need no answer. An entry that `answer` does not name was
   * decided as well, and its answer was lost. `decidedBy`: an event of the origin, up to which its history contains all
   * those lost decisions.
   */
  settled(upTo: number, answer: WriteBackAnswer, decidedBy?: number): Promise<void>;
  /**
   * Called when a session begins: the origin remembers its decisions up to the entry `upTo`, and its last event is
   * `head`. If an answer was received here to a later entry, or one that names a later event, the origin was restored
   * to an earlier state.
   */
  remembered(upTo: number, head: number): void;
  /**
   * Returns false if this replica's own event has another hash than the one that the origin was sent, or is missing.
   * Returns true if that cannot be found out: `hash` is undefined, or the event was compacted away.
   */
  isStillHeld(localSeq: number, hash: Hash | undefined): Promise<boolean>;
  /**
   * Returns true if this replica's own event changes or proposes this path, or a path beneath it, or if the event is
   * compacted away.
   */
  hasWritten(localSeq: number, path: WorkspacePath): Promise<boolean>;
  /** Emitted when there may be more entries. */
  readonly changed: Signal<void>;
  /** Opens the content of an entry; `undefined` if the content is not in the store any more. */
  open(hash: Hash): Promise<BlobReader | undefined>;
}

/** A page of a journal: see `next`. */
export interface JournalPage {
  readonly entries: readonly WriteBackEntry[];
  readonly upTo: number;
}
