import type { ActionApi, Selection } from "./action-api.ts";
import type { ActionDiffShape, RetentionSourcesShape } from "./action-shapes.ts";
import type { Classed, FileApi } from "./file-api.ts";
import type { RecordStoreApi } from "./record-api.ts";
import type {
  CompactShape,
  ConfigShape,
  DiffShape,
  DuShape,
  ExplainShape,
  GcShape,
  AcceptedHeadShape,
  HeadShape,
  SigningShape,
  LogEventShape,
  ManifestShape,
  OperationShape,
  RebuildShape,
  RecordShape,
  RestoreShape,
  RunShape,
  SessionShape,
  SnapshotShape,
  StatusShape,
  UndoShape,
  VerifyShape,
} from "./shapes.ts";

/** The progress of a long operation. `total` 0: unknown. */
export interface Progress {
  readonly phase: "scan" | "capture" | "restore" | "verify" | "rebuild" | "collect";
  readonly done: number;
  readonly total: number;
  readonly unit: "paths" | "bytes" | "events";
}

export interface ProgressOptions {
  readonly onProgress?: (progress: Progress) => void;
}

export interface SnapshotOptions extends ProgressOptions {
  readonly message?: string;
  /** A name for the moment, unique in the workspace. */
  readonly name?: string;
  readonly pin?: boolean;
  /** Reads every file again, even if its stat data is unchanged. */
  readonly paranoid?: boolean;
  /**
   * True to record deletions even if a tracked folder is on a different device or mount than before and contains none
   * of its recorded files. This is a person's decision. Through a client of a server, throws `USAGE`.
   */
  readonly acceptDeletions?: boolean;
  /**
   * Takes changes that were off the record into the history, if they are at or beneath these paths. The present state
   * of the changed paths is recorded. Through a client of a server, throws `USAGE`.
   */
  readonly onRecord?: readonly string[];
}

export interface DiffOptions {
  /** Only these paths and everything beneath them. */
  readonly paths?: readonly string[];
  /** Adds a unified diff to each change. */
  readonly patch?: boolean;
}

export interface RestoreOptions extends ProgressOptions {
  /** Only these paths and everything beneath them. */
  readonly paths?: readonly string[];
  /**
   * Restores into this folder instead of the workspace. The folder must be empty or missing; a missing folder is
   * created. For an agent, protected files are left out and listed in `skipped`; throws `FORBIDDEN` if only such files
   * were requested.
   */
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly keepMtime?: boolean;
  /**
   * Skips paths that cannot be restored and restores the others (default: all or nothing). A path in `paths` that could
   * not be recorded at that moment gets its last recorded state (default: the path is skipped with the reason
   * `unseen`).
   */
  readonly force?: boolean;
}

/**
 * Options of an undo or a redo. Without a selection, one operation is undone (`operation`). With a selection, exactly
 * the selected changes are undone, and later work is kept. Parts that do not merge with later work become conflicts. A
 * redo takes no selection, and throws `USAGE` for one.
 */
export interface UndoOptions extends ProgressOptions, Selection {
  /**
   * The operation to undo or redo. Default: for `undo`, the last operation that is not undone; for `redo`, the last
   * operation that was undone.
   */
  readonly operation?: string;
  readonly dryRun?: boolean;
  /** Includes paths that were edited since the operation. These edits are captured first. */
  readonly force?: boolean;
}

export interface VerifyOptions extends ProgressOptions {
  /**
   * Reads no contents. Checks the log, its hash links, its root, the heads and the index, and whether the store has all
   * needed contents.
   */
  readonly quick?: boolean;
  /**
   * An earlier output of `head` or `head --json`. If the log was truncated, replaced or rolled back since then, that is
   * reported.
   */
  readonly expect?: string;
  /**
   * Places that may have the bytes of contents that are missing or damaged. The places are searched in this order for
   * each such content, by its hash. A content that is found is stored again. Not allowed with `quick`, and not for
   * agents.
   */
  readonly repairFrom?: readonly RepairPlace[];
}

/**
 * A place in which `verify` searches for contents. `folder`: the files beneath this absolute folder. `store`: the
 * contents of another store, which is only read and may itself be damaged. `workspace`: the contents of an open
 * workspace, which may be a workspace of a server.
 */
