import { markOf } from "../core/log/commit-mark.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Head, SealedEvent } from "../core/values/event.ts";
import type { Hash } from "../core/values/hash.ts";

/**
 * Throws `INTEGRITY_VIOLATION` unless the events follow the head, are lines of the log, and the last one ends a commit.
 * The last line of a copy need not (`anyEnd`). Hashes are not recomputed.
 */
export function checkAppend(head: Head, events: readonly SealedEvent[], anyEnd = false): void {
  let last = head;
  for (const event of events) {
    if (event.seq !== last.seq + 1) refuse(event, `the log ends at ${last.seq}`);
    if (event.prevHash !== last.hash) refuse(event, `its prev_hash is not the hash of event ${last.seq}`);
    if (event.line.includes("\n")) refuse(event, "its line holds a newline");
    last = event;
  }
  const end = events.at(-1);
  if (end !== undefined && !anyEnd && markOf(end) === undefined) refuse(end, "it does not end a commit");
}

function refuse(event: SealedEvent, reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `event ${event.seq} cannot be appended: ${reason}`, {
    hint: "refresh the log and seal the event again",
    data: { seq: event.seq },
  });
}

/** Returns the refusal to append after bytes that are not a line. */
export function tornTail(where: string, tornBytes: number): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `${where} ends in ${tornBytes} bytes that are not an event`, {
    hint: "reopen the workspace for writing: what was not acknowledged is moved to quarantine",
    data: { tornBytes },
  });
}

/**
 * The append-only log of one workspace: exact lines, in order.
 *
 * Backends: `MemoryEventLog`, `FileEventLog` (NDJSON).
 *
 * Contract
 * - `append` resolves only when every line is durable; lines of one call land together or are cut off together. Calls
 *   made during a sync are grouped into the next sync.
 * - A failed write is cut back. If that fails too, or a sync fails, the log is poisoned: every later `append` throws
 *   `POISONED` until the disk takes a write and a sync of another file; then the log starts as if reopened. If the
 *   failure concerned anything but lines of an append that were cut off, it stays poisoned until it is reopened. A sync
 *   is never retried.
 * - The log checks that `seq` and `prevHash` follow its head, and throws `INTEGRITY_VIOLATION` if they do not; it does
 *   not hash (the code that seals events does).
 * - One writer at a time: callers hold the workspace's lock around `refresh` and `append`. Readers need no lock and see
 *   only whole lines.
 * - A last line without its newline is a torn tail; it is never read as an event and never appended to.
 */
export interface EventLog {
  /** The end of the log, as far as this object knows. */
  readonly head: LogEnd;
  /** The seq of the present log's first line, as of the last `refresh`: 1, or that of a compaction's sentinel. */
  readonly firstSeq: number;
  /** Checks whether another process has appended, and moves `head` there. Never writes. */
  refresh(): Promise<LogEnd>;
  append(events: readonly SealedEvent[]): Promise<void>;
  /**
   * Makes durable what another process wrote and may not have synced before it ended. Must be called before anything
   * durable is derived from lines that this object did not append. Free if it appended the last of them.
   */
  sync(): Promise<void>;
  /**
   * Yields raw lines with the position of each. Lines come unchecked: finding damage is up to the reader. Without a
   * position: the lines of the present log. With a position: from that event to the end, through the archive as far as
   * it exists; else from the oldest line after the position. A log that is sealed meanwhile is read to its end.
   */
  read(from?: LogPosition): AsyncIterable<readonly RawLine[]>;
  /**
   * Moves everything from this byte on into quarantine (durable there before it is cut here). Returns the quarantine's
   * name.
   */
  quarantine(from: LogPosition): Promise<string>;
  /** The length and SHA-256 of a part in quarantine; `undefined` if there is none of that name. */
  quarantined(name: string): Promise<QuarantinedPart | undefined>;
  /** Seals the log into the archive and begins a new one with this line. Atomic. */
  rotate(first: SealedEvent): Promise<void>;
  /** The sealed logs, oldest first, as readable streams of raw lines. */
  archived(): Promise<readonly ArchivedLog[]>;
  /** Removes the sealed logs, oldest first, each durably before the next. This cannot be undone. */
  dropArchive(): Promise<void>;
  close(): Promise<void>;
}

/** A position: the byte at which the line of `seq` begins, in the file that holds this seq. */
export interface LogPosition {
  readonly seq: number;
  readonly offset: number;
}

/** The head, and the length of the whole lines in bytes. `tornBytes`: the bytes after the last whole line. */
export interface LogEnd extends Head {
  readonly bytes: number;
  readonly tornBytes: number;
}

/** One line of the file. */
export interface RawLine {
  /** Name of the file, for people. */
  readonly file: string;
  /** Byte offset of the line's first byte. */
  readonly offset: number;
  /** 1-based number of the line in the file. */
  readonly lineNumber: number;
  /** Without the newline. Valid only until the next batch is requested. */
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
