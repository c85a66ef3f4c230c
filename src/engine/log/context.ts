import type { RetentionShape } from "../../api/action-shapes.ts";
import type { DuShape, GcShape } from "../../api/shapes.ts";
import type { RepairPlace, RunOptions } from "../../api/workspace-api.ts";
import type { AnnouncedContent } from "../../core/records/announced-content.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { GivenUpPart } from "../../core/records/tombstone.ts";
import type { Whereabouts } from "../../core/records/whereabouts.ts";
import type { OffRecord } from "../../core/records/off-record.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { EventLog } from "../../storage/event-log.ts";
import type { IndexStore } from "../../storage/index-store.ts";
import type { Lock } from "../../storage/lock.ts";
import type { OutsideFiles } from "../../worktree/outside-files.ts";
import type { ScannedPath, Worktree } from "../../worktree/worktree.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { RepairSource } from "./repair-source.ts";
import type { NewFolder } from "./ledger.ts";
import type { DirtyPaths } from "./dirty-paths.ts";
import type { SealedEvent } from "../../core/values/event.ts";
import type { SigningFault } from "./signing-fault.ts";
import type { Signal } from "../../util/signal.ts";

/**
 * Everything that the engine needs from outside, for one workspace: ports and the sources of time and chance.
 * A whole history runs in a deterministic simulation by giving other ones.
 */
export interface Context {
  readonly workspaceId: string;
  /** Where the log starts, if neither at event 1 nor with a compaction: so does a replica's copy after a reconciliation. */
  readonly anchor?: HistoryAnchor | undefined;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly index: IndexStore;
  readonly lock: Lock;
  /** Names of secrets that count beside those of the history: those of whoever looks at an origin's. */
  readonly secretNames?: readonly string[] | undefined;
  readonly worktree: Worktree;
  /** Where the record said that the first root lies, where it was opened at another place: through a bind mount, or moved. */
  readonly recordedAt?: string | undefined;
  /** Files of no workspace that a tool is about to change. */
  readonly outside: OutsideFiles;
  readonly ingest: Ingest;
  /** What was changed off the record. */
  readonly offRecord: OffRecordFile;
  /** Where the folders were when they were last captured whole, and where they are. */
  readonly whereabouts: WhereaboutsFile;
  /** This process follows an origin with the folder. */
  readonly follows?: true;
  readonly heads: HeadKeeper;
  /** Has the signed head follow what is recorded. */
  readonly headFollower: HeadFollower;
  readonly store: StoreTasks;
  readonly processes: Processes;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A new unique id (UUID v4). */
  readonly newId: () => string;
  /** Lets so many ms pass. `undefined`: time does not pass by itself, as in a simulation. */
  readonly pause?: ((ms: number) => Promise<void>) | undefined;
  /** How long to wait for a lock, in ms. */
  readonly waitMs: number;
  /** Who acts. */
  readonly actor: string;
  /** The agent's program that asks, as that calls itself. */
  readonly client?: string;
  /** No person asks: the bytes of protected files are given out nowhere, and written to no other folder. */
  readonly withholdsSecrets?: true;
  /** Told of what is done without being asked for, for people: a transaction was ended by its rule. */
  readonly tell?: (note: string) => void;
  /** Told, once, that what is recorded here is not signed, and why. */
  readonly unsigned?: (fault: SigningFault) => void;
  /** Opened to look only: the history and the kept head stay as they are. What is derived may be brought up to date. */
  readonly readOnly: boolean;
  /** It is a replica's copy of its origin's history: then it is opened to look only. */
  readonly isCopy?: true;
  /** How much is kept, and who says so. */
  readonly retention: Retention;
  /** Once it is started, captures of everything look only where something may have changed. */
  readonly live: DirtyPaths;
  /** Tells what this process has recorded in this workspace, once the index knows it. */
  readonly recorded: Signal<Recorded>;
  /**
   * Tells of some of it before, while its commit still puts it into the folder: for copies of the history elsewhere, which have
   * folders of their own.
   */
  readonly decided: Signal<Recorded>;
  /** Tells, still before that, of a small content that is about to be recorded. */
  readonly foreseen: Signal<AnnouncedContent>;
}

/** What one commit has recorded: events that follow one another. */
export interface Recorded {
  readonly events: readonly SealedEvent[];
}

/** The limits in force; `sources`: for people, where each comes from. */
export interface Retention {
  readonly limits: RetentionShape;
  readonly sources: Readonly<Record<keyof RetentionShape, string>>;
  /** Takes over what was written into the files since. Throws `USAGE` for one that cannot be understood. */
  reread(): Promise<void>;
}

