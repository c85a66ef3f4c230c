import type { ClockJump } from "../core/values/clock-jumps.ts";
import type { Entry } from "../core/values/entry.ts";
import type { EventOp, Head } from "../core/values/event.ts";
import type { Hash } from "../core/values/hash.ts";
import type { RemoteWorkRow } from "../core/records/remote-work.ts";
import type { Tick, TickKind } from "../core/records/tick.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import { ChronicleError } from "../core/values/errors.ts";

/**
 * Data derived from the log, for fast answers. Deleting the index changes no answer, because the index can be rebuilt
 * from the log and the blobs.
 *
 * Backends: `MemoryIndexStore`, `SqliteIndexStore`.
 *
 * Contract
 * - `apply` is atomic: readers see either all rows of a call and the new `head`, or none of them. Seqs only grow.
 *   `apply` throws `INTEGRITY_VIOLATION` for a seq at or below the head.
 * - The index is not durable by itself. After a crash, the index can be at any earlier head, but it never has only a
 *   part of a call of `apply`.
 * - "At seq N" means after event N. Reads see one consistent state, which can be the state at the beginning of this
 *   turn of the event loop. After `fresh`, and after a change by this object, reads see the current state.
 * - If the disk refuses a change, `SqliteIndexStore` continues in a temporary database, so that a history on a full
 *   disk can still be read.
 * - A corrupt index throws `INTEGRITY_VIOLATION` when it is opened or read. The caller discards the index (`reset`) and
 *   replays the log.
 */
export interface IndexStore {
  head(): Promise<IndexHead>;
  /**
   * Makes the next reads see the current state. A caller that has taken a lock must call this method before it reads
   * rows that earlier holders of the lock wrote.
   */
  fresh(): void;
  /** Empties the index. */
  reset(): Promise<void>;
  apply(batch: IndexBatch): Promise<void>;

  /** Returns the row of an event, with the place of its line; `undefined` if the index does not have the event. */
  locate(seq: number): Promise<EventRow | undefined>;
  /** Returns the event rows with `from <= seq <= to`, ascending (or descending), at most `limit`. */
  events(range: SeqRange): Promise<readonly EventRow[]>;
  /**
   * Returns the last event of a record; `undefined` if the record has no event. The last event of a deleted record has
   * the op `delete`.
   */
  record(recordId: string): Promise<EventRow | undefined>;
  /**
   * Returns the last events of all records whose id begins with the prefix, sorted by seq. Leaves out deleted records.
   */
  records(prefix: string): Promise<readonly EventRow[]>;
  /** Like `records`, but returns only events that leave their record open (`EventRow.open`). */
  openRecords(prefix: string): Promise<readonly EventRow[]>;
  /**
   * Like `records`, but returns only records that have an event at or before a seq, and a later event. Deleted records
   * are included.
   */
  recordsAcross(prefix: string, seq: number): Promise<readonly EventRow[]>;
  /** Returns the events whose time is before the time of the preceding event, ascending. */
  clockJumps(): Promise<readonly ClockJump[]>;
  /** Returns every event of one record, ascending. */
  recordHistory(recordId: string): Promise<readonly EventRow[]>;

