import type {
  ActionDiffShape,
  ActionEndShape,
  ActionShape,
  ChangesShape,
  ErasureShape,
  EraseShape,
  PruneShape,
  ResolveShape,
  VersionRestoreShape,
  VersionShape,
  TransactionRollbackShape,
  TransactionShape,
} from "./action-shapes.ts";
import type { ConflictShape } from "./conflict-shape.ts";
import type { RestoreShape, SessionShape } from "./shapes.ts";

/** What a tool is about to do. Paths are relative to the workspace's first root, or absolute. */
export interface ActionRequest {
  /**
   * `write_file delete_file move_file copy_file create_directory delete_directory move_directory run_command`; reads
   * (`read_file list_directory search_files`) make no snapshot; for any other word the whole workspace is captured.
   */
  readonly type: string;
  readonly payload?: ActionPayload;
  /** Who acts (default `agent`). */
  readonly actor?: string;
  /**
   * The agent's session, its turn, and the id that it gave the call. The same call of a session is not begun again while it is
   * open: the answer is its action.
   */
  readonly session?: string;
  readonly turn?: string;
  readonly toolCall?: string;
  /** How deep in nested agents; 0 at the top. */
  readonly depth?: number;
  /** The transaction that it belongs to; default: the innermost active one of the same session. */
  readonly transaction?: string;
  /** For people; default: the type and what it is about. */
  readonly summary?: string;
  /** When no snapshot can be made: `block` throws (default), `warn` lets the action go on and says so in its coverage. */
  readonly onFailure?: "block" | "warn";
  /**
   * Off the record: nothing is stored, and the answer is `null`. What an `action(…)` changes so stays out of the history, as with
   * `offRecord(…)`, which also says where that is refused; a bare `snapshotAction` has no end, and what follows it is found by the next capture.
   */
  readonly otr?: boolean;
  /** The process that will finish it: when it is gone, the action is abandoned. Default: this one; `null`: none. */
  readonly pid?: number | null;
}

export interface ActionPayload {
  readonly path?: string;
  /** Of no matter: the content that is there is what is kept. */
  readonly content?: unknown;
  readonly source?: string;
  readonly destination?: string;
  readonly command?: string;
  /** Where a command runs; default: the workspace's root. */
  readonly cwd?: string;
  /** Everything that a tool of several files will touch. */
  readonly paths?: readonly string[];
}

export interface ActionEnd {
  /** Default `done`. */
  readonly outcome?: "done" | "failed" | "denied";
  readonly reason?: string;
  /**
   * When what it left cannot be recorded (no room, trouble with the disk): `block` throws and leaves it open (default),
   * `warn` closes it all the same and says so in the coverage.
   */
  readonly onFailure?: "block" | "warn";
}

/** Open actions that are abandoned: those of a session, or of one of its turns. */
export interface ActionsOf {
  readonly session: string;
  readonly turn?: string;
  readonly reason?: string;
  /** The ids of actions that go on: those of a sub-agent that works in the background. */
  readonly except?: readonly string[];
  /**
   * Nobody knows whether they ran: they were denied, or interrupted. What has changed since names them as candidates only; an
   * undo of the turn or session leaves it. Default: it is theirs.
   */
  readonly unsure?: boolean;
}

/** Whose work is meant. Exactly one is given; `turn: "last"` is the one that changed something last; if none did, the last. */
export interface Selection {
  /** An action's id, its beginning, or the agent's own id of the call. */
  readonly action?: string;
  readonly turn?: string;
  readonly session?: string;
  readonly actor?: string;
  /** Every change to this path, or beneath it. */
  readonly file?: string;
  /** Every change after this moment. */
  readonly since?: string;
}

export interface RollbackOptions {
  readonly dryRun?: boolean;
  /** Leave what cannot be restored and do the rest. */
  readonly force?: boolean;
  /** Restore these paths outside of the workspace (absolute, as in `outside`), and nothing else. */
  readonly outside?: readonly string[];
}

