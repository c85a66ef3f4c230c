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
 * The origin's history as a replica holds it: its lines, which a session appends, and what they amount to.
 *
 * "At seq N" means after event N of the origin. What is asked is answered from an index that is brought up to the lines
 * first. States before `start` are answered by earlier mirrors, as long as they are kept.
 */
export interface Mirror extends UpstreamLines {
  /** The origin's workspace id; `""` while nothing has come of it. */
  readonly workspace: string;
  /** The event that it starts behind: 0, or that of the last full reconciliation. */
  readonly start: number;
  /** The last event that is held durably. */
  readonly head: Head;
  /** Emitted when `head` has moved. */
  readonly changed: Signal<void>;

  iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined>;
  /** The same for many paths, in their order. */
  iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]>;
  /** Paths with an event in `after < seq <= upTo`, in path order. */
  touched(after: number, upTo: number): Promise<readonly WorkspacePath[]>;
  /** Every entry at a seq at or beneath a folder, in path order, in batches. */
  entriesAt(seq: number, beneath?: WorkspacePath): AsyncIterable<readonly IterationRow[]>;
  /** The children of a folder that exist at a seq, sorted by name bytes. */
  childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]>;
  /** Names of secrets that people have added to the table at the origin, as of `head`. */
  protectedNames(): Promise<readonly string[]>;
  /** The Merkle hash of a folder at `head`; `undefined` where there is none. */
  treeHash(folder: WorkspacePath): Promise<Hash | undefined>;
  /** What the event of this seq records of a file: whose work it is. `undefined`: it is none of a file, or not held. */
  record(seq: number): Promise<FileRecord | undefined>;
  /** The same of many events, by seq, in a few reads; those that are none of a file, or not held, are left out. */
  records(seqs: Iterable<number>): Promise<ReadonlyMap<number, FileRecord>>;

  /** The seq of the last event that erases contents, or brings them back; 0: there is none. */
  lastErasure(): Promise<number>;
  /**
   * What the last event of each erasure says, in the order of these events. Of one that is in force, without the contents that something
   * has named since.
   */
  erasures(): Promise<readonly LoggedErasure[]>;

  /**
   * Whether the index is right about these paths at a seq, or about the whole state there (`all`): it is held to the Merkle roots that
   * the origin's lines state. False: it was wrong, and has been rebuilt. Throws `LOG_DAMAGED` where the lines contradict themselves.
   */
  proves(paths: readonly WorkspacePath[] | "all", seq: number): Promise<boolean>;

  /**
   * Makes the base that a compaction names which is to be appended next, if what is held amounts to it: it need not be fetched then.
   * Hold a lease.
   */
  makeBase(compaction: LogEvent): Promise<void>;

  /** Starts anew behind an event whose state is in the store as a base. Durable when it resolves. */
  startAt(anchor: HistoryAnchor): Promise<void>;
  /**
   * Forgets what follows an event: the origin has it no more. The lines stay beside the others, for people; 0: so does everything.
   * What is held may go back further than that, where nothing earlier is held. Durable when it resolves.
   */
  rewind(seq: number): Promise<void>;
  /** States before this event are not asked for any more: earlier mirrors that only they need are given up. */
  applied(seq: number): Promise<void>;
  close(): Promise<void>;
}