export type RepairPlace =
  | { readonly folder: string }
  | { readonly store: string }
  | {
      readonly workspace: Pick<WorkspaceApi, "blob">;
      /** The name of the place in the result. */
      readonly name: string;
    };

export interface LogOptions {
  readonly from?: number;
  readonly to?: number;
  /** The maximum number of events. Selects the first events of the range, or with `reverse` the last. */
  readonly limit?: number;
  /** Returns the newest events first. */
  readonly reverse?: boolean;
  /** Only events of records whose id begins with this prefix. */
  readonly prefix?: string;
}

export interface CompactOptions extends ProgressOptions {
  /**
   * Verifies the whole log, and then removes the archived events for good. The history then begins at the compaction:
   * earlier snapshots are listed but cannot be restored, and earlier operations cannot be undone. Default: false.
   */
  readonly dropArchive?: boolean;
}

/** The part of `RunOptions` with which the command itself is started. */
export interface CommandSurroundings {
  readonly cwd: string;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Variables that are added to `env`. */
  readonly moreEnv?: Readonly<Record<string, string>>;
  readonly descriptors?: readonly number[];
  readonly bytes?: RunOptions["bytes"];
}

export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The exit code for a shell: the process's own, or 128 + the signal's number. */
  readonly code: number;
}

/** Another process that starts the command of a run. */
export interface CommandRunner {
  /** The process that owns the session. If that process is gone, the next change of the workspace ends the session. */
  readonly pid: number;
  /**
   * Resolves when the command has ended. Rejects with `UNAVAILABLE` if it can no longer be learned how the command
   * ends. The session then stays open (see `RunOptions.ended`).
   */
  run(command: readonly string[], surroundings: CommandSurroundings): Promise<CommandEnd>;
}

export interface RunOptions extends ProgressOptions {
  readonly command: readonly string[];
  /** The working folder of the command. Default: the workspace's folder. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Open file descriptors of this process (3 or higher) that the command inherits under the same numbers. Default:
   * none.
   */
  readonly descriptors?: readonly number[];
  /**
   * The command's words and variables as bytes, if some of them are not UTF-8. `command`: all words, if at least one
   * word is not UTF-8. `env`: only the variables that are not UTF-8, as `NAME=value`.
   */
  readonly bytes?: { readonly command?: readonly Uint8Array[]; readonly env?: readonly Uint8Array[] };
  /** Undoes all changes of the run if the command fails. */
  readonly rollbackOnFailure?: boolean;
  /**
   * The id of the run or action within which this run starts. A command finds the id of its own run in `CHRONICLE_RUN`.
   * Default: the run or action is determined from the ancestors of this process and from the enclosing `action(…)`.
   */
  readonly within?: string;
  /**
   * Network events that a sandbox or proxy observed, for the record of the session. If this is a function, it is called
   * after the command has ended.
   */
  readonly networkEvents?: readonly unknown[] | (() => readonly unknown[]);
  readonly notes?: readonly string[];
  /** Called directly before the command starts. From then on, the command receives interrupts. */
  readonly onStart?: () => void;
  /** Called after each capture while the command runs. */
  readonly onCapture?: (changes: number) => void;
  /**
   * Starts the command in another process, so that other operations of this workspace do not wait for the command.
   * Default: this process starts the command.
   */
  readonly runner?: CommandRunner;
  /** The end of the command of an open run. If it is given, `run` only records this end, and starts no command. */
  readonly ended?: CommandEnd & { readonly session: string };
}

export interface WatchOptions extends ProgressOptions {
  /** Called after each capture that found changes. */
  readonly onCapture?: (changes: number) => void;
  /** Called when this watch has applied settings of what is tracked that another process has changed. */
  readonly onSettings?: () => void;
}

export interface FollowOptions {
  /**
   * True to record changes as they happen, without a session. When `follow` resolves, changes from before the call are
   * recorded, or `onError` was called. Has no effect in a workspace without a folder.
   */
  readonly record?: boolean;
  /** Called when changes could not be recorded. The next recording includes them. */
  readonly onError?: (error: unknown) => void;
}

