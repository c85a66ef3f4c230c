import type { LoggedErasure } from "../../core/records/erasures.ts";
import type { Head, LogEvent } from "../../core/values/event.ts";
import type { FileRecord } from "../../core/values/file-record.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Signal } from "../../util/signal.ts";
import type { UpstreamLines } from "./upstream.ts";

/**
 * The origin's history as a replica holds it: its lines, which a session appends, and the states that follow from them.
 * "At seq N" means after event N of the origin. Queries are answered from an index that is brought up to the lines
 * first. States before `start` are answered by earlier mirrors, as long as they are kept.
 */
export interface Mirror extends UpstreamLines {
  /** The origin's workspace id; `""` before the first event. */
  readonly workspace: string;
  /** The event after which it starts: 0, or that of the last full reconciliation. */
  readonly start: number;
  /** The last event held durably. */
  readonly head: Head;
  /** Emitted when `head` has moved. */
  readonly changed: Signal<void>;

  iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined>;
  /** Like `iterationAt`, for many paths, in their order. */
  iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]>;
  /** Returns the paths with an event in `after < seq <= upTo`, in path order. */
  touched(after: number, upTo: number): Promise<readonly WorkspacePath[]>;
  /** Yields every entry at a seq at or beneath a folder, in path order, in batches. */
  entriesAt(seq: number, beneath?: WorkspacePath): AsyncIterable<readonly IterationRow[]>;
  /** Returns the children of a folder that exist at a seq, sorted by name bytes. */
  childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]>;
  /** Returns the names of secrets that people have added to the table at the origin, as of `head`. */
  protectedNames(): Promise<readonly string[]>;
  /** Returns the Merkle hash of a folder at `head`; `undefined` if there is none. */
  treeHash(folder: WorkspacePath): Promise<Hash | undefined>;
  /**
   * Returns the file record of the event with this seq, which says whose work it is. `undefined` if it is not about a
   * file, or not held.
   */
  record(seq: number): Promise<FileRecord | undefined>;
  /**
   * Like `record`, for many events, by seq, in a few reads. Leaves out events that are not about a file, or not held.
   */
  records(seqs: Iterable<number>): Promise<ReadonlyMap<number, FileRecord>>;

  /** Returns the seq of the last event that erases contents, or brings them back; 0 if there is none. */
  lastErasure(): Promise<number>;
  /**
   * Returns the last event of each erasure, in the order of these events. Contents that something has named since are
   * left out of one that is in force.
   */
  erasures(): Promise<readonly LoggedErasure[]>;

  /**
   * True if the index is right about these paths at a seq, or about the whole state (`all`), by the Merkle roots that
   * the origin's lines state. If false, it was wrong and has been rebuilt. Throws `LOG_DAMAGED` if the lines contradict
   * themselves.
   */
  proves(paths: readonly WorkspacePath[] | "all", seq: number): Promise<boolean>;

  /**
   * Makes the base that the next appended compaction names, if the held state amounts to it, so that it need not be
   * fetched. The caller holds a lease.
   */
  makeBase(compaction: LogEvent): Promise<void>;

  /** Starts anew after an event whose state is in the store as a base. Durable when it resolves. */
  startAt(anchor: HistoryAnchor): Promise<void>;
  /**
   * Forgets the events after this one, which the origin no longer has. Their lines are kept aside, for people. 0
   * forgets everything. May go back further than asked if nothing earlier is held. Durable when it resolves.
   */
  rewind(seq: number): Promise<void>;
  /** Notes that states before this event are not needed any more: drops earlier mirrors that only they need. */
  applied(seq: number): Promise<void>;
  close(): Promise<void>;
}
