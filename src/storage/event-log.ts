import { markOf } from "../core/log/commit-mark.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Head, SealedEvent } from "../core/values/event.ts";
import type { Hash } from "../core/values/hash.ts";

/**
 * The append-only log of one workspace. It keeps each line byte for byte.
 *
 * Backends: `MemoryEventLog`, `FileEventLog` (NDJSON).
 *
 * Contract
 * - `append` resolves when every line is durable. Calls made during a sync share the next sync.
 * - If a write or a sync fails, the lines of all calls that share this write or sync are cut off. After a failed sync,
 *   every `append` throws `POISONED` until the disk takes a write and a sync of another file. The log then behaves as
 *   if reopened. If the lines cannot be cut off, or if anything else could not be made durable, the log stays poisoned
 *   until it is reopened. A sync is never retried.
 * - `append` checks that `seq` and `prevHash` follow the head, and throws `INTEGRITY_VIOLATION` if they do not.
 *   `append` does not check hashes. The code that seals events computes the hashes.
 * - One writer at a time: callers hold the workspace's lock around `refresh` and `append`. Readers need no lock and see
 *   only whole lines.
 * - All bytes after the last commit are a torn tail. A torn tail can be a last line without its newline. In
 *   `FileEventLog`, a torn tail can also contain whole lines: lines of an unfinished commit, and lines that cannot be
 *   events. Nothing is appended to a torn tail. `read` still yields the whole lines of a torn tail.
 */
export interface EventLog {
  /** The end of the log, as this object has last read or written it. */
  readonly head: LogEnd;
  /**
   * The seq of the present log's first line, as of the last `refresh`. This seq is 1, or the seq of the event with
   * which a compaction began this log. In a mirror that starts after an anchor, this is the seq after the anchor.
   */
  readonly firstSeq: number;
  /** Checks whether another process has appended, and moves `head` to the present end. Never writes. */
  refresh(): Promise<LogEnd>;
  append(events: readonly SealedEvent[]): Promise<void>;
  /**
   * Makes durable the lines that other processes have appended. Such a process may have ended before its own sync. A
   * caller must therefore call this method before it derives anything durable from such lines. Does nothing if all
   * lines are durable.
   */
  sync(): Promise<void>;
  /**
   * Yields raw lines, each with its position. The lines are not checked, so the reader must look for damage. Without
   * `from`, yields the lines of the present log. With `from`, yields the lines from that event on, including lines in
   * the archive. If the line of that event is gone, begins with the oldest line after it. A read that has begun reaches
   * the end even if the log is sealed or the archive is dropped meanwhile.
   */
  read(from?: LogPosition): AsyncIterable<readonly RawLine[]>;
  /**
   * Moves all bytes from this position on into quarantine. The bytes are durable in quarantine before they are cut off
   * from the log. Resolves to the name of the moved part, for `quarantined`.
   */
  quarantine(from: LogPosition): Promise<string>;
  /** Resolves to the length and the hash of a part in quarantine; `undefined` if there is no part of that name. */
  quarantined(name: string): Promise<QuarantinedPart | undefined>;
  /** Moves the log into the archive, and begins a new log with the line of `first`. Atomic. */
  rotate(first: SealedEvent): Promise<void>;
  /** Returns the sealed logs, oldest first. */
  archived(): Promise<readonly ArchivedLog[]>;
  /**
   * Removes the sealed logs, oldest first. Each removal is durable before the next one begins. The removal cannot be
   * undone.
   */
  dropArchive(): Promise<void>;
  close(): Promise<void>;
}

/** The offset at which the line of event `seq` begins, in the file that holds this line. */
export interface LogPosition {
  readonly seq: number;
  readonly offset: number;
}

export interface LogEnd extends Head {
  /**
   * The length, in bytes, of the log up to the end of its last commit. A copy of another store's history can end within
   * a commit. In such a copy, the length goes up to the end of the last event.
   */
  readonly bytes: number;
  /** The number of bytes after `bytes`, which are a torn tail. */
  readonly tornBytes: number;
}

export interface RawLine {
  /** The name of the file, for people. */
  readonly file: string;
  readonly offset: number;
  /** The number of the line in its file, from 1. */
  readonly lineNumber: number;
  /** The line without its newline. Valid only until the next batch is requested. */
  readonly bytes: Buffer;
}

export interface QuarantinedPart {
  readonly bytes: number;
  readonly hash: Hash;
}

export interface ArchivedLog {
  readonly name: string;
  /** The seq of the first event. */
  readonly first: number;
  /** The seq of the last event. */
  readonly last: number;
  readonly bytes: number;
  /** Throws `PRUNED` if the archive was dropped meanwhile and the log can no longer be read. */
  read(): AsyncIterable<readonly RawLine[]>;
}

/**
 * Throws `INTEGRITY_VIOLATION` if the events do not follow the head, a line contains a newline, or the last event does
 * not end a commit. `anyEnd`: the last event need not end a commit, as in a copy of another store's history. Hashes are
 * not recomputed.
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

export function tornTail(where: string, tornBytes: number): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `${where} ends in ${tornBytes} bytes that are not an event`, {
    hint: "reopen the workspace for writing: what was not acknowledged is moved to quarantine",
    data: { tornBytes },
  });
}
