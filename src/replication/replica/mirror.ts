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
 * The origin's history as a replica holds it. It consists of the lines, which a session appends, and of the states that
 * result from the lines. "At seq N" means after event N of the origin. Queries are answered from an index. Each query
 * first brings the index up to date with the lines. A mirror consists of parts, and a full reconciliation begins a new
 * part. Earlier parts answer queries about states before `start`, as long as these parts are kept.
 */
export interface Mirror extends UpstreamLines {
  /** The origin's workspace id; `""` before the first event. */
  readonly workspace: string;
  /**
   * The seq of the event after which the mirror starts. This is the event at which the last full reconciliation ended,
   * or 0 if there was none.
   */
  readonly start: number;
  /** The last event that the mirror holds durably. */
  readonly head: Head;
  readonly changed: Signal<void>;

  iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined>;
  /** Returns the results of `iterationAt` for many paths, in the order of the paths. */
  iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]>;
  /** Returns the paths with an event in `after < seq <= upTo`, in path order. */
  touched(after: number, upTo: number): Promise<readonly WorkspacePath[]>;
  /**
   * Yields all entries at a seq, in path order, in batches. If `beneath` is given, yields only the entries at and
   * beneath this folder.
   */
  entriesAt(seq: number, beneath?: WorkspacePath): AsyncIterable<readonly IterationRow[]>;
  /** Returns the children that exist at a seq, sorted by the bytes of their names. */
  childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]>;
  /** Returns the names of secrets that people have added at the origin, as of `head`. */
  protectedNames(): Promise<readonly string[]>;
  /** Returns the Merkle hash of a folder at `head`; `undefined` if there is no such folder. */
  treeHash(folder: WorkspacePath): Promise<Hash | undefined>;
  /**
   * Returns the file record of an event. Returns `undefined` if the event is not about a file, or the mirror does not
   * hold its line.
   */
  record(seq: number): Promise<FileRecord | undefined>;
  /** Reads many records at once, by seq. Leaves out events for which `record` returns `undefined`. */
  records(seqs: Iterable<number>): Promise<ReadonlyMap<number, FileRecord>>;

  /** Returns the seq of the last event that erases contents or withdraws an erasure, or 0 if there is none. */
  lastErasure(): Promise<number>;
  /**
   * Returns the last event of each erasure, in order. For an erasure in force, leaves out the contents that a later
   * event names again.
   */
  erasures(): Promise<readonly LoggedErasure[]>;

  /**
   * Compares the entries of these paths in the index, at a seq, with the Merkle roots in the origin's lines. `all`
   * stands for all paths. Returns true if the entries match the roots. If the index is wrong, rebuilds the index and
   * returns false. Throws `LOG_DAMAGED` if the lines contradict themselves.
   */
  proves(paths: readonly WorkspacePath[] | "all", seq: number): Promise<boolean>;

  /**
   * Makes the base that a compaction names, so that this base need not be fetched. Does nothing if a base of the state
   * that this replica holds would have another hash. Called before the compaction is appended. The caller must hold a
   * lease.
   */
  makeBase(compaction: LogEvent): Promise<void>;

  /**
   * Starts the mirror anew after the event of `anchor`. The state after this event must be in the store as a base. The
   * new start is durable when the promise resolves. Rejects with `INTEGRITY_VIOLATION` if the event is not after
   * `head`.
   */
  startAt(anchor: HistoryAnchor): Promise<void>;
  /**
   * Durably removes the events after event `seq`, because the origin no longer has them. If `seq` is 0, or if every
   * part starts after event `seq`, removes all events. The removed lines stay on disk, outside of the mirror.
   */
  rewind(seq: number): Promise<void>;
  /**
   * Called when the states before event `seq` are no longer needed. Drops the parts that answer only for such states.
   */
  applied(seq: number): Promise<void>;
  close(): Promise<void>;
}