/** A file's content that is read in pieces. */
export interface ContentStream extends Classed {
  readonly path: string;
  readonly iteration: number;
  readonly size: number;
  readonly hash: string;
  readonly kind: "file" | "symlink" | "dir";
  pieces(): AsyncIterable<Uint8Array>;
}

/** A running recording that `watch` has started. */
export interface Recording {
  readonly sessionId: string;
  /** Resolves when the recording has been stopped. */
  readonly done: Promise<SessionShape>;
  stop(): Promise<SessionShape>;
}

/** The recent history, as `chronicle list` shows it to people. */
export interface RecentShape {
  items: RecentItem[];
  /** The operation that an `undo` without a selection undoes next; `null` if there is none. */
  undoable: string | null;
}

/**
 * One line of `chronicle list`: a baseline, an operation, a snapshot, a watch, or the changes that a sync applied
 * together.
 */
export interface RecentItem {
  kind:
    | "baseline"
    | "run"
    | "write"
    | "action"
    | "transaction"
    | "restore"
    | "undo"
    | "redo"
    | "resolve"
    | "snapshot"
    | "sync"
    | "watch";
  id: string;
  timestamp: string;
  summary: string;
  changed: number;
  snapshot?: number;
  undone?: boolean;
  /**
   * The command that undoes only this item, or that restores the state before it (for a baseline, the baseline itself).
   * Empty if that state is no longer kept.
   */
  back: string;
}

/**
 * The operations on one workspace. A workspace that is opened in this process and a workspace of a client implement
 * this interface.
 *
 * Moments are text (`core/values/moment.ts`): `12`, `seq:40`, an id or its prefix, a name, `latest`, `baseline`, `10m`,
 * ISO-8601, `X~2`; `now` is the disk. Paths are relative to the workspace's first root (`@<root id>:path` for others).
 * Every method throws `ChronicleError`.
 */