  /** Returns all iterations of a path, or one page of them, ascending. */
  iterations(path: WorkspacePath, page?: IterationPage): Promise<readonly IterationRow[]>;
  /**
   * Returns the iteration in force at a seq, which can be a deletion. Returns `undefined` if no event up to that seq
   * recorded the path.
   */
  iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined>;
  /** Like `iterationAt`, for many paths. The results are in the order of the paths. */
  iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]>;
  /** Returns the children of a folder that exist at a seq, sorted by the bytes of their names. */
  childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]>;
  /**
   * Yields every entry (no deletions) at or beneath a folder as of a seq, in path order, in batches. Without a folder,
   * yields the entries of every root. The direct children of the first root then have depth 1, and the direct children
   * of every other root have depth 2. A root itself has no entry. Entries outside the page are not visited.
   */
  entriesAt(seq: number, beneath?: WorkspacePath, page?: EntryPage): AsyncIterable<readonly IterationRow[]>;
  /** Returns the paths with an event in `after < seq <= upTo`, in path order. */
  touched(after: number, upTo: number): Promise<readonly WorkspacePath[]>;
  /**
   * Returns the last iteration, of any path, with this content or link target; `undefined` if there is none. With
   * `ordinary`, skips protected iterations. The first call may be slow.
   */
  withContent(hash: Hash, which?: { readonly ordinary?: true }): Promise<IterationRow | undefined>;
  /**
   * Returns those of the given hashes that are the content or link target of some iteration. Meant for many hashes at
   * once.
   */
  withContents(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /**
   * Returns, in path order, all paths ever recorded whose last component equals `name`. With `part`, the last component
   * need only contain `name`, and the case of the letters A to Z does not matter. Reads every recorded path.
   */
  pathsNamed(name: string, which?: NameMatch): Promise<readonly WorkspacePath[]>;
  /** Returns the paths with a protected iteration (`Entry.class`), in path order. */
  protectedPaths(): Promise<readonly WorkspacePath[]>;

  /** Returns the first commit that ends at or after a seq; `undefined` if there is none. */
  commitFrom(seq: number): Promise<CommitRow | undefined>;
  /** Returns the last commit that has a Merkle root and ends at or before a seq; `undefined` if there is none. */
  rootedCommit(seq: number): Promise<CommitRow | undefined>;

  /**
   * Returns the work that was done at other copies of the workspace, in the order of its last events. With `naming`,
   * returns only work whose session or action has this id.
   */
  remoteWork(which?: { readonly naming: string }): Promise<readonly RemoteWorkRow[]>;

  /** Returns the ticks whose last events are in a range, sorted by these events. */
  ticks(range: TickRange): Promise<readonly TickRow[]>;
  /** Returns those of the turns that have a tick whose last event is after a seq. */
  turnsAfter(seq: number, turns: readonly TurnName[]): Promise<readonly TurnName[]>;

  /** Returns the seq that was last passed to `noteDamaged`; 0 if none was. `reset` clears this note. */
  damagedSeq(): Promise<number>;
  /** Notes the seq of a damaged line; 0 clears the note. */
  noteDamaged(seq: number): Promise<void>;

  /**
   * Returns the estimate that was last passed to `notePrivateBound`; `undefined` if none was. `reset` clears this note.
   */
  privateBound(): Promise<PrivateBound | undefined>;
  notePrivateBound(bound: PrivateBound): Promise<void>;

  /** Returns the Merkle hash that a folder had at a seq; `undefined` if no such hash is stored. */
  treeHashAt(folder: WorkspacePath, seq: number): Promise<Hash | undefined>;
  /** Returns the seq of the event up to which all folder hashes are stored; 0 if none are stored. */
  treeSeq(): Promise<number>;
  /** Returns every stored folder hash, for the audit that compares the index with the log. */
  treeRows(): Promise<readonly TreeRow[]>;
  /**
   * Yields the iterations of all paths with `after < seq <= upTo`, in batches, sorted by seq. The audit that compares
   * the index with the log reads these iterations.
   */
  rowsBetween(after: number, upTo: number): AsyncIterable<readonly IterationRow[]>;
  /**
   * Returns the faults of the index itself, as texts for people; empty if the index is sound. Reads the whole index.
   */
  check(): Promise<readonly string[]>;
  /**
   * Stores folder hashes as of a seq. `treeSeq` moves to this seq only if the hashes include every change since the
   * present `treeSeq`.
   */
  putTreeHashes(seq: number, tree: StoredTree): Promise<void>;

  close(): Promise<void>;
}

/**
 * An estimate: after event `seq`, the private contents (prompts, files kept aside, and states and objects of git) took
 * at most `bytes` bytes in the store.
 */
export interface PrivateBound {
  readonly seq: number;
  readonly bytes: number;
}

/** A commit: the events that became durable with one append. */
export interface CommitRow {
  /** The seqs of the first and the last event. */
  readonly first: number;
  readonly last: number;
  /** True if the last event states the Merkle root of the files. */
  readonly isRooted: boolean;
}

/**
 * The position of the index. `frontier`: the RFC 6962 compact range of the log tree at `seq`, largest subtree first.
 */
export interface IndexHead extends Head {
  /** The offset, in bytes, at which the last applied line ends in the log. */
  readonly offset: number;
  readonly frontier: readonly Hash[];
}

export interface IndexBatch {
  readonly head: IndexHead;
  readonly events: readonly EventRow[];
  /**
   * The iterations from events and from a base. An iteration from a base has the seq of the event that recorded it.
   * `apply` may iterate over them twice.
   */
  readonly iterations: Iterable<IterationRow>;
  /**
   * The work at other copies of the workspace that the events tell of. The index merges a row with an earlier row of
   * the same work. Default: none.
   */
  readonly remoteWork?: readonly RemoteWorkRow[];
  /** The ticks of the events, ascending. A tick replaces an earlier tick of the same record. Default: none. */
  readonly ticks?: readonly Tick[];
  /** The commits that end among the events, ascending. Default: none. */
  readonly commits?: readonly CommitRow[];
  /** Folder hashes as of the head, as for `putTreeHashes`. Default: none. */
  readonly tree?: StoredTree;
}

