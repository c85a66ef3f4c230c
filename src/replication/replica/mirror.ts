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
 * The origin's history as a replica holds it: the lines, which a session appends, and the states that result from them.
 * "At seq N" means after event N of the origin. Queries are answered from an index, which is first brought up to date
 * with the lines. For states before `start`, the parts before the last full reconciliation are asked, as long as they
 * are kept.
 */
export interface Mirror extends UpstreamLines {
  /** The origin's workspace id; `""` before the first event. */
  readonly workspace: string;
  /** The event after which the mirror starts: that of the last full reconciliation; 0 if there was none. */
  readonly start: number;
  /** The last event held durably. */
  readonly head: Head;
  /** Emitted when `head` has moved. */
  readonly changed: Signal<void>;

  iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined>;
  /** Returns what `iterationAt` returns, for many paths, in their order. */
  iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]>;
  /** Returns the paths with an event in `after < seq <= upTo`, in path order. */
  touched(after: number, upTo: number): Promise<readonly WorkspacePath[]>;
  /** Yields all entries at a seq, of a folder and what is beneath it, in path order, in batches. */
  entriesAt(seq: number, beneath?: WorkspacePath): AsyncIterable<readonly IterationRow[]>;
  /** Returns the children of a folder that exist at a seq, sorted by name bytes. */
  childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]>;
  /** Returns the names that people have added at the origin to those of protected files, as of `head`. */
  protectedNames(): Promise<readonly string[]>;
  /** Returns the Merkle hash of a folder at `head`; `undefined` if there is no such folder. */
  treeHash(folder: WorkspacePath): Promise<Hash | undefined>;
  /**
   * Returns the file record of the event with this seq, which names the work it belongs to. Returns `undefined` if the
   * event is not about a file, or not held.
   */
  record(seq: number): Promise<FileRecord | undefined>;
  /**
   * Returns the file records of many events, by seq, with few reads. Leaves out events that are not about a file, or
   * not held.
   */
  records(seqs: Iterable<number>): Promise<ReadonlyMap<number, FileRecord>>;

  /** Returns the seq of the last event that erases contents or withdraws an erasure; 0 if there is none. */
  lastErasure(): Promise<number>;
  /**
   * Returns the last event of each erasure, in the order of these events. An erasure in force is returned without the
   * contents that a later event names again.
   */
  erasures(): Promise<readonly LoggedErasure[]>;

  /**
   * Compares what the index has of these paths at a seq, or of the whole state (`all`), with the Merkle roots that the
   * origin's lines state. Returns false if the index was wrong; it is rebuilt then. Throws `LOG_DAMAGED` if the lines
   * contradict themselves.
   */
  proves(paths: readonly WorkspacePath[] | "all", seq: number): Promise<boolean>;

  /**
   * Makes the base that a compaction names, which is about to be appended, if the held state has the same hash. The
   * base then need not be fetched. The caller holds a lease.
   */
  makeBase(compaction: LogEvent): Promise<void>;

  /**
   * Starts anew after an event whose state is in the store as a base; durable when it resolves. Rejects with
   * `INTEGRITY_VIOLATION` if the event is not after `head`.
   */
  startAt(anchor: HistoryAnchor): Promise<void>;
  /**
   * Removes the events after this one, which the origin no longer has; 0 removes all. Their lines stay on disk, outside
   * of the mirror. Removes earlier events too if this event lies before the parts that are held. Durable when it
   * resolves.
   */
  rewind(seq: number): Promise<void>;
  /** Notes that states before this event are not needed any more. Drops the parts that answer only about these. */
  applied(seq: number): Promise<void>;
  close(): Promise<void>;
}