/** What reading and catching up with the history needs; a worktree is not among it. */
export type HistoryContext = Pick<
  Context,
  | "workspaceId"
  | "anchor"
  | "isCopy"
  | "secretNames"
  | "log"
  | "blobs"
  | "index"
  | "lock"
  | "waitMs"
  | "heads"
  | "now"
  | "newId"
>;

/** Reads contents from the worktree into the blob store, with all cores. */
export interface Ingest {
  begin(options: IngestOptions): IngestRun;
}

export interface IngestOptions {
  /** Contents are hashed, not stored: for looks that record nothing. */
  readonly hashOnly: boolean;
  /** Contents that are hashed and not stored, whichever path has them. */
  readonly erased?: ReadonlySet<Hash>;
  /** Is this path tracked, and remembered? Then it may be read although it was not handed over. */
  readonly known?: (path: WorkspacePath) => boolean;
  /** Gets what became of each path, as it comes. What was stored is durable only after `finish`. */
  readonly onResult: (result: IngestResult) => void;
}

/** One capture's reading. */
export interface IngestRun {
  /** Begins to read these; resolves when there is room for more. Folders need not be given. */
  add(batch: readonly ScannedPath[]): Promise<void>;
  /** Resolves when everything that was added is read, durable and visible. */
  finish(onProgress?: (doneBytes: number) => void): Promise<void>;
  abandon(): Promise<void>;
}

/** What became of one path: read (`entry`), or why not. */
export type IngestResult =
  | {
      readonly path: WorkspacePath;
      readonly entry: Entry;
      readonly stat: FileStat;
      readonly unstable: boolean;
      /** An SQLite database. */
      readonly isDatabase?: true;
      /** Right as it was read, together with the others of its unit; it must be read again at the next look. */
      readonly isMoving?: true;
    }
  | { readonly path: WorkspacePath; readonly gone: true }
  | { readonly path: WorkspacePath; readonly omission: Omission };

/** Keeps the notes of what was changed off the record. Written with the workspace's lock held. */
export interface OffRecordFile {
  /** What was written last, by whichever process: the same object as long as it is the same. Throws `LOG_DAMAGED`. */
  read(): OffRecord | undefined;
  /** Durable when it returns; `undefined` removes it. */
  write(value: OffRecord | undefined): void;
}

/** Keeps where the folders of a workspace were, beside the log. */
export interface WhereaboutsFile {
  /** As it was noted last; `undefined`: it never was, or nobody can understand it. */
  read(): Whereabouts | undefined;
  /** As it is now. */
  now(): Whereabouts;
  /** When the machine started, in ms since the epoch; `undefined`: it is not known. */
  startedAt(): number | undefined;
  /** Durable when it returns. */
  write(value: Whereabouts): void;
}

/** Contents that are needed by others than the history that asks. */
export interface NeededElsewhere {
  readonly workspaces: readonly { readonly id: string; readonly contents: readonly Hash[] }[];
  /** What the copy of an origin's history needs of them; `undefined`: this workspace follows no origin. */
  readonly upstream: readonly Hash[] | undefined;
}

