import type { RecordVerifyShape } from "../../api/record-api.ts";
import type { EventDraft, LogEvent, RecordBody, SealedEvent } from "../../core/values/event.ts";

/** A record that is not deleted, as its last event left it. The body is the receiver's own. */
export interface LiveRecord {
  readonly recordId: string;
  readonly seq: number;
  readonly record: RecordBody;
}

/** What may be done while the log's lock is held. */
export interface RecordCommit {
  /** The record, or `undefined` if there is none or it is deleted. */
  get(recordId: string): Promise<LiveRecord | undefined>;
  /** The records of users that are not deleted, in the order of their ids. */
  live(): Promise<readonly LiveRecord[]>;
  /** Appends all of them in one write; resolves when they are durable. */
  append(drafts: readonly EventDraft[]): Promise<readonly SealedEvent[]>;
}

/**
 * What a store of records stands on: a log, and the state that it amounts to. Backends: `WorkspaceLedger` (the log of a
 * workspace and its index) and `FolderLedger` (a log of its own).
 */
export interface RecordLedger {
  get(recordId: string): Promise<LiveRecord | undefined>;
  /** The records of users that are not deleted, in the order of their ids. */
  live(): Promise<readonly LiveRecord[]>;
  /** The events of users' records from a seq on, to where the log ends now. */
  events(from: number): AsyncIterable<LogEvent>;
  /** Takes the lock, looks what others have appended, and lets `work` append. */
  change<T>(work: (commit: RecordCommit) => Promise<T>): Promise<T>;
  compact(): Promise<number>;
  verify(): Promise<RecordVerifyShape>;
  backup(folder: string): Promise<string>;
  newId(): string;
  close(): Promise<void>;
}

/** One file of a backup: where in it, and its bytes. */
export interface BackupFile {
  readonly name: string;
  pieces(): AsyncIterable<Uint8Array>;
}

/** Makes a new folder beneath `parent`, durable with all that is in it; it appears whole or not at all. Returns its path. */
export type NewFolder = (parent: string, stem: string, files: readonly BackupFile[]) => Promise<string>;

/** The order of ids: by UTF-16 code units, as in canonical JSON. */
export function byRecordId(a: { readonly recordId: string }, b: { readonly recordId: string }): number {
  if (a.recordId === b.recordId) return 0;
  return a.recordId < b.recordId ? -1 : 1;
}
