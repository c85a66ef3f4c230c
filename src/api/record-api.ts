import type { RecordBody } from "../core/values/canonical-json.ts";
import type { VerifyProblemShape } from "./shapes.ts";

export interface RecordPut {
  /** The depth in nested agents; 0 at the top. */
  readonly recursionDepth?: number;
}

/** One event of a record. The hash covers the event as the log has it, where the id is `user:<record_id>`. */
export interface RecordEventShape {
  seq: number;
  ts: string;
  op: "upsert" | "delete" | "migrate";
  record_id: string;
  /** `{}` for a delete. */
  record: RecordBody;
  prev_hash: string;
  hash: string;
  recursion_depth: number;
}

/** The result of recomputing a record store's log. */
export interface RecordVerifyShape {
  ok: boolean;
  /** The number of events read, including Chronicle's own. */
  events: number;
  /** The last event that could be read; hash `""` if there is none. */
  head: { seq: number; hash: string };
  problems: VerifyProblemShape[];
  /** Findings that are no problems but worth knowing. */
  notes: string[];
}

export interface ImportOptions {
  /** Rounds numbers that a double cannot hold exactly (integers beyond 2^53), instead of refusing the file. */
  readonly roundNumbers?: boolean;
  /**
   * The bytes of `snapshot.json` of a compacted original. Its records are imported as they are, though nothing proves
   * them. Ignored if the log was not compacted.
   */
  readonly checkpoint?: Uint8Array;
  /** Imports the lines before the first line that fails verification, instead of refusing the file. */
  readonly upToTear?: boolean;
}

/** The parts of an import that could not be verified. The `import:` event names them as well. */
export interface UnverifiedImportShape {
  /** The records that came from the checkpoint, which ends with event `seq`. No line of the log contains them. */
  checkpoint?: { file_sha256: string; seq: number; records: number };
  /**
   * The first line that does not verify: its number, the byte at which it begins, how many bytes and lines were left
   * out from there on, and why.
   */
  tear?: { line: number; byte: number; bytes: number; lines: number; reason: string };
}

/** The result of an import. */
export interface RecordImportShape {
  source: "chronomemory";
  /** The number of events read and verified; each became one event here. Records from a checkpoint are not counted. */
  events: number;
  /** The number of imported records that are live. */
  records: number;
  /** The number of numbers that were rounded. */
  rounded: number;
  /** The seqs in this log: of the `import:` event and of the last imported event. */
  seqs: [number, number];
  /** The last event of the original that was imported. */
  head: { seq: number; hash: string };
  unverified?: UnverifiedImportShape;
}

/**
 * A store of JSON records on a hash-chained log. Deleting leaves a tombstone; no line is ever removed. A promise
 * resolves when the event is durable. Ids are any well-formed text of 1 to 1,024 bytes in UTF-8. A record is a JSON
 * object of plain values: finite numbers, well-formed texts, no key `__proto__`, no instances of classes. Returned
 * records are copies: a caller may change them.
 *
 * Calls that change something are done one after another, under the lock of the log: a second process waits, or gets
 * `LOCKED`. Throws `USAGE` for an invalid id or record, `LIMIT_EXCEEDED` for a line over 64 MiB.
 */
export interface RecordStoreApi extends AsyncDisposable, Disposable {
  upsert(id: string, record: RecordBody, options?: RecordPut): Promise<RecordEventShape>;
  /** Returns the record; `undefined` if there is none or it is deleted. */
  get(id: string): Promise<RecordBody | undefined>;
  /** Deletes a record. Resolves to `undefined` if there is none. */
  delete(id: string, options?: RecordPut): Promise<RecordEventShape | undefined>;
  /** Returns all records that are not deleted, sorted by id. */
  all(): Promise<readonly (readonly [string, RecordBody])[]>;
  /** Yields the events of records from a seq on (default: the first in the log) to the present end of the log. */
  replay(from?: number): AsyncIterable<RecordEventShape>;
  /**
   * Rewrites every record through `change`: one full event each, all in one commit. If `change` throws, nothing is
   * written and the error is passed on. Returns the number of records.
   */
  migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number>;
  /**
   * Copies the log and the records into a new folder beneath `folder` (absolute). Returns the new folder's path. The
   * copy of a store in a folder of its own is such a store, too. That of a workspace has the lines of its log, without
   * the contents of files, and its records in `records.ndjson`, as `export` yields them; it cannot be opened.
   */
  backup(folder: string): Promise<string>;
  /** Yields the records that are not deleted, as lines of canonical JSON `{"id":…,"record":…}` without a newline. */
  export(): AsyncIterable<string>;
  /** Moves the log into the archive. Returns the number of events; 0 if there is nothing to move. */
  compact(): Promise<number>;
  /** Recomputes the whole chain. Returns whether it is valid. */
  chainValid(): Promise<boolean>;
  /** Recomputes the whole chain and returns every problem. */
  verify(): Promise<RecordVerifyShape>;
  /**
   * Imports the records of an original chronomemory log (`events.wal`), given as its bytes. Verifies every line first:
   * if one does not match its hash, throws `INTEGRITY_VIOLATION` with its number in the file, and imports nothing.
   * Records keep their order and their recursion depth. One `import:` event before them holds the original's times, its
   * head and the SHA-256 of the file. Throws `REFUSED` for a compacted log without its `checkpoint`; a torn log needs
   * `upToTear`. Records that come without proof are named in `unverified`.
   */
  importChronomemory(log: Uint8Array, options?: ImportOptions): Promise<RecordImportShape>;
  /**
   * Closes a standalone store; its next call opens it again. Does nothing for the records of a workspace, which the
   * workspace closes.
   */
  close(): Promise<void>;
}

/** Options for opening a standalone record store. */
export interface RecordStoreOptions {
  /** The store's folder, absolute. It is created if it is missing. */
  readonly folder: string;
  /** The time to wait for the lock (default 30,000 ms). */
  readonly waitMs?: number;
  /**
   * Never writes. A folder without a store throws `NOT_FOUND`, and every call that would change something `READ_ONLY`.
   */
  readonly readOnly?: boolean;
}

/** A standalone record store, in a folder of its own. */
export interface StandaloneRecordStoreApi extends RecordStoreApi {
  readonly folder: string;
  /** Returns the findings of opening: a torn tail that was moved away, a checkpoint that was discarded, damage. */
  notes(): Promise<readonly string[]>;
}
