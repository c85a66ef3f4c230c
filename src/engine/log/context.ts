import type { RetentionShape } from "../../api/action-shapes.ts";
import type { DuShape, GcShape } from "../../api/shapes.ts";
import type { CommandEnd, CommandSurroundings, RepairPlace } from "../../api/workspace-api.ts";
import type { AnnouncedContent } from "../../core/records/announced-content.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { GivenUpPart } from "../../core/records/tombstone.ts";
import type { Whereabouts } from "../../core/records/whereabouts.ts";
import type { ContentMatches, LinePattern } from "../../core/text/line-search.ts";
import type { SearchBudget } from "../../core/text/search-budget.ts";
import type { OffRecord } from "../../core/records/off-record.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { EventLog } from "../../storage/event-log.ts";
import type { IndexStore } from "../../storage/index-store.ts";
import type { Lock } from "../../storage/lock.ts";
import type { OutsideFiles } from "../../worktree/outside-files.ts";
import type { GitStates } from "../../worktree/git-states.ts";
import type { ScannedPath, Worktree } from "../../worktree/worktree.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { RepairSource } from "./repair-source.ts";
import type { Memo } from "./memo.ts";
import type { NewFolder } from "./ledger.ts";
import type { DirtyPaths } from "./dirty-paths.ts";
import type { SealedEvent } from "../../core/values/event.ts";
import type { SigningFault } from "./signing-fault.ts";
import type { Signal } from "../../util/signal.ts";

/**
 * Everything that the engine needs from outside for one workspace. A deterministic simulation provides other
 * implementations.
 */
export interface Context {
  readonly workspaceId: string;
  /**
   * The anchor of a replica's copy: the event right before the first line of its log. Absent if the log starts at event
   * 1 or with a compaction.
   */
  readonly anchor?: HistoryAnchor | undefined;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly index: IndexStore;
  readonly memo: Memo;
  readonly lock: Lock;
  /**
   * Patterns for names of secrets, in addition to those of the history. Set if an agent reads a replica's copy of its
   * origin's history. These patterns come from the replica's own history.
   */
  readonly secretNames?: readonly string[] | undefined;
  readonly worktree: Worktree;
  /**
   * The recorded folder of the first root, if the workspace was opened at another path: through a bind mount, or after
   * a move.
   */
  readonly recordedAt?: string | undefined;
  readonly outside: OutsideFiles;
  readonly git: GitStates;
  readonly ingest: Ingest;
  readonly search: ContentSearch;
  readonly offRecord: OffRecordFile;
  /** Keeps the places that the folders had at the last full capture, and finds out their present places. */
  readonly whereabouts: WhereaboutsFile;
  /** Set if this process syncs the folder with an origin. */
  readonly follows?: true;
  readonly heads: HeadKeeper;
  readonly headFollower: HeadFollower;
  readonly store: StoreTasks;
  readonly processes: Processes;
  /** Returns the time in milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: () => string;
  /** Resolves after this many ms. `undefined` if time does not pass by itself, as in a simulation. */
  readonly pause?: ((ms: number) => Promise<void>) | undefined;
  /** The longest wait for a lock, in ms. */
  readonly waitMs: number;
  readonly caller: Caller;
  /**
   * Shows people a note that is part of no answer. Such a note is a warning, or says that Chronicle did work that
   * nobody asked for, such as the rollback of a transaction whose owner is gone.
   */
  readonly tell?: (note: string) => void;
  /** Called once, with the reason, if the history is not signed. */
  readonly unsigned?: (fault: SigningFault) => void;
  /**
   * True if the workspace was opened for reading only. The history and the kept head then stay unchanged, but derived
   * data may be updated.
   */
  readonly readOnly: boolean;
  /** Set for a replica's copy of its origin's history, which is opened for reading only. */
  readonly isCopy?: true;
  readonly retention: Retention;
  /** Knows the paths where something may have changed. While its watcher runs, full captures scan only these paths. */
  readonly live: DirtyPaths;
  /** Emits the events that this process recorded in this workspace, once the index has them. */
  readonly recorded: Signal<Recorded>;
  /**
   * Emits the events of a commit earlier than `recorded` does, while the commit is still writing to the folder. Copies
   * of the history that have folders of their own listen to this signal.
   */
  readonly decided: Signal<Recorded>;
  /** Emits each small content that is about to be recorded, before `decided` emits the event that names the content. */
  readonly foreseen: Signal<AnnouncedContent>;
}