export interface TransactionOptions {
  readonly name?: string;
  readonly actor?: string;
  /** Only this session's actions belong to it. */
  readonly session?: string;
  /**
   * What belongs to it. `folder`: also what nobody's action did to the folder while it is open. `actions`: only what actions
   * and writes did; what else is changed meanwhile stays. Default: `folder`; over HTTP `actions`.
   */
  readonly scope?: "folder" | "actions";
  /** The process whose death ends it. Default: this one; `null`: it stays until it is told. */
  readonly pid?: number | null;
  /** What becomes of it when its owner dies (default `rollback`, at the next change of the workspace). */
  readonly onOwnerDeath?: "rollback" | "keep";
}

export interface ResolveOptions {
  readonly keep: "current" | "undo" | "merged";
  /** For `merged`. */
  readonly content?: Uint8Array;
}

/** What is kept when pruning. Each rule keeps more; without any the configured limits hold. */
export interface PruneOptions {
  readonly keepLast?: number;
  readonly keepHourly?: number;
  readonly keepDaily?: number;
  readonly keepWeekly?: number;
  readonly keepMonthly?: number;
  readonly keepYearly?: number;
  /** Keep everything younger than this, in ms. */
  readonly keepWithinMs?: number;
  /** Pinned ones are kept in any case, unless this is `false`. */
  readonly keepPinned?: boolean;
  readonly dryRun?: boolean;
  /** `gc` may free it at once, and `unforget` brings nothing back (default: it is kept for 24 hours). Only in a store of this machine. */
  readonly now?: boolean;
}

/** What is erased: one of `what` and `match`. */
export interface EraseOptions {
  /** A path with all that lies and lay beneath it, or the SHA-256 of a content. */
  readonly what?: string;
  /** A pattern as in a `.gitignore`: all paths that it matches or matched. */
  readonly match?: string;
  /** Why; it stands in the log for ever. */
  readonly reason?: string;
  /**
   * Nothing brings it back, and the bytes leave the store at once: only where nobody is at work in the workspace. On the machine of the
   * store only: a client's throws `USAGE`. Default: they leave with the first `gc` in 24 hours.
   */
  readonly now?: boolean;
  readonly dryRun?: boolean;
}

export interface SessionStart {
  /** The agent's own id of it: letters, digits, `.`, `_`, `-`. Default: a new one. */
  readonly id?: string;
  readonly actor?: string;
  readonly notes?: readonly string[];
  readonly pid?: number | null;
}

/** Which conflicts, and how much of each. */
export interface ConflictsOptions {
  readonly all?: boolean;
  readonly patch?: boolean;
}

/** Which versions. */
export interface VersionsOptions {
  /** Of this path alone. */
  readonly path?: string;
}

/** Actions, and what goes with them: transactions, undoing somebody's work only, conflicts, retention. */
export interface ActionApi {
  /**
   * Keeps what an action is about to destroy, before it runs. `null`: there is nothing to keep (a read, or off the
   * record). Throws `REFUSED` when it could not be kept and `onFailure` is `block`: the tool must not run then.
   */
  snapshotAction(request: ActionRequest): Promise<ActionShape | null>;
  /**
   * Records what an action has left. An unknown id throws `NOT_FOUND`; finishing twice is finishing once, but for one that was
   * denied or abandoned and has run after all.
   */
  finishAction(id: string, end?: ActionEnd): Promise<ActionEndShape>;
  /**
   * Brackets a function: snapshot, run, finish (`failed` if it throws, and the error goes on). What the work has left and cannot be recorded
   * leaves no action open: it is closed with that in its coverage, and the call throws why. Where not even that can be written, the error
   * names the action, has as `cause` what the work threw, and the next `action(…)` closes it before it begins.
   */
  action<T>(request: ActionRequest, work: (action: ActionShape | null) => Promise<T> | T): Promise<T>;
  /** All actions that have a snapshot, oldest first. */
  list(): Promise<ActionShape[]>;
  /** By id, its beginning, or the agent's own id of the call. Throws `NOT_FOUND`, `AMBIGUOUS`. */
  showAction(id: string): Promise<ActionShape>;
  /** The files that an action backed up, beside what is there now. Throws `NOT_FOUND`. */
  diffAction(id: string): Promise<ActionDiffShape>;
  /** The files of an action as they were before it. What is there now is captured first. Throws `NOT_FOUND`. */
  rollback(id: string, options?: RollbackOptions): Promise<RestoreShape>;
  /** Throws `INTEGRITY_VIOLATION` if the chain is not whole. */
  verifyIntegrity(): Promise<void>;
  /** What somebody did. */
  changes(selection: Selection, options?: { readonly patch?: boolean }): Promise<ChangesShape>;

