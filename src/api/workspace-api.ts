import type { ActionApi, Selection } from "./action-api.ts";
import type { ActionDiffShape, RetentionSourcesShape } from "./action-shapes.ts";
import type { Classed, FileApi } from "./file-api.ts";
import type { RecentOptions, RecentShape } from "./recent-api.ts";
import type { TicksOptions, TicksShape } from "./tick-api.ts";
import type { RecordStoreApi } from "./record-api.ts";
import type {
  CompactShape,
  ConfigShape,
  ChangeShape,
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
  RecordingShape,
  RecordShape,
  RestoreShape,
  RunShape,
  SessionShape,
  SnapshotShape,
  StatusShape,
  UndoShape,
  VerifyShape,
} from "./shapes.ts";

/** The progress of a long operation. If `total` is 0, the total is not known. */
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
  /** A name for the moment. It must be unique in the workspace. */
  readonly name?: string;
  /** True to protect the snapshot from pruning (default: false). */
  readonly pin?: boolean;
  /** True to read every file again, even if its stat data is unchanged (default: false). */
  readonly paranoid?: boolean;
  /**
   * True to record deletions even if a tracked folder is on a different device or mount than before and contains none
   * of its recorded files. Only a person should set this option. Through a client of a server, throws `USAGE`.
   */
  readonly acceptDeletions?: boolean;
  /**
   * Paths to include in the history again, with everything beneath them, after changes off the record. The present
   * states of the changed paths are recorded. Through a client of a server, throws `USAGE`. Default: none.
   */
  readonly onRecord?: readonly string[];
}

export interface DiffOptions {
  /** Only these paths and everything beneath them. */
  readonly paths?: readonly string[];
  /** True to add a unified diff to each change (default: false). */
  readonly patch?: boolean;
  /** True to report which deleted and created files are one renamed file (default: false). */
  readonly renames?: boolean;
  /**
   * Called with each change, in path order, as soon as its patch is made. Once the function resolves to false, the diff
   * ends. The changes are not kept: `changes` of the result is empty, and the total size of the patches is not limited.
   * With `renames`, a renamed file is one change, whose `patch` leads from the old name to the new one, and `lines` is
   * absent. A client of a server does not call the function; the result then has all changes.
   */
  readonly onChange?: (change: ChangeShape) => Promise<boolean>;
}

/** Options of `WorkspaceApi.find`. */
export interface FindOptions {
  /**
   * True to find names that contain the given text (default: false). This search ignores the case of the letters A to
   * Z.
   */
  readonly part?: boolean;
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
  /** True to change nothing, and return the effect of the restore (default: false). */
  readonly dryRun?: boolean;
  /** True to give files their recorded modification times (default: false). */
  readonly keepMtime?: boolean;
  /**
   * True to skip paths that cannot be restored, and to restore the others. Default: false; if a path cannot be
   * restored, nothing is changed.
   *
   * There is another rule for a path whose state could not be recorded at the requested moment. Without `force`, only
   * this path is skipped, with the reason `unseen`. With `force`, the path gets its last state that was recorded before
   * the moment, if the path itself is one of `paths`.
   */
  readonly force?: boolean;
}

/** A file or folder in which an undo undoes all or some hunks of the selected work. */
export interface UndoPart {
  readonly file: string;
  /**
   * The first and the last line, as in `UndoOptions` (default of `toLine`: `fromLine`). Without `fromLine`, all of the
   * work in the file, or beneath the folder, is undone.
   */
  readonly fromLine?: number | undefined;
  readonly toLine?: number | undefined;
  /** True to undo only the hunk that has exactly these lines in `UndoHunksShape` (default: false). */
  readonly hunk?: boolean | undefined;
  /**
   * The SHA-256 of the content in which the lines were counted, or `null` if there was no file. If the file has another
   * content when the undo is done, the undo throws `REFUSED`, and changes nothing.
   */
  readonly seen?: string | null | undefined;
}

/**
 * Options of an undo or a redo. Without a selection, one operation is undone or redone (`operation`). With a selection,
 * exactly the selected changes are undone. An undo keeps later edits, and merges with them. Changes that do not merge
 * become conflicts. A redo throws `USAGE` if a selection is given.
 */