/** What concerns the whole store, not one workspace. */
export interface StoreTasks {
  /** The store's folder, for people. */
  readonly home: string;
  /** What is wrong with the workspace's files beside its log and contents. */
  fileFaults(): readonly { readonly where: string; readonly fault: string }[];
  /** Contents of an origin's history that were left out of what this replica holds of it, on purpose or since the origin had freed them. */
  withheld(): ReadonlySet<Hash>;
  /** What this workspace holds of its origin's history, opened to be verified; `undefined`: it follows none. */
  copy(): Promise<HistoryCopy | undefined>;
  /**
   * Which of these contents other histories of the store need, forgotten ones too, and this workspace's copy of its origin's. With `due`
   * as a collection sees it: what they have erased counts as needed until its time is over.
   */
  neededElsewhere(hashes: ReadonlySet<Hash>, options?: { readonly due?: boolean }): Promise<NeededElsewhere>;
  /** Those of the contents that the store holds, whatever this history has erased. */
  stored(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /** Opens a place where good bytes may be. Throws `NOT_FOUND` where it is not there, `USAGE` for what is none. */
  repairSource(place: RepairPlace): RepairSource;
  /**
   * Puts damaged files of the blob store aside, as `BlobStore.setAside`: what no workspace of the store needs may go with them.
   * Resolves to their names.
   */
  setAside(files: ReadonlySet<string>): Promise<readonly string[]>;
  /** An empty index that nobody else sees, for recomputing. */
  scratchIndex(): IndexStore;
  /**
   * Frees what no workspace of the store needs. `waitMs`: how long to wait for those who are writing (default: as for
   * every lock); then it throws `LOCKED`.
   */
  collect(options?: { readonly waitMs?: number }): Promise<GcShape>;
  /** Notes beside the key what is given up now and kept for a grace period, so that it can be brought back until then. */
  noteGivenUp(what: GivenUpPart): Promise<void>;
  /** Throws `REFUSED` for a folder that is there and not empty. Makes nothing. */
  refuseFilled(folder: string): Promise<void>;
  /** A worktree over a folder that is empty, or is made now. Throws `REFUSED` for one that is not empty. */
  emptyWorktree(folder: string): Promise<Worktree>;
  /** How much space the whole store takes. */
  usage(): Promise<DuShape>;
  /** Makes a new folder with copies. */
  readonly newFolder: NewFolder;
  /** The same in bytes, cheaply: as it was a moment ago, with what `grew` has told since. `fresh`: as it is now. */
  takes(options?: { readonly fresh?: boolean }): number;
  /** So many bytes were or will be written. */
  grew(bytes: number): void;
}

/** A copy of somebody else's history, open until it is disposed of. */
export interface HistoryCopy extends AsyncDisposable {
  readonly context: Context;
  /** Where it lies, for people; ends in `/`. */
  readonly where: string;
}

/** Keeps the signed heads and the key, apart from the store. */
export interface HeadKeeper {
  /** Where the key is kept, for people. */
  readonly keyFile: string;
  /**
   * The verifier key of our own key; `undefined` while there is none. Makes none. Throws `IO`, naming the file, where that
   * holds no key.
   */
  verifierKey(): string | undefined;
  /** The same; makes the key where there is none. Only for the beginning of a history, and for what a person has accepted. */
  makeKey(): string;
  /** The last head kept for a workspace, or `undefined`. */
  last(workspaceId: string): KeptHead | undefined;
  /**
   * The head of a history's first commit, signed before that commit was written. It counts where no other one is kept: the
   * process was killed before it could keep one. The first `keep` removes it.
   */
  first(workspaceId: string): KeptHead | undefined;
  /** Signs the head of a first commit that is about to be written. */
  signFirst(head: HeadToSign): void;
  /** Signs and keeps a head, unless a valid one of a later event is kept. */
  keep(head: HeadToSign): void;
  /** Signs and keeps a head in place of whatever is kept. */
  replace(head: HeadToSign): void;
  /** The notes that were retired. */
  former(workspaceId: string): readonly KeptHead[];
  /** Keeps the present note a second time, for ever. Returns that file's name; `undefined`: no head is kept. */
  retire(workspaceId: string): string | undefined;
  /** Signs without keeping: for what is only shown. */
  sign(head: HeadToSign): SignedHead;
}

/** Sees to it that the signed head follows what is recorded in one open workspace. */
export interface HeadFollower {
  /** Something was appended. To be called with the workspace's lock held. */
  committed(): Promise<void>;
  /** The log goes up to this event, whoever wrote it: a writer that was killed has not signed. */
  seen(seq: number): void;
  /** Keeps the head of what has none yet; nothing is done later any more. */
  end(): Promise<void>;
}

export interface HeadToSign {
  readonly workspaceId: string;
  readonly seq: number;
  readonly hash: Hash;
  readonly logRoot: Hash;
  readonly root: Hash;
}

/** A head that was signed just now. */
export interface SignedHead extends HeadToSign {
  readonly note: string;
  /** The verifier key. */
  readonly key: string;
}

/** A head as it is kept; seq 0 where the note cannot be read. */
export interface KeptHead extends HeadToSign {
  /** The signature verifies with our own key. False while that is missing. */
  readonly valid: boolean;
  readonly note: string;
  /** Its file is there, and this user may not read it: why, as a sentence. */
  readonly unreadable?: string;
  /** Does the signature verify with this verifier key? */
  isSignedBy(key: string): boolean;
}

/** Other processes of this machine. */
export interface Processes {
  readonly pid: number;
  isAlive(pid: number): boolean;
  /** The process that started this one, the one that started that, and so on; empty where the system does not tell. */
  ancestors(pid: number): Promise<readonly number[]>;
  /** What tells a process from any that has its number at another time, whatever clocks do; `undefined` where the system does not tell. */
  markOf(pid: number): string | undefined;
  /** The PID namespace in which numbers mean processes here; not there where the system does not tell. */
  readonly pidSpace?: string | undefined;
  /** Runs a command with this process's stdin, stdout and stderr. Throws `NOT_FOUND` or `IO` if it cannot be started. */
  run(command: readonly string[], options: ProcessOptions): Promise<ProcessEnd>;
}

export interface ProcessOptions {
  readonly cwd: string;
  /** Default: this process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Added to the environment. */
  readonly moreEnv?: Readonly<Record<string, string>>;
  /** As `RunOptions` has them. */
  readonly descriptors?: readonly number[];
  readonly bytes?: RunOptions["bytes"];
}

export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The code for a shell: the exit code, or 128 + the signal's number. */
  readonly code: number;
}
