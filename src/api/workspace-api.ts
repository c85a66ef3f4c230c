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

/** Progress of a long operation. `total` 0: unknown. */
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
  /** A name for the moment; unique in the workspace. */
  readonly name?: string;
  readonly pin?: boolean;
  /** Reads every file again, even if its stat data is unchanged. */
  readonly paranoid?: boolean;
  /**
   * Records deletions even if a tracked folder is on another device or mount than before and none of its recorded files
   * is in it. For people. Not through a server.
   */
  readonly acceptDeletions?: boolean;
  /**
   * Records the present state of what was left off the record at these paths and beneath them. Not through a server.
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
   * Fills this folder instead (created; must be empty or missing). For an agent, protected files are left out and
   * listed in `skipped`; throws `FORBIDDEN` if only such files were asked for.
   */
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly keepMtime?: boolean;
  /**
   * Skips what cannot be restored and does the rest (default: all or nothing). A path of `paths` itself that could not
   * be recorded at that moment gets the state in which it was last recorded (default: it is left, as `unseen`).
   */
  readonly force?: boolean;
}

/**
 * Options of an undo. Without a selection, it is one step back on the stack of operations. With a selection, exactly
 * the selected changes are undone, merged with later work; parts that do not merge are kept as conflicts.
 */
export interface UndoOptions extends ProgressOptions, Selection {
  /** The operation to undo. Default: the last operation that is not undone. */
  readonly operation?: string;
  readonly dryRun?: boolean;
  /** Includes paths that were edited since; these edits are captured first. */
  readonly force?: boolean;
}

export interface VerifyOptions extends ProgressOptions {
  /** Checks only the log, links, root and heads; no contents. */
  readonly quick?: boolean;
  /** An earlier output of `head` or `head --json`: truncation, replacement and roll-back since then are detected. */
  readonly expect?: string;
  /**
   * Places that may have good bytes of missing or damaged contents. Each content is looked for by its hash, place after
   * place, and stored anew when found. Not with `quick`, and not for agents.
   */
  readonly repairFrom?: readonly RepairPlace[];
}

/**
 * A place where `verify` looks for good bytes: the files below a folder, the contents of another store (which is only
 * read, and may be damaged itself), or an open workspace, including one of a server. All paths are absolute.
 */
export type RepairPlace =
  | { readonly folder: string }
  | { readonly store: string }
  | {
      readonly workspace: Pick<WorkspaceApi, "blob">;
      /** The place's name in the result. */
      readonly name: string;
    };

export interface LogOptions {
  readonly from?: number;
  readonly to?: number;
  /** The maximum number of events: the first events in the range, or with `reverse` the newest. */
  readonly limit?: number;
  /** Newest first. */
  readonly reverse?: boolean;
  /** Only events of records whose id begins with this prefix. */
  readonly prefix?: string;
}

export interface CompactOptions extends ProgressOptions {
  /**
   * Removes the archived events for good, once the whole log was verified. The history then begins at the compaction:
   * earlier snapshots are listed, but cannot be restored, and undo does not reach further back. Default: false.
   */
  readonly dropArchive?: boolean;
}

export interface RunOptions extends ProgressOptions {
  readonly command: readonly string[];
  /** Working folder of the command; default: the workspace's. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Open descriptors of this process, from 3 up, that the command inherits under the same numbers. Default: none. */
  readonly descriptors?: readonly number[];
  /**
   * The command's words and variables as bytes, if some are not UTF-8. `command`: all words, if any of them is not.
   * `env`: only the variables that are not, as `NAME=value`.
   */
  readonly bytes?: { readonly command?: readonly Uint8Array[]; readonly env?: readonly Uint8Array[] };
  /** Undoes everything if the command fails. */
  readonly rollbackOnFailure?: boolean;
  /**
   * The id of the run or action within which this run starts, if the caller knows it: a run passes its id to its
   * command as `CHRONICLE_RUN`. Default: found from the ancestors of this process, and from the enclosing `action(…)`.
   */
  readonly within?: string;
  /**
   * Network events that a sandbox or proxy observed. The session keeps them. A function is called when the command has
   * ended.
   */
  readonly networkEvents?: readonly unknown[] | (() => readonly unknown[]);
  readonly notes?: readonly string[];
  /** Called just before the command starts, when everything is ready. From then on, the command receives interrupts. */
  readonly onStart?: () => void;
  /** Called after each capture while the command runs. */
  readonly onCapture?: (changes: number) => void;
}