export interface UndoOptions extends ProgressOptions, Selection {
  /**
   * The operation to undo or redo. Default: for `undo`, the last operation that is not undone; for `redo`, the last
   * operation that was undone.
   */
  readonly operation?: string;
  /**
   * Only for an undo: the first of the selected lines of `file`, counted from 1 in the present content. Only hunks that
   * touch the lines from `fromLine` to `toLine` are undone, each as a whole. A deletion touches the line before its gap
   * and the line after it. The hunks are those of the selected work. If no field but `file` selects work, they are
   * those of `operation`.
   *
   * The answer has the patch of the change. Throws `NOT_FOUND` if no hunk of the work touches these lines, and
   * `REFUSED` if the file is not text.
   */
  readonly fromLine?: number;
  /** The last line (default: `fromLine`). */
  readonly toLine?: number;
  /**
   * Only for an undo: the files in which all or some hunks of the work are undone, in one operation. The work is that
   * of the selection; without a selection, it is that of `operation`. If the work has changed nothing at one of the
   * parts, throws the errors that `fromLine` describes. Not allowed together with `fromLine`.
   */
  readonly parts?: readonly UndoPart[];
  /**
   * Only for a dry run of an undo: true to return each hunk of the work separately (default: false). If the `parts`
   * have lines, only the hunks at these lines are returned.
   */
  readonly hunks?: boolean;
  /** True to change nothing, and return the effect of the undo or redo (default: false). */
  readonly dryRun?: boolean;
  /**
   * True to overwrite edits that were made since the operation (default: false). These edits are captured first, so
   * that the history keeps them. With false, an undo keeps the edits, and merges with them.
   */
  readonly force?: boolean;
  /**
   * True to merge nothing (default: false). If a path was edited after the work, the undo or redo throws `REFUSED` and
   * changes nothing. Not allowed together with `force`.
   */
  readonly exact?: boolean;
}

export interface VerifyOptions extends ProgressOptions {
  /**
   * True to read no contents (default: false). With `quick`, only these parts are checked: the log, its hash links, its
   * root, the heads, the index, and the presence of all needed contents in the store.
   */
  readonly quick?: boolean;
  /**
   * An earlier output of `head` or `head --json`. The log is compared with this head. A log that was truncated,
   * replaced or rolled back since then is a problem in the result.
   */
  readonly expect?: string;
  /**
   * Places that may have the bytes of missing or damaged contents. The places are searched in the given order for
   * contents with the right hashes. A content that is found is stored again. The option is not allowed with `quick`,
   * and not for agents. Default: nothing is repaired.
   */
  readonly repairFrom?: readonly RepairPlace[];
  /**
   * Ends the verification soon after this signal aborts. `verify` then throws the signal's reason. A repair keeps what
   * it has already repaired.
   */
  readonly signal?: AbortSignal;
}

/** A step of a verification: either its progress, or its result. The last step has the result. */
export interface VerifyStepShape {
  /** The number of the step, from 1. */
  seq: number;
  progress?: Progress;
  result?: VerifyShape;
}

/**
 * A place in which `verify` searches for contents:
 * - `folder`: the files beneath this absolute folder.
 * - `store`: the contents of another store. This store is only read, and may itself be damaged.
 * - `workspace`: the contents of an open workspace, even of a workspace on a server.
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
  /** The first and the last seq of the range. Default: the whole log. */
  readonly from?: number;
  readonly to?: number;
  /**
   * The maximum number of events. Without `reverse`, the first events of the range are selected; with `reverse`, the
   * last ones. Default: all.
   */
  readonly limit?: number;
  /** True to return the newest events first (default: false). */
  readonly reverse?: boolean;
  /** Only events of records whose id begins with this prefix. */
  readonly prefix?: string;
}

export interface CompactOptions extends ProgressOptions {
  /**
   * True to remove the archived events for good, after the whole log was verified (default: false). The history then
   * begins at the compaction. Earlier snapshots are still listed, but cannot be restored, and earlier operations cannot
   * be undone.
   */
  readonly dropArchive?: boolean;
}

/** The settings with which the command of a run is started. See `RunOptions`. */
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
  /** The exit code as a shell reports it: the exit code of the process, or 128 plus the number of the signal. */
  readonly code: number;
}

