import type { RecordBody } from "../core/event.ts";

export interface RecordPut {
  /** How deep in nested agents; 0 at the top. */
  readonly recursionDepth?: number;
}

/** One event of a record store. */
export interface RecordEventShape {
  seq: number;
  ts: string;
  op: "upsert" | "delete" | "compact" | "migrate";
  record_id: string;
  /** `{}` for a delete. */
  record: RecordBody;
  prev_hash: string;
  hash: string;
  recursion_depth: number;
}

/**
 * A store of JSON records on a hash-chained log. Deleting leaves a tombstone; no line is ever removed. A promise resolves
 * when the event is durable. Ids are any text of 1 to 1,024 bytes.
 */
export interface RecordStoreApi {
  upsert(id: string, record: RecordBody, options?: RecordPut): Promise<RecordEventShape>;
  /** The record, or `undefined` if there is none or it is deleted. */
  get(id: string): Promise<RecordBody | undefined>;
  /** Deletes a record; `undefined` if there is none. */
  delete(id: string, options?: RecordPut): Promise<RecordEventShape | undefined>;
  /** All that are not deleted, in the order of their ids. */
  all(): Promise<readonly (readonly [string, RecordBody])[]>;
  /** The events from a seq on. */
  replay(from?: number): AsyncIterable<RecordEventShape>;
  /** Rewrites every record through `change`: one full event each. Returns how many were changed. */
  migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number>;
  /** Copies the log and the state into a new folder beneath this one; returns its path. */
  backup(folder: string): Promise<string>;
  /** The records that are not deleted, as NDJSON lines `{id, record}`. */
  export(): AsyncIterable<string>;
  /** Moves the log into the archive. Returns how many events. */
  compact(): Promise<number>;
  /** Recomputes the whole chain. */
  chainValid(): Promise<boolean>;
  close(): Promise<void>;
}