export interface WatchOptions extends ProgressOptions {
  /** Called after each capture that found changes. */
  readonly onCapture?: (changes: number) => void;
  /** Called when the settings of what is tracked were changed elsewhere and have been applied here. */
  readonly onSettings?: () => void;
}

export interface FollowOptions {
  /**
   * Also records changes as they happen, without a session. Earlier changes are recorded by the time `follow` resolves.
   * Does nothing in a workspace without a folder.
   */
  readonly record?: boolean;
  /** Called when a recording fails. The next recording takes in the missed changes. */
  readonly onError?: (error: unknown) => void;
}

/** A content that is read in pieces. */
export interface ContentStream extends Classed {
  readonly path: string;
  readonly iteration: number;
  readonly size: number;
  readonly hash: string;
  readonly kind: "file" | "symlink" | "dir";
  pieces(): AsyncIterable<Uint8Array>;
}

/** A running recording without a child process: `watch`, or a caller's own loop. */
export interface Recording {
  readonly sessionId: string;
  /** Resolves when the recording has been stopped. */
  readonly done: Promise<SessionShape>;
  stop(): Promise<SessionShape>;
}

/** Recent history, as `list` shows it to people. */
export interface RecentShape {
  items: RecentItem[];
  /** The operation that an `undo` without a selection undoes next; `null` if there is none. */
  undoable: string | null;
}

/**
 * One line of `list`: a baseline, an operation, a snapshot, a watch, or the changes of a sync that were applied
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
   * The command that undoes only this item (`undo`), or restores the state before it (for a baseline: the baseline).
   * Empty if that state is no longer kept.
   */
  back: string;
}

/**
 * The operations on one workspace. The embedded workspace and the client of a server implement it.
 *
 * Moments are text (`core/values/moment.ts`): `12`, `seq:40`, an id or its prefix, a name, `latest`, `baseline`, `10m`,
 * ISO-8601, `X~2`; `now` is the disk. Paths are relative to the workspace's first root (`@<root id>:path` for others).
 * Every method throws `ChronicleError`.
 */
