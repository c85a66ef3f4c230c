import type { RecordBody } from "../core/values/json.ts";
import type { VerifyProblemShape } from "./shapes.ts";

export interface RecordPut {
  /** How deep in nested agents; 0 at the top. */
  readonly recursionDepth?: number;
}

/** One event of a record. The hash covers the event as it stands in the log, where the id is `user:<record_id>`. */
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

/** What recomputing a record store's log has found. */
export interface RecordVerifyShape {
  ok: boolean;
  /** How many events were read, those of Chronicle's own included. */
  events: number;
  /** The last event that could be read; hash `""`: there is none. */
  head: { seq: number; hash: string };
  problems: VerifyProblemShape[];
  /** What is not wrong, but worth knowing. */
  notes: string[];
}

export interface ImportOptions {
  /** Take numbers that a double cannot hold exactly (integers beyond 2^53) rounded, instead of refusing the file. */
  readonly roundNumbers?: boolean;
  /**
   * The bytes of the original's `snapshot.json`, of a log that was compacted: the records in it are taken as they are, though
   * nothing vouches for them. Of a log that was not, it is not looked at.
   */
  readonly checkpoint?: Uint8Array;
  /** Take what stands in front of the first line that does not verify, instead of refusing the file. */
  readonly upToTear?: boolean;
}

/** The parts of an import that could not be verified. They stand in its `import:` event as well. */
export interface UnverifiedImportShape {
  /** The records that no line of the log tells of: they came from the checkpoint, which ends with event `seq`. */
  checkpoint?: { file_sha256: string; seq: number; records: number };
  /** The first line that does not verify, where it begins, how much was left out, itself included, and why. */
  tear?: { line: number; byte: number; bytes: number; lines: number; reason: string };
}

/** What an import has brought. */
export interface RecordImportShape {
  source: "chronomemory";
  /** How many events were read and verified; each became one event here. What came from a checkpoint is not among them. */
  events: number;
  /** How many records are live because of it. */
  records: number;
  /** How many numbers were rounded. */
  rounded: number;
  /** The seqs here: that of the `import:` event and that of the last one. */
  seqs: [number, number];
  /** The last event of the original that was imported. */
  head: { seq: number; hash: string };
  unverified?: UnverifiedImportShape;
}

/**
 * A store of JSON records on a hash-chained log. Deleting leaves a tombstone; no line is ever removed. A promise resolves
 * when the event is durable. Ids are any well-formed text of 1 to 1,024 bytes in UTF-8; a record is a JSON object of
 * plain values: finite numbers, well-formed texts, no key `__proto__`, no instances of classes. What is given back is
 * the caller's own: changing it changes nothing here.
 *
 * Calls that change something are done one after another, under the lock of the log: a second process waits, or gets
 * `LOCKED`. Throws `USAGE` for an id or a record that is refused, `LIMIT_EXCEEDED` for a line over 64 MiB.
 */
export interface RecordStoreApi extends AsyncDisposable, Disposable {
  upsert(id: string, record: RecordBody, options?: RecordPut): Promise<RecordEventShape>;
  /** The record, or `undefined` if there is none or it is deleted. */
  get(id: string): Promise<RecordBody | undefined>;
  /** Deletes a record; `undefined` if there is none. */
  delete(id: string, options?: RecordPut): Promise<RecordEventShape | undefined>;
  /** All that are not deleted, in the order of their ids. */
  all(): Promise<readonly (readonly [string, RecordBody])[]>;
  /** The events of records from a seq on (default: from the first that is there), to where the log ends now. */
  replay(from?: number): AsyncIterable<RecordEventShape>;
  /**
   * Rewrites every record through `change`: one full event each, all in one commit. Throws what `change` throws; nothing
   * is written then. Returns how many.
   */
  migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number>;
  /** Copies the log and the state into a new folder beneath this one (absolute); returns its path. */
  backup(folder: string): Promise<string>;
  /** The records that are not deleted, as lines of canonical JSON `{"id":…,"record":…}` without a newline. */
  export(): AsyncIterable<string>;
  /** Moves the log into the archive. Returns how many events; 0 where there is nothing to move. */
  compact(): Promise<number>;
  /** Recomputes the whole chain. */
  chainValid(): Promise<boolean>;
  /** The same, with every problem named. */
  verify(): Promise<RecordVerifyShape>;
  /**
   * Brings in the records of an original chronomemory log (`events.wal`), given as its bytes. Every line is verified
   * first; the first that is not what its hash says is named by its number in the file (`INTEGRITY_VIOLATION`), and
   * nothing is imported. Records come as they are, in order, with their recursion depth; the times of the original, its
   * head and the SHA-256 of the file stand in one `import:` event before them. A compacted log is `REFUSED` without its
   * `checkpoint`, and a torn one is not taken without `upToTear`; what that brings without proof is named in `unverified`.
   */
  importChronomemory(log: Uint8Array, options?: ImportOptions): Promise<RecordImportShape>;
  /**
   * A store of its own is closed, and opened again by the next call. In a workspace nothing is closed: the workspace does
   * that.
   */
  close(): Promise<void>;
}

/** How a record store of its own is opened. */
export interface RecordStoreOptions {
  /** Absolute; made if it is missing. */
  readonly folder: string;
  /** How long to wait for the lock (default 30,000 ms). */
  readonly waitMs?: number;
  /** Never write: a folder without a store throws `NOT_FOUND`, and what would change something `READ_ONLY`. */
  readonly readOnly?: boolean;
}

/** A record store of its own. */
export interface StandaloneRecordStoreApi extends RecordStoreApi {
  readonly folder: string;
  /** What opening has found: a torn tail that was moved away, a checkpoint that was discarded, damage. */
  notes(): Promise<readonly string[]>;
}