  /** Begins an agent's session (or goes on with it). */
  startSession(start?: SessionStart): Promise<SessionShape>;
  /** Ends it, by its whole id; open actions of it are abandoned. Throws `NOT_FOUND`: the beginning of an id is none. */
  endSession(id: string): Promise<SessionShape>;
  /** Abandons the open actions of a session, or of one of its turns: it has ended. Returns their ids. */
  abandonActions(of: ActionsOf): Promise<string[]>;

  /**
   * Begins a transaction; within an active one of the same session and owner: a savepoint. What is there now is captured
   * first: what is changed from here on belongs to it, until it is ended.
   */
  beginTransaction(options?: TransactionOptions): Promise<TransactionShape>;
  /** Commits it and its savepoints: one operation for `undo`. Throws `NOT_FOUND`, `AMBIGUOUS`, `REFUSED` (ended already). */
  commitTransaction(id: string): Promise<TransactionShape>;
  /**
   * Takes back exactly its changes and its savepoints', merged with later work; `redo` brings them again. `force`: what
   * cannot be changed is left alone; else nothing is changed then, and it stays active. Throws as `commitTransaction`.
   */
  rollbackTransaction(id: string, options?: { readonly force?: boolean }): Promise<TransactionRollbackShape>;
  /** All of them, oldest first. One whose owner is gone is ended by its rule at the next change of the workspace. */
  transactions(): Promise<TransactionShape[]>;
  /**
   * Commits when `work` ends, rolls back when it throws (and the error goes on). A commit that fails is tried once more and then rolled
   * back: the error says so (`data.status`: `rolled_back`, or `active` where not even that was possible; the next call of the session
   * rolls that one back before it begins). Nested: savepoints.
   */
  transaction<T>(work: (transaction: TransactionShape) => Promise<T> | T, options?: TransactionOptions): Promise<T>;

  /** Open ones; with `all` those that are settled too, with `patch` what taking the undo would change. */
  conflicts(options?: ConflictsOptions): Promise<ConflictShape[]>;
  /** Settles a conflict, by id, its beginning, or its path. */
  resolve(conflict: string, options: ResolveOptions): Promise<ResolveShape>;

  /** What replicas wrote back and lost against others' work, oldest first. `blob(hash)` has the content. */
  versions(options?: VersionsOptions): Promise<VersionShape[]>;
  /**
   * Makes a version the state of its path: by its id, where the replica's may be shortened. What is there now is captured
   * first. Throws `NOT_FOUND`, `AMBIGUOUS`, `PRUNED`, and `REFUSED` where something stands in the way.
   */
  restoreVersion(id: string): Promise<VersionRestoreShape>;

  /** Gives up what is older than the rules keep. Throws `FORBIDDEN` for an agent's connection. */
  prune(options?: PruneOptions): Promise<PruneShape>;
  /**
   * Takes contents out of the history: from now on they are not given out any more, and their bytes leave the store with the first `gc`
   * in 24 hours. The log keeps their hashes, and proves what it proved. What a path has now is not erased, unless the path is named and
   * the rules leave it out by now: it is then not recorded any more, and its file stays. Throws `NOT_FOUND`, and `REFUSED` where nothing
   * of it can be erased; `FORBIDDEN` for an agent's connection.
   */
  erase(options: EraseOptions): Promise<EraseShape>;
  /** The erasures that are in force, oldest first. */
  erasures(): Promise<ErasureShape[]>;
  /** Takes an erasure back. Throws `NOT_FOUND`, `AMBIGUOUS`, and `REFUSED` once its 24 hours are over. */
  unerase(id: string): Promise<ErasureShape>;
  /** Keeps (or no longer keeps) an action or a snapshot from being pruned. */
  pin(id: string, pinned?: boolean): Promise<void>;
}