export interface Caller {
  /**
   * An `agent` gets no bytes of protected files: neither in an answer, nor in a folder that its `restore --to` fills.
   */
  readonly role: "person" | "agent";
  /** The actor on whose behalf changes are recorded. */
  readonly actor: string;
  readonly client?: string;
  /** The id that the caller gave to its next request. */
  readonly requestId?: string;
  /** The request that is being carried out, if the request has an id. */
  readonly request?: { readonly id: string; readonly asked: Hash };
}

/** The consecutive events that one commit recorded. */
export interface Recorded {
  readonly events: readonly SealedEvent[];
}

/** The limits in force. `sources` tells people where each limit comes from. */
export interface Retention {
  readonly limits: RetentionShape;
  readonly sources: Readonly<Record<keyof RetentionShape, string>>;
  /** Rereads the settings files. Throws `USAGE` if one of these files cannot be understood. */
  reread(): Promise<void>;
}

/**
 * The part of the context that is needed to read the history and to catch up with the log. This part has no worktree.
 */
export type HistoryContext = Pick<
  Context,
  | "workspaceId"
  | "anchor"
  | "isCopy"
  | "secretNames"
  | "log"
  | "blobs"
  | "index"
  | "memo"
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
  /** True if contents are only hashed and not stored, as in scans that record nothing. */
  readonly hashOnly: boolean;
  /** Contents that are only hashed and not stored, at any path. */
  readonly erased?: ReadonlySet<Hash>;
  /**
   * Returns true if the path is tracked, and the worktree remembers its state. Such a path may be read although it was
   * not given to `IngestRun.add`.
   */
  readonly known?: (path: WorkspacePath) => boolean;
  /** Returns the maximum size, in bytes, of a file at the path; 0: no limit. Default: no limit. */
  readonly maxFileSize?: (path: WorkspacePath) => number;
  /**
   * Receives the result of each path as soon as the result is known. Stored contents are durable only after `finish`.
   */
  readonly onResult: (result: IngestResult) => void;
}

/** The reading of contents for one capture. */
export interface IngestRun {
  /** Begins to read these paths. Resolves when more paths may be added. Folders need not be given. */
  add(batch: readonly ScannedPath[]): Promise<void>;
  /** Resolves when all contents of the added paths are read, durable and visible. */
  finish(onProgress?: (doneBytes: number) => void): Promise<void>;
  abandon(): Promise<void>;
}

/** The result for one path: read (`entry`), gone, or the reason why it was omitted. */
export type IngestResult =
  | {
      readonly path: WorkspacePath;
      readonly entry: Entry;
      readonly stat: FileStat;
      readonly unstable: boolean;
      /** Set for an SQLite database. */
      readonly isDatabase?: true;
      /** Set if the state fits the other files of its database unit, but the next scan must read it again. */
      readonly isMoving?: true;
    }
  | { readonly path: WorkspacePath; readonly gone: true }
  | { readonly path: WorkspacePath; readonly omission: Omission };

/** Searches kept contents for a pattern, with all cores. */
export interface ContentSearch {
  /**
   * Yields the outcome of each content, in any order. Contents that are not searched before the budget or the time is
   * used up have no outcome. A caller that stops iterating ends the search. Throws `USAGE` for an invalid pattern,
   * `BLOB_CORRUPT` for a damaged content, and `LIMIT_EXCEEDED` if the matching lines need more memory than the budget
   * has.
   */
  search(request: SearchRequest): AsyncIterable<SearchedContent>;
}

export interface SizedContent {
  readonly hash: Hash;
  /** The size in bytes. */
  readonly size: number;
}

export interface SearchRequest {
  /** The contents of the history in which the search runs. */
  readonly blobs: Pick<BlobStore, "readMany">;
  /** The contents to search, each once, in the order in which their lines are needed. */
  readonly contents: readonly SizedContent[];
  readonly pattern: LinePattern;
  /**
   * The maximum number of lines that are needed, counted from the first content on. An outcome may therefore have fewer
   * lines than the content has matches.
   */
  readonly mostLines: number;
  readonly budget: SearchBudget;
  /** The time in ms after which no further content is searched. */
  readonly mostMs: number;
}

export interface SearchedContent {
  readonly hash: Hash;
  /** `slow`: the pattern took too long or too much memory for this content. `missing`: the content is not kept. */
  readonly outcome: ContentMatches | "none" | "slow" | "missing";
}

/**
 * Keeps the notes on the paths that were changed off the record. The caller of `write` must hold the workspace's lock.
 */
export interface OffRecordFile {
  /**
   * Returns the last written notes: the same object as long as the notes are unchanged. Throws `LOG_DAMAGED` if the
   * notes cannot be read.
   */
  read(): OffRecord | undefined;
  /** Writes the notes; `undefined` removes the notes. The change is durable when the call returns. */
  write(value: OffRecord | undefined): void;
}