/** The interface to another process that starts the command of a run. */
export interface CommandRunner {
  /**
   * The id of the process that owns the session of the run. If this process has ended, the next change of the workspace
   * ends the session.
   */
  readonly pid: number;
  /**
   * Resolves when the command has ended. Rejects with `UNAVAILABLE` if the end of the command can no longer be learned.
   * The session then stays open (see `RunOptions.ended`).
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
  /** True to undo all changes of the run if the command fails (default: false). */
  readonly rollbackOnFailure?: boolean;
  /**
   * The id of the run or action within which this run begins. A command finds the id of its own run in the variable
   * `CHRONICLE_RUN`. Default: the run or action is found through the ancestors of the process and the enclosing
   * `action(…)`.
   */
  readonly within?: string;
  /**
   * Network events that a sandbox or proxy observed. They are stored in the record of the session. If this is a
   * function, it is called after the command has ended. Default: none.
   */
  readonly networkEvents?: readonly unknown[] | (() => readonly unknown[]);
  readonly notes?: readonly string[];
  /** Called directly before the command starts. From then on, the command receives interrupts. */
  readonly onStart?: () => void;
  /** Called after each capture while the command runs. */
  readonly onCapture?: (changes: number) => void;
  /**
   * Another process that starts the command. Other operations of this workspace then do not wait for the command.
   * Default: this process starts the command.
   */
  readonly runner?: CommandRunner;
  /**
   * The end of a command that has already ended, with the id of the session of its run. The run must be open. With
   * `ended`, `run` starts no command, and only records this end.
   */
  readonly ended?: CommandEnd & { readonly session: string };
}

export interface WatchOptions extends ProgressOptions {
  /** Called after each capture that found changes. */
  readonly onCapture?: (changes: number) => void;
  /** Called after this watch has applied a change of the tracking rules that another process made. */
  readonly onSettings?: () => void;
}

