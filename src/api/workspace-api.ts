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

/** Long work tells how far it is. `total` 0: not known. */
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
  /** Read everything again, whatever its stat says. */
  readonly paranoid?: boolean;
  /**
   * Record what is gone, though a tracked folder is on another device or mount than it was and nothing of what was recorded is in it.
   * For people. Not through a server.
   */
  readonly acceptDeletions?: boolean;
  /** What was left off the record at these paths and beneath them is recorded as it is now. Not through a server. */
  readonly onRecord?: readonly string[];
}

export interface DiffOptions {
  /** Only these paths and what is beneath them. */
  readonly paths?: readonly string[];
  /** Add unified text to each change. */
  readonly patch?: boolean;
}

export interface RestoreOptions extends ProgressOptions {
  /** Only these paths and what is beneath them. Default: everything. */
  readonly paths?: readonly string[];
  /**
   * Fill this folder instead (created; must be empty or missing). Protected files are left out for an agent, and are in `skipped`;
   * throws `FORBIDDEN` where nothing else was asked for.
   */
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly keepMtime?: boolean;
  /** Leave what cannot be restored and do the rest (default: all or nothing). */
  readonly force?: boolean;
}

/**
 * Without a selection: one step back on the stack of operations. With one: exactly these changes are taken back, merged
 * with what came later; what does not merge is a conflict that is kept.
 */
export interface UndoOptions extends ProgressOptions, Selection {
  /** The operation to take back; default: the last one that is not undone. */
  readonly operation?: string;
  readonly dryRun?: boolean;
  /** Take along paths that were edited since (they are captured first). */
  readonly force?: boolean;
}

export interface VerifyOptions extends ProgressOptions {
  /** Log, links, root and heads only; no contents. */
  readonly quick?: boolean;
  /** What `head` or `head --json` printed earlier: truncation, replacement and roll-back since then are detected. */
  readonly expect?: string;
  /**
   * Where good bytes may be for contents that are missing or damaged: each is looked for by its hash, place after place, and stored
   * anew where it is found. Not with `quick`, and not for agents.
   */
  readonly repairFrom?: readonly RepairPlace[];
}

/**
 * Where `verify` looks for good bytes: the files below a folder, the contents of another store (which is only read, and may be
 * damaged itself), or a workspace that is open, also one of a server's. All paths are absolute.
 */
export type RepairPlace =
  | { readonly folder: string }
  | { readonly store: string }
  | {
      readonly workspace: Pick<WorkspaceApi, "blob">;
      /** What it is called in the result. */
      readonly name: string;
    };

export interface LogOptions {
  readonly from?: number;
  readonly to?: number;
  /** At most so many: the first of those that are asked for, with `reverse` the newest. */
  readonly limit?: number;
  /** Newest first. */
  readonly reverse?: boolean;
  /** Only events of records whose id begins with this. */
  readonly prefix?: string;
}

export interface CompactOptions extends ProgressOptions {
  /**
   * Remove the archived events for good, once the whole log was verified. The history then begins at the compaction:
   * earlier snapshots are listed, but nothing goes back to them, and undo does not reach further. Default: false.
   */
  readonly dropArchive?: boolean;
}

export interface RunOptions extends ProgressOptions {
  readonly command: readonly string[];
  /** Working folder of the command; default: the workspace's. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Open descriptors of this process from 3 up that the command gets under the same numbers. Default: none. */
  readonly descriptors?: readonly number[];
  /** What the command gets where strings cannot hold it: all its words, and variables (`NAME=value`), that are not UTF-8. */
  readonly bytes?: { readonly command?: readonly Uint8Array[]; readonly env?: readonly Uint8Array[] };
  /** Undo everything if the command fails. */
  readonly rollbackOnFailure?: boolean;
  /**
   * The id of the run or action within which it is started, where the caller knows it: a run tells its command by
   * `CHRONICLE_RUN`. Otherwise it is found by the processes around this one, and by the function of an `action(…)` that
   * calls.
   */
  readonly within?: string;
  /** Kept in the session: what a sandbox or proxy saw of the network. A function is asked when the command has ended. */
  readonly networkEvents?: readonly unknown[] | (() => readonly unknown[]);
  readonly notes?: readonly string[];
  /** Called when everything is ready, just before the command starts: from here on an interrupt is the command's. */
  readonly onStart?: () => void;
  /** Called after each capture while the command runs. */
  readonly onCapture?: (changes: number) => void;
}

export interface WatchOptions extends ProgressOptions {
  /** Called after each capture that found something. */
  readonly onCapture?: (changes: number) => void;
  /** Called when what is tracked was changed elsewhere, and holds here from now on. */
  readonly onSettings?: () => void;
}

export interface FollowOptions {
  /**
   * Record what changes as it changes, too: without a session; what was changed before is recorded when `follow` resolves.
   * A workspace without a folder has nothing to record.
   */
  readonly record?: boolean;
  /** Told of a recording that failed; the next one makes up for it. */
  readonly onError?: (error: unknown) => void;
}