/** Keeps the places of a workspace's folders in a file beside the log. */
export interface WhereaboutsFile {
  /**
   * Returns the whereabouts that were written last; `undefined` if none were written, or if they cannot be understood.
   */
  read(): Whereabouts | undefined;
  now(): Whereabouts;
  /** Returns the time at which the machine started, in ms since the epoch; `undefined` if this time is unknown. */
  startedAt(): number | undefined;
  /** Writes the whereabouts. The file is durable when the call returns. */
  write(value: Whereabouts): void;
}

/** Contents that other histories need. */
export interface NeededElsewhere {
  readonly workspaces: readonly { readonly id: string; readonly contents: readonly Hash[] }[];
  /** Contents that the copy of an origin's history needs; `undefined` if this workspace follows no origin. */
  readonly upstream: readonly Hash[] | undefined;
}

/** Tasks that concern the whole store, not one workspace. */
export interface StoreTasks {
  /** The store's folder, for people. */
  readonly home: string;
  /** False if another process has forgotten the workspace since it was opened. */
  isThere(): boolean;
  /** Returns the faults of the workspace's files. Does not check the log and the contents. */
  fileFaults(): readonly { readonly where: string; readonly fault: string }[];
  /**
   * Returns the contents of an origin's history that this copy lacks, because they were withheld on purpose, or because
   * the origin had freed them.
   */
  withheld(): ReadonlySet<Hash>;
  /** Returns the contents of this history that the archive from which it was imported left out on purpose. */
  leftOut(): ReadonlySet<Hash>;
  /**
   * Opens this workspace's copy of its origin's history for verification. Resolves to `undefined` if the workspace
   * follows no origin.
   */
  copy(): Promise<HistoryCopy | undefined>;
  /**
   * Returns those of the contents that other histories of the store need, including forgotten histories. Also returns
   * those that this workspace's mirror needs. With `due`, a content that another history has erased still counts as
   * needed until the grace period of the erasure is over. A garbage collection uses the same rule.
   */
  neededElsewhere(hashes: ReadonlySet<Hash>, options?: { readonly due?: boolean }): Promise<NeededElsewhere>;
  /** Returns those of the contents that the store has, even if this history has erased them. */
  stored(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /** Throws `NOT_FOUND` if the place does not exist, and `USAGE` if no good bytes can be at such a place. */
  repairSource(place: RepairPlace): RepairSource;
  /**
   * Sets damaged files aside, as `BlobStore.setAside` does. Resolves to the names of the files. Contents in these files
   * that no workspace of the store needs can be lost.
   */
  setAside(files: ReadonlySet<string>): Promise<readonly string[]>;
  /** Returns a new, empty index for this process alone, in which derived data can be recomputed. */
  scratchIndex(): IndexStore;
  /**
   * Frees the contents that no workspace of the store needs. Throws `LOCKED` if writers of contents are still at work
   * after `waitMs` (default: the wait for any lock).
   */
  collect(options?: { readonly waitMs?: number }): Promise<GcShape>;
  /**
   * Writes a note about a part of the history that is given up now. The note is kept beside the signing key. The part
   * can be brought back until its grace period is over.
   */
  noteGivenUp(what: GivenUpPart): Promise<void>;
  /** Throws `REFUSED` if the folder exists and is not empty. */
  refuseFilled(folder: string): Promise<void>;
  /** Creates the folder if it is missing. Throws `REFUSED` for a folder that is not empty. */
  emptyWorktree(folder: string): Promise<Worktree>;
  usage(): Promise<DuShape>;
  /** Returns the replicas of this workspace, each with the last event that it has acknowledged. */
  replicas(): Promise<readonly { readonly id: string; readonly seq: number }[]>;
  readonly newFolder: NewFolder;
  /**
   * Returns the store's size in bytes at the last measurement, plus what `grew` added since. With `fresh`, measures the
   * size now.
   */
  takes(options?: { readonly fresh?: boolean }): number;
  /** Increases the size that `takes` returns by `bytes`, which were or will be written. */
  grew(bytes: number): void;
}

export interface HistoryCopy extends AsyncDisposable {
  readonly context: Context;
  /** The path of the copy, for people. The path ends in `/`. */
  readonly where: string;
}

/** Keeps the signed heads and the key, apart from the store. */
export interface HeadKeeper {
  /** The path of the key file, for people. */
  readonly keyFile: string;
  /**
   * Returns the verifier key that belongs to the key file; `undefined` if there is no key file. Throws `IO`, naming the
   * file, if the file cannot be read or contains no signing key.
   */
  verifierKey(): string | undefined;
  /**
   * Like `verifierKey`, but creates the key if there is no key file. Used only when a history begins, and when a person
   * accepts a history.
   */
  makeKey(): string;
  /** Returns the kept head; `undefined` if none is kept. */
  last(workspaceId: string): KeptHead | undefined;
  /**
   * Returns the head of a history's first commit, which was signed before that commit was written. This head is used
   * while no other head is kept, for example after the process was killed right after that commit. The first `keep`
   * removes this head.
   */
  first(workspaceId: string): KeptHead | undefined;
  /** Signs the head of a first commit that is about to be written. */
  signFirst(head: HeadToSign): void;
  /** Signs a head and keeps it, unless a valid head of a later event is kept already. */
  keep(head: HeadToSign): void;
  /** Signs a head, and keeps this head instead of the one that was kept. */
  replace(head: HeadToSign): void;
  /** Returns the heads that `retire` has kept. */
  former(workspaceId: string): readonly KeptHead[];
  /** Keeps a copy of the kept head for ever. Returns the name of the copy's file; `undefined` if no head is kept. */
  retire(workspaceId: string): string | undefined;
  /** Signs a head that is only shown. Does not keep this head. */
  sign(head: HeadToSign): SignedHead;
}

/** Signs and keeps the head of an open workspace as its log grows. */
export interface HeadFollower {
  /** Reports that events were appended to the log. The caller must hold the workspace's lock. */
  committed(): Promise<void>;
  /**
   * Reports the last event of the log, even if another process wrote that event. A process that was killed may not have
   * signed its events.
   */
  seen(seq: number): void;
  /**
   * Signs and keeps the head if the last events of the log have no kept head yet. Stops the timer that would keep the
   * head later. Resolves to the damage that was found while catching up with the log; to `undefined` if no head was
   * outstanding.
   */
  end(): Promise<{ readonly damage: ChronicleError | undefined } | undefined>;
  /** Like `end`, but the follower continues. */
  keepNow(): Promise<void>;
}

export interface HeadToSign {
  readonly workspaceId: string;
  readonly seq: number;
  readonly hash: Hash;
  readonly logRoot: Hash;
  readonly root: Hash;
}

export interface SignedHead extends HeadToSign {
  readonly note: string;
  /** The verifier key. */
  readonly key: string;
}

/** A kept head. The seq is 0 if the file of the head cannot be read. */
export interface KeptHead extends HeadToSign {
  /** True if the signature verifies with the key in `HeadKeeper.keyFile`. False if that key is missing. */
  readonly valid: boolean;
  readonly note: string;
  /**
   * A sentence that says why the file of the head cannot be read. Set only if the file exists, and this user has no
   * permission to read the file.
   */
  readonly unreadable?: string;
  /** True if the signature verifies with this verifier key. */
  isSignedBy(key: string): boolean;
}

export interface Processes {
  readonly pid: number;
  isAlive(pid: number): boolean;
  /** True if a signal has stopped the process (Ctrl-Z). False if the system does not report stopped processes. */
  isStopped(pid: number): boolean;
  /**
   * Resolves to the parent process, its parent, and so on; to an empty list if the system does not report parent
   * processes.
   */
  ancestors(pid: number): Promise<readonly number[]>;
  /**
   * Returns a mark that distinguishes a process from earlier and later processes with the same number; `undefined` if
   * the system provides no such mark. The mark does not depend on the clock.
   */
  markOf(pid: number): string | undefined;
  /** The PID namespace in which these process numbers are valid; absent if the system reports no PID namespace. */
  readonly pidSpace?: string | undefined;
  /**
   * Runs a command with this process's stdin, stdout and stderr. Throws `NOT_FOUND` or `IO` if the command cannot
   * start.
   */
  run(command: readonly string[], options: CommandSurroundings): Promise<CommandEnd>;
}

/** True if the roots are those of a hosted workspace, whose files exist only in the log and the blob store. */
export function isHosted(roots: readonly { readonly folder: string }[]): boolean {
  return roots.every(({ folder }) => folder === "");
}

export function foldersOf<Root extends { readonly folder: string }>(roots: readonly Root[]): readonly Root[] {
  return roots.filter(({ folder }) => folder !== "");
}

/**
 * Throws `REFUSED` for an operation that needs a folder on disk. `what` names the operation for people: `run a
 * command`.
 */
export function refuseHosted({ worktree }: Pick<Context, "worktree">, what: string): void {
  if (!isHosted(worktree.roots)) return;
  throw new ChronicleError("REFUSED", `this workspace has no folder on disk: you cannot ${what} in it`, {
    hint: "its files are changed through the API; `restore --to DIR` puts them into a folder",
  });
}