/** The latest tick of a record. */
export interface TickRow extends Omit<Tick, "seq" | "recordId"> {
  /**
   * The seqs of the first and the last event of the record, as far as the index has them. For the change of a file,
   * both are the seq of the one event of the change.
   */
  readonly first: number;
  readonly last: number;
}

/** The ticks with `after < last <= upTo`, at most `limit`, ascending (or descending). */
export interface TickRange {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
  readonly descending?: boolean;
  /** Only ticks of these kinds. Default: all. */
  readonly kinds?: readonly TickKind[];
}

/** The ids that name a turn. `session` is `""` for a turn outside of sessions. */
export interface TurnName {
  readonly session: string;
  readonly turn: string;
}

export interface StoredTree {
  readonly hashes: FolderHashes;
  /** The hashes cover every folder that was changed after this event. 0: the hashes cover all folders. */
  readonly after: number;
}

/** Merkle hashes of folders; `undefined` for a folder that was removed. */
export type FolderHashes = readonly (readonly [WorkspacePath, Hash | undefined])[];

/** One event without its body. The body is in the log, at `offset`. */
export interface EventRow {
  readonly seq: number;
  readonly ts: string;
  readonly op: EventOp;
  readonly recordId: string;
  /** The hash of the event. If `offset` is negative, the hash of the base that holds the record. */
  readonly hash: Hash;
  /**
   * The offset in the file that holds this seq. If the offset is negative, the line was compacted away, and its record
   * is in a base. The records of this base begin at byte −offset.
   */
  readonly offset: number;
  /** The length of the line, in bytes, without the newline. */
  readonly length: number;
  /** True if the event leaves its record unfinished: a running session, an open action. */
  readonly open: boolean;
}

export interface IterationRow {
  readonly path: WorkspacePath;
  readonly seq: number;
  /** The number of the iteration: 1, 2, 3 … for each path. Deletions are iterations, too. */
  readonly iteration: number;
  /** The entry; `undefined` for a deletion. */
  readonly entry: Entry | undefined;
}

/** The hash of a folder as of a seq; `undefined` if the folder did not exist any more at that seq. */
export interface TreeRow {
  readonly folder: WorkspacePath;
  readonly seq: number;
  readonly hash: Hash | undefined;
}

export interface IterationPage {
  /** Only iterations with a greater number. Default: 0. */
  readonly after?: number;
  /** The maximum number of iterations. Default: no limit. */
  readonly limit?: number;
}

export interface EntryPage {
  /** 0: only the folder itself; 1: its direct children, too; 2: their children, too; and so on. Default: no limit. */
  readonly depth?: number;
  /** Only entries after this path, in path order. Default: all entries. */
  readonly after?: WorkspacePath;
}

/** The events with `from <= seq <= to`. Defaults: no limit, ascending. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
  readonly limit?: number;
  readonly descending?: boolean;
}

/** The maximum number of entries that one step of `IndexStore.entriesAt` yields. */
export const ENTRY_BATCH = 2_000;

/**
 * Throws `INTEGRITY_VIOLATION` if the batch does not follow the index. The batch's head must be above the head of the
 * index. The batch's events must be in ascending order, after the index's head and not after the batch's head. No
 * iteration may be after the batch's head. The first root itself must not have an iteration.
 */
export function checkIndexBatch(head: Head, batch: IndexBatch): void {
  const last = batch.head.seq;
  if (last <= head.seq) refuse(`the index stands at ${head.seq} and cannot go to ${last}`);
  let before = head.seq;
  for (const event of batch.events) {
    if (event.seq <= before) refuse(`event ${event.seq} comes after ${before}`);
    before = event.seq;
  }
  if (before > last) refuse(`event ${before} lies above the head ${last}`);
  for (const row of batch.iterations) {
    if (row.path === "") refuse("the root has no iterations");
    if (row.seq > last) refuse(`an iteration at ${row.seq} lies above the head ${last}`);
  }
}

function refuse(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `index: ${reason}`, {
    hint: "the index can be rebuilt from the log",
  });
}

/** How `pathsNamed` compares a name. */
export interface NameMatch {
  readonly part?: boolean;
}
