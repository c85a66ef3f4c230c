import type { RecordVerifyShape } from "../../api/record-api.ts";
import type { EventDraft, LogEvent, RecordBody, SealedEvent } from "../../core/values/event.ts";

/** A record that exists, with the content of its last event. The caller may change the body. */
export interface LiveRecord {
  readonly recordId: string;
  readonly seq: number;
  readonly record: RecordBody;
}

export interface RecordCommit {
  get(recordId: string): Promise<LiveRecord | undefined>;
  /** Returns the existing records of users, ordered by id. */
  live(): Promise<readonly LiveRecord[]>;
  /** Appends all drafts in one write; resolves when they are durable. */
  append(drafts: readonly EventDraft[]): Promise<readonly SealedEvent[]>;
}

/**
 * The log of a record store. Implementations: `WorkspaceLedger` (the log and the index of a workspace), `FolderLedger`
 * (a log in a folder of its own).
 */
export interface RecordLedger {
  get(recordId: string): Promise<LiveRecord | undefined>;
  /** Returns the existing records of users, ordered by id. */
  live(): Promise<readonly LiveRecord[]>;
  /** Yields the events of users' records from seq `from` to the present end of the log. */
  events(from: number): AsyncIterable<LogEvent>;
  /** Takes the lock, reads the events that others have appended, and then runs `work`, which may append events. */
  change<T>(work: (commit: RecordCommit) => Promise<T>): Promise<T>;
  compact(): Promise<number>;
  verify(): Promise<RecordVerifyShape>;
  backup(folder: string): Promise<string>;
  newId(): string;
  close(): Promise<void>;
}

export interface BackupFile {
  readonly name: string;
  pieces(): AsyncIterable<Uint8Array>;
}

/**
 * Durably makes a new folder with these files in `parent`, and returns the path of the new folder. After a crash, the
 * new folder either has all of the files or does not exist.
 */
export type NewFolder = (parent: string, stem: string, files: readonly BackupFile[]) => Promise<string>;

/** Orders ids by UTF-16 code units, as in canonical JSON. */
export function byRecordId(a: { readonly recordId: string }, b: { readonly recordId: string }): number {
  if (a.recordId === b.recordId) return 0;
  return a.recordId < b.recordId ? -1 : 1;
}