export interface WorkspaceApi extends ActionApi, FileApi {
  readonly id: string;
  /** Its first folder, absolute; empty if it has none. */
  readonly path: string;
  /** All its folders, absolute; `path` is the first. */
  readonly roots: readonly string[];
  /** The records of users (`user:<id>`) in this workspace's log. */
  readonly records: RecordStoreApi;
  status(options?: ProgressOptions): Promise<StatusShape>;
  snapshot(options?: SnapshotOptions): Promise<SnapshotShape>;
  /**
   * Durably records changes at these paths and beneath them, without a scan: for a program that knows which files it
   * wrote.
   */
  record(paths: readonly string[]): Promise<RecordShape>;
  snapshots(): Promise<SnapshotShape[]>;
  manifest(moment: string): Promise<ManifestShape>;
  diff(from: string, to: string, options?: DiffOptions): Promise<DiffShape>;
  /** As `diffAction`. */
  diff(action: string): Promise<ActionDiffShape>;
  restore(moment: string, options?: RestoreOptions): Promise<RestoreShape>;
  undo(options?: UndoOptions): Promise<UndoShape>;
  redo(options?: UndoOptions): Promise<UndoShape>;
  operations(): Promise<OperationShape[]>;
  recent(limit?: number): Promise<RecentShape>;
  log(options?: LogOptions): Promise<LogEventShape[]>;
  sessions(): Promise<SessionShape[]>;
  session(id: string): Promise<SessionShape>;
  /** Returns recorded paths (also of deleted files) with this file name. */
  find(name: string): Promise<string[]>;
  /** Returns a content. `iteration` undefined: the latest that is not a deletion. */
  cat(path: string, iteration?: number): Promise<ContentStream>;
  explain(path: string): Promise<ExplainShape>;
  run(options: RunOptions): Promise<RunShape>;
  /**
   * Calls `work` off the record: nothing that it does is stored. Its changes stay out of the history until somebody
   * else changes those paths or records them by name. While `work` runs, only declared paths of tools and writes of
   * this API (`putFile` and the like) are recorded. Throws `REFUSED` in a workspace without a folder.
   */
  offRecord<T>(work: () => Promise<T> | T): Promise<T>;
  /** Records changes until stopped. */
  watch(options?: WatchOptions): Promise<Recording>;
  /**
   * Runs a watcher while the workspace is open. If it can tell that it missed nothing (Linux), full scans visit only
   * paths that may have changed. Writes through a memory map, or through a hard link from elsewhere, are then found by
   * the next scan of another process.
   */
  follow(options?: FollowOptions): Promise<void>;
  verify(options?: VerifyOptions): Promise<VerifyShape>;
  rebuild(options?: ProgressOptions): Promise<RebuildShape>;
  /** Returns the signed head. Throws `REFUSED` if the history is not signed. */
  head(): Promise<HeadShape>;
  /** Returns whether the history is signed, and what to do if it is not. */
  signing(): Promise<SigningShape>;
  /**
   * Continues from the present log, on a person's decision, if the history is not signed or contradicts its kept head.
   * An event records that, and the old head's note is kept. On the machine of the store only: over a client, throws
   * `USAGE`.
   */
  acceptHead(): Promise<AcceptedHeadShape>;
  /**
   * Moves the log into the archive, and continues in a new one. Throws `REFUSED` if the history is not signed or cannot
   * be proved, and, with `dropArchive`, while work is open whose beginning would be lost.
   */
  compact(options?: CompactOptions): Promise<CompactShape>;
  /** Frees contents of the whole store. `gc` and `du` cover all of its workspaces, as the store's methods do. */
  gc(options?: ProgressOptions): Promise<GcShape>;
  /**
   * Returns the store's use of disk. With `by`: also the contents of this workspace, grouped by session, path or age.
   */
  du(options?: { readonly by?: "session" | "path" | "age" }): Promise<DuShape>;
  config(): Promise<ConfigShape>;
  configure(change: Partial<ConfigShape>): Promise<ConfigShape>;
  /** Returns how much is kept, and where each limit comes from: a file, `as given`, or `default`. */
  retention(): Promise<RetentionSourcesShape>;
  /**
   * Records that a caller was refused `what`, and throws `FORBIDDEN`. It is for a server, whose roles the engine does
   * not know. `unlisted`: the number of earlier refusals that were not recorded. A server's client has no such method.
   */
  refuse?(what: string, unlisted?: number): Promise<never>;
  /**
   * Returns a view of the same workspace on behalf of somebody else. Views share everything that is open, and closing a
   * view closes nothing.
   */
  as(who: ActingAs): WorkspaceApi;
  close(): Promise<void>;
  /** Closes the workspace at the end of a block: `await using workspace = await open(…)`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The person or agent on whose behalf a workspace is used. Absent fields stay as they are. */
export interface ActingAs {
  /** See `OpenOptions.role`. Throws `FORBIDDEN` when an agent's view asks for `person`. */
  readonly role?: "person" | "agent";
  readonly actor?: string;
  readonly client?: string;
  /**
   * Identifies the request that is made with this view. A `restore` (in place), `undo`, `redo` or `rollback`, or a write
   * of a file, that was done under this id already is not done again, and the answer says what was done then. So a
   * request whose answer was lost, in a crash too, can be sent again. One that found nothing to do is not remembered. At
   * most 200 characters. Throws `USAGE` if the id was used for another request.
   */
  readonly requestId?: string;
  /**
   * True if the caller is on another machine: nothing outside of the workspace is read or changed on its behalf.
   * Outside paths that an action names are reported as not kept. A view of this view keeps the restriction.
   */
  readonly onlyInside?: true;
}