export interface WorkspaceApi extends ActionApi, FileApi {
  readonly id: string;
  /** The workspace's first folder, absolute; empty if the workspace has no folder. */
  readonly path: string;
  /** All folders of the workspace, absolute. The first is `path`. */
  readonly roots: readonly string[];
  /** The records of users (`user:<id>`) in this workspace's log. */
  readonly records: RecordStoreApi;
  status(options?: ProgressOptions): Promise<StatusShape>;
  snapshot(options?: SnapshotOptions): Promise<SnapshotShape>;
  /**
   * Durably records changes at and beneath these paths, without a scan of the whole workspace. It is for programs that
   * know which files they wrote.
   */
  record(paths: readonly string[]): Promise<RecordShape>;
  snapshots(): Promise<SnapshotShape[]>;
  manifest(moment: string): Promise<ManifestShape>;
  diff(from: string, to: string, options?: DiffOptions): Promise<DiffShape>;
  /** Does the same as `diffAction`. */
  diff(action: string): Promise<ActionDiffShape>;
  restore(moment: string, options?: RestoreOptions): Promise<RestoreShape>;
  undo(options?: UndoOptions): Promise<UndoShape>;
  redo(options?: UndoOptions): Promise<UndoShape>;
  operations(): Promise<OperationShape[]>;
  recent(limit?: number): Promise<RecentShape>;
  log(options?: LogOptions): Promise<LogEventShape[]>;
  sessions(): Promise<SessionShape[]>;
  session(id: string): Promise<SessionShape>;
  /** Returns all paths with this file name that are or were recorded, including those of deleted files. */
  find(name: string): Promise<string[]>;
  /** Returns the content of an iteration. Default: the latest iteration that is not a deletion. */
  cat(path: string, iteration?: number): Promise<ContentStream>;
  explain(path: string): Promise<ExplainShape>;
  run(options: RunOptions): Promise<RunShape>;
  /**
   * Calls `work` off the record: nothing that `work` does is stored. The changes of `work` stay out of the history
   * until somebody else changes the same paths or records them by name. While `work` runs, only two kinds of changes
   * are recorded: changes that tools make to their declared paths, and writes through this API (such as `putFile`).
   * Throws `REFUSED` in a workspace without a folder.
   */
  offRecord<T>(work: () => Promise<T> | T): Promise<T>;
  /** Records changes until the returned recording is stopped. */
  watch(options?: WatchOptions): Promise<Recording>;
  /**
   * Runs a watcher while the workspace is open. On Linux, the watcher can tell whether it missed a change. While it has
   * missed none, full scans visit only paths that may have changed. Such a scan does not find writes through a memory
   * map or through a hard link outside of the workspace. The next scan of another process finds them.
   */
  follow(options?: FollowOptions): Promise<void>;
  verify(options?: VerifyOptions): Promise<VerifyShape>;
  rebuild(options?: ProgressOptions): Promise<RebuildShape>;
  /** Returns the signed head. Throws `REFUSED` if the history is not signed. */
  head(): Promise<HeadShape>;
  /** Returns whether the history is signed, and what to do if it is not. */
  signing(): Promise<SigningShape>;
  /**
   * Accepts the present log, as a person's decision, if the history is not signed or contradicts its kept head. An
   * event records the decision, and the note of the old head is kept. Through a client of a server, throws `USAGE`.
   */
  acceptHead(): Promise<AcceptedHeadShape>;
  /**
   * Moves the log into the archive, and continues in a new log. Throws `REFUSED` if the history is not signed or cannot
   * be proved. With `dropArchive`, also throws `REFUSED` while work is open whose first events would be removed.
   */
  compact(options?: CompactOptions): Promise<CompactShape>;
  /**
   * Frees contents that no workspace of the store needs. Like `StoreApi.gc`, this method is about the whole store, but
   * it does not free forgotten histories.
   */
  gc(options?: ProgressOptions): Promise<GcShape>;
  /**
   * Returns the disk usage of the whole store. With `by`, also returns the contents of this workspace, grouped by
   * session, path or age.
   */
  du(options?: { readonly by?: "session" | "path" | "age" }): Promise<DuShape>;
  config(): Promise<ConfigShape>;
  configure(change: Partial<ConfigShape>): Promise<ConfigShape>;
  /** Returns the limits on the history that is kept, and the source of each limit: a file, `as given`, or `default`. */
  retention(): Promise<RetentionSourcesShape>;
  /**
   * Records that a caller was refused the operation `what`, and throws `FORBIDDEN`. Servers call this method, because
   * the engine does not know their roles. `unlisted`: the number of earlier refusals that were not recorded. A
   * workspace of a client has no such method.
   */
  refuse?(what: string, unlisted?: number): Promise<never>;
  /**
   * Returns the ids of the processes that own open runs, actions, transactions and agents' sessions. A change by a
   * descendant of such a process belongs to that work. A workspace of a client has no such method.
   */
  owners?(): Promise<readonly number[]>;
  /**
   * Signs and keeps the head now, as the closing of the workspace does. Without this call, the head is kept within two
   * seconds after a change. A workspace of a client has no such method.
   */
  keepHead?(): Promise<void>;
  /**
   * Returns a view of the same workspace that acts on behalf of somebody else. All views use the same open workspace.
   * Closing a view has no effect.
   */
  as(who: ActingAs): WorkspaceApi;
  close(): Promise<void>;
  /** Closes the workspace. It is called at the end of a block with `await using workspace = await open(…)`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The person or agent on whose behalf a view acts. Absent fields are taken from the view on which `as` is called. */
export interface ActingAs {
  /** See `OpenOptions.role`. Throws `FORBIDDEN` when an agent's view asks for `person`. */
  readonly role?: "person" | "agent";
  readonly actor?: string;
  readonly client?: string;
  /**
   * Identifies the request that is made with this view. If a `snapshot`, `restore` (in place), `undo`, `redo`,
   * `rollback`, `run` or write of a file was already done under this id, it is not done again, and the answer describes
   * what was done at that time. A caller can therefore repeat a request whose answer was lost, even because of a crash.
   * A request that found nothing to do is not remembered. At most 200 characters; over a client, at most 128 in
   * percent-encoded form. Throws `USAGE` if the id was used for a different request.
   */
  readonly requestId?: string;
  /**
   * True if the caller is on another machine. Nothing outside of the workspace is then read or changed for the caller.
   * If an action names a path outside of the workspace, that path is reported as not kept. Views that are made from
   * this view have the same restriction.
   */
  readonly onlyInside?: true;
}