/** A content to be read in pieces. */
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

/** How much of the past is shown as people think of it. */
export interface RecentShape {
  items: RecentItem[];
  /** The operation that a plain `undo` takes back next; `null`: there is none. */
  undoable: string | null;
}

/** One line of `list`: a baseline, a run, a restore, a snapshot, what a sync brought in one go. */
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
  /** The command that takes it back alone (`undo`), or goes back to before it; for a baseline, to it. Empty where that state is not kept any more. */
  back: string;
}

/**
 * What Chronicle offers for one workspace. The embedded workspace implements it; so will the client of a server.
 *
 * Moments are text (`core/values/moment.ts`): `12`, `seq:40`, an id or its prefix, a name, `latest`, `baseline`, `10m`,
 * ISO-8601, `X~2`; `now` is the disk. Paths are relative to the workspace's first root (`@<root id>:path` for others).
 * Every method throws `ChronicleError`.
 */
export interface WorkspaceApi extends ActionApi, FileApi {
  readonly id: string;
  /** Its first folder, absolute; empty for one that has none. */
  readonly path: string;
  /** All its folders, absolute, the first one first. */
  readonly roots: readonly string[];
  /** The records of users (`user:<id>`) in this workspace's log. */
  readonly records: RecordStoreApi;
  status(options?: ProgressOptions): Promise<StatusShape>;
  snapshot(options?: SnapshotOptions): Promise<SnapshotShape>;
  /** Records what changed at these paths and beneath them, durably: for a program that knows what it wrote. No scan. */
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
  /** Recorded paths (also deleted ones) with this file name. */
  find(name: string): Promise<string[]>;
  /** `iteration` undefined: the latest that is not a deletion. */
  cat(path: string, iteration?: number): Promise<ContentStream>;
  explain(path: string): Promise<ExplainShape>;
  run(options: RunOptions): Promise<RunShape>;
  /**
   * Calls `work` off the record: nothing is stored of what it does. What it has changed stays out of the history until somebody
   * else changes it, or records it by name; while it goes on, only what tools declare is recorded, and what this API itself writes
   * (`putFile` and the like). Throws `REFUSED` in a workspace without a folder.
   */
  offRecord<T>(work: () => Promise<T> | T): Promise<T>;
  /** Records changes until stopped. */
  watch(options?: WatchOptions): Promise<Recording>;
  /**
   * Keeps a watcher going while the workspace is open: where it can say that it missed nothing (Linux), looks at everything
   * look only where something may have changed. Writes through a memory map or a hard link from elsewhere are then found
   * by the next look of another process.
   */
  follow(options?: FollowOptions): Promise<void>;
  verify(options?: VerifyOptions): Promise<VerifyShape>;
  rebuild(options?: ProgressOptions): Promise<RebuildShape>;
  /** Throws `REFUSED` where the history is not signed. */
  head(): Promise<HeadShape>;
  /** Whether what is recorded is signed, and what can be done where it is not. */
  signing(): Promise<SigningShape>;
  /**
   * A person goes on from what is there, where the history is not signed or contradicts its kept head: an event says so, and
   * the old head's note is kept. On the machine of the store only: a client's throws `USAGE`.
   */
  acceptHead(): Promise<AcceptedHeadShape>;
  /** Moves the log into the archive, and goes on in a new one. Throws `REFUSED` if it cannot be dropped safely. */
  compact(options?: CompactOptions): Promise<CompactShape>;
  /** As the store's: both are about all of its workspaces. */
  gc(options?: ProgressOptions): Promise<GcShape>;
  /** With `by`: also which contents of this workspace are whose. */
  du(options?: { readonly by?: "session" | "path" | "age" }): Promise<DuShape>;
  config(): Promise<ConfigShape>;
  configure(change: Partial<ConfigShape>): Promise<ConfigShape>;
  /** How much is kept, and where each limit comes from: a file, `as given`, or `default`. */
  retention(): Promise<RetentionSourcesShape>;
  /**
   * Writes down that somebody was refused `what`, and throws `FORBIDDEN`: for a surface that knows of roles that the
   * engine does not. `unlisted`: so many before it were not written down. Only where the log is at hand.
   */
  refuse?(what: string, unlisted?: number): Promise<never>;
  /** The same workspace on behalf of somebody else; what is open is shared, and closing this closes nothing. */
  as(who: ActingAs): WorkspaceApi;
  close(): Promise<void>;
  /** The same, at the end of a block: `await using workspace = await open(…)`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** On whose behalf a workspace is used. What is not given stays. */
export interface ActingAs {
  /** See `OpenOptions.role`. A `person` cannot be made of an agent: that throws `FORBIDDEN`. */
  readonly role?: "person" | "agent";
  readonly actor?: string;
  readonly client?: string;
  /**
   * Whoever asks is elsewhere: nothing outside of the workspace is looked at or touched on their behalf. What an action
   * names there is told as not kept. It cannot be taken back from a view of such a view.
   */
  readonly onlyInside?: true;
}
