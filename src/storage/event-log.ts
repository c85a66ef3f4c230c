import type { Head, SealedEvent } from "../core/values/event.ts";
import type { Hash } from "../core/values/hash.ts";

/**
 * The append-only log of one workspace: exact lines, in order.
 *
 * Backends: `MemoryEventLog`, `FileEventLog` (NDJSON).
 *
 * Contract
 * - `append` resolves only when every line is durable; lines of one call land together or are cut off together.
 *   Calls made while one is being synced are grouped into the next sync.
 * - A failed write is cut back; if that fails too, or a sync fails, the log is poisoned: every later `append` throws
 *   `POISONED` until the disk takes a write and a sync of another file; then the log begins as one that was reopened. Where
 *   the failure was about anything but lines of an append that were cut off, it stays so until it is reopened. A sync is never retried.
 * - The log checks that `seq` and `prevHash` go on from its head, and throws `INTEGRITY_VIOLATION` if they do not; it
 *   does not hash (the door that seals events does).
 * - One writer at a time: callers hold the workspace's lock around `refresh` and `append`. Readers need no lock and see
 *   only whole lines.
 * - A last line without its newline is a torn tail; it is never read as an event and never appended to.
 */
export interface EventLog {
  /** Where the log ends, as far as this object knows. */
  readonly head: LogEnd;
  /** The seq of the present log's first line, as of the last look: 1, or that of a compaction's sentinel. */
  readonly firstSeq: number;
  /** Looks whether another process has appended, and moves `head` there. Never writes. */
  refresh(): Promise<LogEnd>;
  append(events: readonly SealedEvent[]): Promise<void>;
  /**
   * Makes durable what another process wrote and may not have synced before it ended. To be called before anything
   * durable is derived from lines that this object did not append; free where it appended the last of them.
   */
  sync(): Promise<void>;
  /**
   * Raw lines with the position of each. Damage is the reader's to find: lines come as they are. Without a position: those
   * of the present log. From a position: from that event on to the end, through the archive as far as it is there; where
   * it is not, from the oldest line behind the position. A log that is sealed meanwhile is read to where it ended.
   */
  read(from?: LogPosition): AsyncIterable<readonly RawLine[]>;
  /** Moves everything from this byte on into quarantine (durable there before it is cut here). Returns the quarantine's name. */
  quarantine(from: LogPosition): Promise<string>;
  /** The length and SHA-256 of a part in quarantine; `undefined`: there is none of that name. */
  quarantined(name: string): Promise<QuarantinedPart | undefined>;
  /** Seals the log into the archive and begins a new one with this line. Atomic. */
  rotate(first: SealedEvent): Promise<void>;
  /** Sealed logs, oldest first, as readable streams of raw lines. */
  archived(): Promise<readonly ArchivedLog[]>;
  /** Removes the sealed logs, oldest first, each durably before the next. Nothing brings them back. */
  dropArchive(): Promise<void>;
  close(): Promise<void>;
}

/** A position: the byte at which the line of `seq` begins, in the file that holds this seq. */
export interface LogPosition {
  readonly seq: number;
  readonly offset: number;
}

/** The head, and the length of the whole lines in bytes. `tornBytes`: what stands behind the last whole line. */
export interface LogEnd extends Head {
  readonly bytes: number;
  readonly tornBytes: number;
}

/** One line as it stands in the file. */
export interface RawLine {
  /** Name of the file, for people. */
  readonly file: string;
  /** Byte offset of the line's first byte. */
  readonly offset: number;
  /** 1-based number of the line in the file. */
  readonly lineNumber: number;
  /** Without the newline. Valid only until the next batch is asked for. */
  readonly bytes: Buffer;
}

/** A part of a log that was moved into quarantine. */
export interface QuarantinedPart {
  readonly bytes: number;
  readonly hash: Hash;
}

/** A sealed log, with the seqs of its first and its last line. */
export interface ArchivedLog {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly bytes: number;
  read(): AsyncIterable<readonly RawLine[]>;
}
