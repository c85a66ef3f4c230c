import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { Signal } from "../../util/signal.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";

/**
 * A replica's own changes that its origin is to have, in their order, each durable before it is shown here. `localSeq` is
 * the event's seq in the replica's own log.
 */
export interface WriteJournal {
  /** Up to here the replica has had its answers, as far as it remembers; 0: none. The origin knows better. */
  readonly settledTo: number;
  /** The next entries after one, at most `limit`. `upTo`: so far was looked, and nothing before it is left out. */
  next(after: number, limit: number): Promise<JournalPage>;
  /**
   * Everything up to here has its answer, or needs none. An entry whose answer was lost was decided about at the latest with
   * event `decidedBy` of the origin.
   */
  settled(upTo: number, answer: WriteBackAnswer, decidedBy?: number): Promise<void>;
  /**
   * The origin remembers its answers up to here, and its own last event is `head`. If it has given more answers, or has decided
   * with a later event, it was put back to an earlier state.
   */
  remembered(upTo: number, head: number): void;
  /** Is this own event still the one of which the origin has heard? `hash` undefined: nobody knows which one that was. */
  isStillHeld(localSeq: number, hash: Hash | undefined): Promise<boolean>;
  /** Is this own event a change of this path, or of something in it? What is not known any more may have been. */
  hasWritten(localSeq: number, path: WorkspacePath): Promise<boolean>;
  /** There may be more entries. */
  readonly changed: Signal<void>;
  /** The content of an entry; `undefined` where it is gone. */
  open(hash: Hash): Promise<BlobReader | undefined>;
}

/** Some of a journal. */
export interface JournalPage {
  readonly entries: readonly WriteBackEntry[];
  readonly upTo: number;
}