export interface FollowOptions {
  /**
   * True to record changes as they happen, without a session (default: false). When `follow` resolves, either all
   * changes from before the call are recorded, or `onError` was called. Has no effect in a workspace without a folder.
   */
  readonly record?: boolean;
  /** Called when changes could not be recorded. The next recording includes these changes. */
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

/**
 * The operations on one workspace. Both a workspace that is opened in this process and a workspace of a client
 * implement this interface.
 *
 * Moments are text (`core/values/moment.ts`): `12`, `seq:40`, an id or its prefix, a name, `latest`, `baseline`, `10m`,
 * ISO-8601, `X~2`. `now` is the present state on disk. Paths are relative to the workspace's first root (`@<root
 * id>:path` for other roots). All errors of Chronicle itself are `ChronicleError`s.
 */
export interface WorkspaceApi extends ActionApi, FileApi {
  readonly id: string;
  /** The workspace's first folder, absolute; empty if the workspace has no folder. */
  readonly path: string;
  /** All folders of the workspace, absolute. The first is `path`. */
  readonly roots: readonly string[];
  /** The store of the users' own JSON records (`user:<id>`) in this workspace's log. */
  readonly records: RecordStoreApi;
  /** Compares the disk with the last recorded state, and returns the state of the workspace. Records nothing. */
  status(options?: ProgressOptions): Promise<StatusShape>;
  /** Captures the workspace, and makes a snapshot. */
  snapshot(options?: SnapshotOptions): Promise<SnapshotShape>;
  /**
   * Durably records changes at and beneath these paths, without a scan of the whole workspace. This method is for
   * programs that know which files they have written.
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
  recent(limit?: number, options?: RecentOptions): Promise<RecentShape>;
  /**
   * Returns the work of the history in columns, so that it can be drawn over time. Each call returns a limited number
   * of ticks. Reads no events, so that 20,000 ticks take about ten milliseconds.
   */
  ticks(options?: TicksOptions): Promise<TicksShape>;
  log(options?: LogOptions): Promise<LogEventShape[]>;
  sessions(): Promise<SessionShape[]>;
  session(id: string): Promise<SessionShape>;
  /** Returns all paths with this file name that are or were recorded, including the paths of deleted files. */
  find(name: string, options?: FindOptions): Promise<string[]>;
  /** Returns the content of an iteration. Default: the latest iteration that is not a deletion. */
  cat(path: string, iteration?: number): Promise<ContentStream>;
  explain(path: string): Promise<ExplainShape>;
  run(options: RunOptions): Promise<RunShape>;
  /**
   * Calls `work` off the record, and returns its result. Nothing about `work` is stored. The changes of `work` stay out
   * of the history until somebody else changes the same paths, or includes them again (`SnapshotOptions.onRecord`).
   * While `work` runs, only two kinds of changes are recorded: changes that tools make to their declared paths, and
   * writes through this API (such as `putFile`). Throws `REFUSED` in a workspace without a folder.
   */
  offRecord<T>(work: () => Promise<T> | T): Promise<T>;
  /** Records changes until the returned recording is stopped. */
  watch(options?: WatchOptions): Promise<Recording>;
  /**
   * Runs a watcher while the workspace is open. On Linux, the watcher detects when it has missed a change. As long as
   * the watcher has missed none, captures of the whole workspace scan only the paths that may have changed. Such a scan
   * misses writes through a memory map, or through a hard link outside of the workspace. The next scan by another
   * process finds these writes.
   */
  follow(options?: FollowOptions): Promise<void>;
  verify(options?: VerifyOptions): Promise<VerifyShape>;
  rebuild(options?: ProgressOptions): Promise<RebuildShape>;
  /** Returns the signed head. Throws `REFUSED` if the history is not signed. */
  head(): Promise<HeadShape>;
  /** Returns the state of the history's signature. For an unsigned history, the answer has a reason and a hint. */
  signing(): Promise<SigningShape>;
  /**
   * Returns whether changes are recorded at present, and by whom. Reads no files. `status` returns the same in its field
   * `recording`.
   */
  recording(): Promise<RecordingShape>;
  /**
   * Accepts the present log as the history, although the history is not signed or contradicts its kept head. From then
   * on, the history is signed again. Only a person may decide this. An event records the decision, and the note of the
   * old head is kept. Does nothing if the history is signed. Through a client of a server, throws `USAGE`.
   */
  acceptHead(): Promise<AcceptedHeadShape>;
  /**
   * Moves the events of the log into the archive, and continues in a new log. Throws `REFUSED` if the history is not
   * signed or cannot be proved. With `dropArchive`, also throws `REFUSED` if the first events of open work would be
   * removed.
   */
  compact(options?: CompactOptions): Promise<CompactShape>;
  /**
   * Frees contents that no workspace of the store needs. Like `StoreApi.gc`, this method applies to the whole store.
   * Unlike `StoreApi.gc`, it does not free forgotten histories.
   */
  gc(options?: ProgressOptions): Promise<GcShape>;
  /**
   * Returns the disk usage of the whole store. With `by`, the result also has the disk usage of this workspace's
   * contents, grouped by session, path or age.
   */
  du(options?: { readonly by?: "session" | "path" | "age" }): Promise<DuShape>;
  config(): Promise<ConfigShape>;
  configure(change: Partial<ConfigShape>): Promise<ConfigShape>;
  /** Returns the limits on the history that is kept, and the source of each limit: a file, `as given`, or `default`. */
  retention(): Promise<RetentionSourcesShape>;
  /**
   * Records that the operation `what` was refused to a caller because of the caller's role, and throws `FORBIDDEN`.
   * Servers call this method, because the engine does not know the roles of a server's callers. `unlisted`: the number
   * of earlier refusals that were not recorded (default: 0). A workspace of a client has no such method.
   */
  refuse?(what: string, unlisted?: number): Promise<never>;
  /**
   * Returns the ids of the processes that own open runs, actions, transactions and agents' sessions. If a descendant of
   * such a process makes a change, the change belongs to the work of that process. A workspace of a client has no such
   * method.
   */
  owners?(): Promise<readonly number[]>;
  /**
   * Signs and keeps the head at once. Without this call, the head is signed within two seconds after a change, and when
   * the workspace is closed. A workspace of a client has no such method.
   */
  keepHead?(): Promise<void>;
  /**
   * Returns a view of the same workspace that acts on behalf of somebody else. All views use the same open workspace.
   * Closing a view has no effect.
   */
  as(who: ActingAs): WorkspaceApi;
  close(): Promise<void>;
  /**
   * Closes the workspace. The runtime calls this method at the end of a block with `await using workspace = await
   * open(…)`.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The person or agent on whose behalf a view acts. Absent fields are taken from the view on which `as` is called. */
export interface ActingAs {
  /** See `OpenOptions.role`. Throws `FORBIDDEN` when an agent's view asks for `person`. */
  readonly role?: "person" | "agent";
  readonly actor?: string;
  readonly client?: string;
  /**
   * An id that identifies the request that is made with this view. It applies to `snapshot`, `restore` (in place),
   * `undo`, `redo`, `rollback`, `run` and writes of files. A request that was already done under this id is not done
   * again. The answer then describes the result of the first time. A caller can therefore repeat a request whose answer
   * was lost, even if a crash was the cause. A request that found nothing to do is not remembered.
   *
   * At most 200 characters; through a client, at most 128 in percent-encoded form. Throws `USAGE` if the id was used
   * for a different request. Default: the request has no id.
   */
  readonly requestId?: string;
  /**
   * True if the caller is on another machine. Nothing outside of the workspace is then read or changed for the caller.
   * If an action of the caller names a path outside of the workspace, the action's coverage reports that the path was
   * not kept. Views that are made from this view have the same restriction.
   */
  readonly onlyInside?: true;
}
