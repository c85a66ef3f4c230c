import type { RecordBody } from "../core/values/canonical-json.ts";
import type { VerifyProblemShape } from "./shapes.ts";

/** The options for changing a record. */
export interface RecordPut {
  /** The depth of the agent in nested agents: 0 (default) for the top agent. */
  readonly recursionDepth?: number;
}

/**
 * One event of a record. `hash` is the hash of the event in the log. In the log, the id of the record is
 * `user:<record_id>`.
 */
export interface RecordEventShape {
  seq: number;
  ts: string;
  op: "upsert" | "delete" | "migrate";
  record_id: string;
  /** The record after the event; `{}` for a delete. */
  record: RecordBody;
  prev_hash: string;
  hash: string;
  recursion_depth: number;
}

/** The result of recomputing a record store's log. */
export interface RecordVerifyShape {
  ok: boolean;
  /** The number of events that were read, including events that Chronicle wrote for itself. */
  events: number;
  /** The last event that could be read; seq 0 and hash `""` if there is none. */
  head: { seq: number; hash: string };
  problems: VerifyProblemShape[];
  /** Findings that are no problems but worth knowing. */
  notes: string[];
}

export interface ImportOptions {
  /**
   * True to round numbers that a double cannot hold exactly, such as integers beyond 2^53. Default: a file with such a
   * number is refused.
   */
  readonly roundNumbers?: boolean;
  /**
   * The bytes of the `snapshot.json` beside the original log. Required if the original log was compacted, and ignored
   * otherwise. The records in `snapshot.json` are imported without proof.
   */
  readonly checkpoint?: Uint8Array;
  /**
   * True to import only the lines before the first line that fails verification. Default: the whole file is refused if
   * a line fails verification.
   */
  readonly upToTear?: boolean;
}

/** The parts of an import that could not be verified. The `import:` event names these parts as well. */
export interface UnverifiedImportShape {
  /**
   * The records that came from the checkpoint and that no line of the original log contains. `file_sha256`: the hash of
   * the checkpoint. `seq`: the last event that the checkpoint covers. `records`: the number of these records. Absent if
   * no checkpoint was needed.
   */
  checkpoint?: { file_sha256: string; seq: number; records: number };
  /**
   * The first line that fails verification. `line`: the number of the line. `byte`: the offset at which the line
   * begins. `bytes` and `lines`: the size and the number of the lines that were left out, from this line on. `reason`:
   * the reason why the line fails. Absent if all lines were imported.
   */
  tear?: { line: number; byte: number; bytes: number; lines: number; reason: string };
}

/** The result of an import. */
export interface RecordImportShape {
  source: "chronomemory";
  /**
   * The number of verified events of the original log. Each of these events became one event of this log. Records from
   * a checkpoint are not counted.
   */
  events: number;
  /** The number of imported records that are live. */
  records: number;
  /** The number of numbers that were rounded. */
  rounded: number;
  /** The seq of the `import:` event, and the seq of the last imported event, in this log. */
  seqs: [number, number];
  /** The last event of the original log that was imported. */
  head: { seq: number; hash: string };
  /** Absent if everything was verified. */
  unverified?: UnverifiedImportShape;
}

/**
 * A store of JSON records on a hash-chained log. A deletion is recorded as an event of its own, and no line is ever
 * removed. The promise of a change resolves when the event of the change is durable.
 *
 * An id is any well-formed text of 1 to 1,024 bytes in UTF-8. A record is a JSON object of plain values: finite
 * numbers, well-formed texts, no key `__proto__`, no instances of classes. Returned records are copies: the caller may
 * change them.
 *
 * Calls that change something run one after another, under the lock of the log. If another process holds the lock, a
 * call waits for it, and throws `LOCKED` if it waits too long. A call throws `USAGE` for an invalid id or record, and
 * `LIMIT_EXCEEDED` for a line of more than 64 MiB.
 */
export interface RecordStoreApi extends AsyncDisposable, Disposable {
  /** Creates or replaces a record. */
  upsert(id: string, record: RecordBody, options?: RecordPut): Promise<RecordEventShape>;
  /** Returns the record; `undefined` if it does not exist or was deleted. */
  get(id: string): Promise<RecordBody | undefined>;
  /** Deletes a record. Returns `undefined` if the record does not exist. */
  delete(id: string, options?: RecordPut): Promise<RecordEventShape | undefined>;
  /** Returns all records that are not deleted, sorted by id. */
  all(): Promise<readonly (readonly [string, RecordBody])[]>;
  /**
   * Yields the events of records from the seq `from` (default: the first event in the log) to the present end of the
   * log.
   */
  replay(from?: number): AsyncIterable<RecordEventShape>;
  /**
   * Replaces every record by the result of `change`. Each record gets one event with its whole new value, and all
   * events are written in one commit. If `change` throws, nothing is written and the error is passed on. Returns the
   * number of records.
   */
  migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number>;
  /**
   * Copies the log and the records into a new folder beneath the absolute path `folder`. Returns the path of the new
   * folder. The copy of a standalone store is a standalone store, too. The copy of a workspace cannot be opened. Such a
   * copy has the lines of the workspace's log and, in `records.ndjson`, the records as `export` yields them. It does
   * not have the contents of files.
   */
  backup(folder: string): Promise<string>;
  /** Yields the records that are not deleted, as lines of canonical JSON `{"id":…,"record":…}` without a newline. */
  export(): AsyncIterable<string>;
  /** Moves the log into the archive. Returns the number of moved events. */
  compact(): Promise<number>;
  /** Verifies like `verify`, and returns true if there is no problem. */
  chainValid(): Promise<boolean>;
  /**
   * Recomputes the whole chain and returns every problem. For the records of a workspace, the whole workspace is
   * verified as with `quick`, so a missing content of a file is a problem, too.
   */
  verify(): Promise<RecordVerifyShape>;
  /**
   * Imports the records of an original chronomemory log. `log` is the content of the file `events.wal`. Records keep
   * their order and their recursion depth. One `import:` event before the records has the times and the head of the
   * original, and the SHA-256 of the file.
   *
   * First verifies every line. If a line does not match its hash, and `upToTear` is not set, imports nothing and throws
   * `INTEGRITY_VIOLATION` with the number of the line. Throws `REFUSED` for a compacted log if `checkpoint` is missing.
   * `unverified` of the result describes the parts that were imported without proof or left out.
   */
  importChronomemory(log: Uint8Array, options?: ImportOptions): Promise<RecordImportShape>;
  /**
   * Closes a standalone store. The next call opens the store again. Does nothing for the records of a workspace,
   * because they are closed with the workspace.
   */
  close(): Promise<void>;
}

/** Options for opening a standalone record store. */
export interface RecordStoreOptions {
  /** The store's folder, absolute. It is created if it is missing. */
  readonly folder: string;
  /** The maximum time to wait for the lock, in ms (default 30,000). */
  readonly waitMs?: number;
  /**
   * True to write nothing (default: false). With `readOnly`, a folder without a store throws `NOT_FOUND`, and every
   * call that would change something throws `READ_ONLY`.
   */
  readonly readOnly?: boolean;
}

/** A standalone record store, in a folder of its own. */
export interface StandaloneRecordStoreApi extends RecordStoreApi {
  readonly folder: string;
  /**
   * Returns notes for people about the opening of the store: on a torn tail that was moved away, a discarded
   * checkpoint, or damage.
   */
  notes(): Promise<readonly string[]>;
}
