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

/** An action that a tool is about to do. Paths are absolute, or relative to the workspace's first root. */
export interface ActionRequest {
  /**
   * `write_file delete_file move_file copy_file create_directory delete_directory move_directory run_command`. Reads
   * (`read_file list_directory search_files`) make no snapshot. For any other word the whole workspace is captured.
   */
  readonly type: string;
  readonly payload?: ActionPayload;
  /** The actor (default `agent`). */
  readonly actor?: string;
  /**
   * The agent's session, its turn, and the agent's own id of the call. If the same call of a session is still open, it
   * is not begun again: its action is returned.
   */
  readonly session?: string;
  readonly turn?: string;
  readonly toolCall?: string;
  /** The depth in nested agents; 0 at the top. */
  readonly depth?: number;
  /** The transaction to which the action belongs. Default: the innermost active one of the same session. */
  readonly transaction?: string;
  /** A summary for people. Default: the type and the paths or the command. */
  readonly summary?: string;
  /**
   * The behaviour if no snapshot can be made: `block` throws (default), `warn` lets the action proceed and notes the
   * failure in its coverage.
   */
  readonly onFailure?: "block" | "warn";
  /**
   * Off the record: nothing is stored, and the result is `null`. `action(…)` then does the same as `offRecord(…)`: the
   * changes stay out of the history, and the call is refused in the same cases. A bare `snapshotAction` has no end, so
   * the next capture records the changes that follow it.
   */
  readonly otr?: boolean;
  /**
   * The process that will finish the action. When that process is gone, the action is abandoned. Default: this process;
   * `null`: none.
   */
  readonly pid?: number | null;
}

export interface ActionPayload {
  readonly path?: string;
  /** Ignored: the content that is kept is the one on disk. */
  readonly content?: unknown;
  readonly source?: string;
  readonly destination?: string;
  readonly command?: string;
  /** The folder in which a command runs. Default: the workspace's root. */
  readonly cwd?: string;
  /** All paths that a tool of several files will touch. */
  readonly paths?: readonly string[];
}

export interface ActionEnd {
  /** Default `done`. */
  readonly outcome?: "done" | "failed" | "denied";
  readonly reason?: string;
  /**
   * The behaviour if its changes cannot be recorded (no room, or trouble with the disk): `block` throws and leaves the
   * action open (default), `warn` closes it and notes the failure in the coverage.
   */
  readonly onFailure?: "block" | "warn";
}

/** The open actions to abandon: those of a session, or of one of its turns. */
export interface ActionsOf {
  readonly session: string;
  readonly turn?: string;
  readonly reason?: string;
  /** Ids of actions that stay open, such as those of a sub-agent that works in the background. */
  readonly except?: readonly string[];
  /**
   * True if the actions may never have run, because they were denied or interrupted. The changes that would be theirs
   * then name them only as candidates, and an undo of the turn or session leaves these changes.
   */
  readonly unsure?: boolean;
}

/**
 * A selection of somebody's work; exactly one field is given. `turn: "last"` is the last turn that changed something,
 * or the last turn if none did.
 */
export interface Selection {
  /** An action's id, a prefix of the id, or the agent's own id of the call. */
  readonly action?: string;
  readonly turn?: string;
  readonly session?: string;
  readonly actor?: string;
  /** Every change to this path, or to paths beneath it. */
  readonly file?: string;
  /** Every change after this moment. */
  readonly since?: string;
}

export interface RollbackOptions {
  readonly dryRun?: boolean;
  /** Skips what cannot be restored and does the rest. */
  readonly force?: boolean;
  /** Restores only these paths outside of the workspace (absolute, as in `ActionShape.outside`). */
  readonly outside?: readonly string[];
}

export interface TransactionOptions {
  readonly name?: string;
  readonly actor?: string;
  /** Limits the transaction to the actions of this session. */
  readonly session?: string;
  /**
   * The changes that belong to the transaction. `actions`: only those by actions and writes; a rollback leaves other
   * changes. `folder`: also changes that no action owns, if they are made to the folder while the transaction is open.
   * Default: `folder`; over HTTP `actions`.
   */
  readonly scope?: "folder" | "actions";
  /** The process whose death ends the transaction. Default: this process; `null`: it is only ended explicitly. */
  readonly pid?: number | null;
  /** The way in which the workspace's next change ends the transaction if that process is gone (default `rollback`). */
  readonly onOwnerDeath?: "rollback" | "keep";
}

export interface ResolveOptions {
  readonly keep: "current" | "undo" | "merged";
  /** The merged content, for `merged`. */
  readonly content?: Uint8Array;
}

/** The rules for pruning. Each rule keeps more; without any, the configured limits apply. */
export interface PruneOptions {
  readonly keepLast?: number;
  readonly keepHourly?: number;
  readonly keepDaily?: number;
  readonly keepWeekly?: number;
  readonly keepMonthly?: number;
  readonly keepYearly?: number;
  /** Keeps everything younger than this, in ms. */
  readonly keepWithinMs?: number;
  /** Keeps pinned actions and snapshots (default `true`). */
  readonly keepPinned?: boolean;
  readonly dryRun?: boolean;
  /**
   * Lets `gc` free the contents at once, so `unforget` cannot restore them. Default: they are kept for 24 hours. Only
   * in a store of this machine.
   */
  readonly now?: boolean;
}

/** The contents to erase: exactly one of `what` and `match`. */
export interface EraseOptions {
  /** A path with everything that is or was beneath it, or the SHA-256 of a content. */
  readonly what?: string;
  /** A pattern as in a `.gitignore`: selects all paths that match or matched it. */
  readonly match?: string;
  /** The reason; the log keeps it for ever. */
  readonly reason?: string;
  /**
   * Removes the bytes from the store at once and for good. Only while nobody is at work in the workspace, and only on
   * the machine of the store: over a client, throws `USAGE`. Default: the first `gc` after 24 hours removes them.
   */
  readonly now?: boolean;
  readonly dryRun?: boolean;
}

export interface SessionStart {
  /** The agent's own id of the session: letters, digits, `.`, `_`, `-`. Default: a new id. */
  readonly id?: string;
  readonly actor?: string;
  readonly notes?: readonly string[];
  readonly pid?: number | null;
}

/** Selects the conflicts, and how much of each is returned. */
export interface ConflictsOptions {
  readonly all?: boolean;
  readonly patch?: boolean;
}

/** Selects versions. */
export interface VersionsOptions {
  /** Only versions of this path. */
  readonly path?: string;
}

/** Actions and related operations: transactions, undoing only somebody's work, conflicts, retention. */
export interface ActionApi {
  /**
   * Keeps what an action is about to destroy, before it runs. Returns `null` if there is nothing to keep (a read, or
   * off the record). Throws `REFUSED` if it could not be kept and `onFailure` is `block`: the tool must not run then.
   */
  snapshotAction(request: ActionRequest): Promise<ActionShape | null>;
  /**
   * Records the changes of an action and ends it. An action that ends as `denied` has none. Throws `NOT_FOUND` for an
   * unknown id. Finishing again does nothing, except for an action that was denied or abandoned and has run after all.
   */
  finishAction(id: string, end?: ActionEnd): Promise<ActionEndShape>;
  /**
   * Brackets a function: snapshot, run, finish (`failed` if it throws; the error is passed on). If the changes cannot
   * be recorded, the action is closed with a note in its coverage, and the call throws the reason, unless `work` threw
   * or `onFailure` is `warn`. If not even that can be written, the error names the action and has that of `work` (if it
   * threw) as `cause`; the next `action(…)` closes that action before it begins its own.
   */
  action<T>(request: ActionRequest, work: (action: ActionShape | null) => Promise<T> | T): Promise<T>;
  /** Returns all actions that have a snapshot, oldest first. */
  list(): Promise<ActionShape[]>;
  /**
   * Returns an action by its id, a prefix of the id, or the agent's own id of the call. Throws `NOT_FOUND`,
   * `AMBIGUOUS`.
   */
  showAction(id: string): Promise<ActionShape>;
  /** Compares the files that an action backed up with their present state. Throws `NOT_FOUND`. */
  diffAction(id: string): Promise<ActionDiffShape>;
  /**
   * Restores the files of an action to the state before it. The present state is captured first. Throws `NOT_FOUND`.
   */
  rollback(id: string, options?: RollbackOptions): Promise<RestoreShape>;
  /** Checks the chain of hashes. Throws `INTEGRITY_VIOLATION` if it is broken. */
  verifyIntegrity(): Promise<void>;
  /** Returns the changes of a selection. */
  changes(selection: Selection, options?: { readonly patch?: boolean }): Promise<ChangesShape>;

  /** Begins an agent's session, or continues it. */
  startSession(start?: SessionStart): Promise<SessionShape>;
  /**
   * Ends a session, by its whole id, and abandons its open actions. Throws `NOT_FOUND`, also for the beginning of an
   * id.
   */
  endSession(id: string): Promise<SessionShape>;
  /** Abandons the open actions of a session or turn, because that session or turn has ended. Returns their ids. */
  abandonActions(of: ActionsOf): Promise<string[]>;

  /**
   * Begins a transaction. It is a savepoint if a transaction of the same session and scope is active that has the same
   * owner, or none. The present state is captured first: changes from here on belong to the transaction until it ends.
   */
  beginTransaction(options?: TransactionOptions): Promise<TransactionShape>;
  /**
   * Commits a transaction and its savepoints as one operation for `undo`. Throws `NOT_FOUND`, `AMBIGUOUS`, `REFUSED`
   * (ended already).
   */
  commitTransaction(id: string): Promise<TransactionShape>;
  /**
   * Undoes exactly the changes of a transaction and its savepoints, merged with later work; `redo` redoes them. If some
   * path cannot be changed, no path is, and the transaction stays active; with `force`, such paths are skipped. Throws
   * as `commitTransaction`.
   */
  rollbackTransaction(id: string, options?: { readonly force?: boolean }): Promise<TransactionRollbackShape>;
  /**
   * Returns all transactions, oldest first. A transaction whose owner is gone is ended, as its `onOwnerDeath` says, at
   * the next change of the workspace.
   */
  transactions(): Promise<TransactionShape[]>;
  /**
   * Calls `work` within a transaction. Commits when it returns; rolls back when it throws, and passes the error on. If
   * that rollback fails, throws its error, with the error of `work` as `cause`. A commit that fails is tried once more
   * and then rolled back; the error then has `data.status`: `rolled_back`, or `active` if not even that was possible.
   * The next call of the session first rolls back what is still active. Nested calls are savepoints.
   */
  transaction<T>(work: (transaction: TransactionShape) => Promise<T> | T, options?: TransactionOptions): Promise<T>;

  /**
   * Returns the open conflicts; with `all` also settled conflicts, with `patch` also the changes that the undo's side
   * would make.
   */
  conflicts(options?: ConflictsOptions): Promise<ConflictShape[]>;
  /** Settles a conflict, by its id, a prefix of the id, or its path. */
  resolve(conflict: string, options: ResolveOptions): Promise<ResolveShape>;

  /**
   * Returns the versions that replicas wrote back and that were not accepted, oldest first. `blob(hash)` returns the
   * content.
   */
  versions(options?: VersionsOptions): Promise<VersionShape[]>;
  /**
   * Makes a version the state of its path. The replica's part of the id may be shortened. The present state is captured
   * first. Throws `NOT_FOUND`, `AMBIGUOUS`, `PRUNED`, and `REFUSED` if something is in the way.
   */
  restoreVersion(id: string): Promise<VersionRestoreShape>;

  /**
   * Prunes everything that no rule keeps. Throws `FORBIDDEN` for an agent's connection, and `REFUSED` if the history is
   * not signed.
   */
  prune(options?: PruneOptions): Promise<PruneShape>;
  /**
   * Removes contents from the history: they are no longer given out, and their bytes leave the store with the first
   * `gc` after 24 hours. The log keeps their hashes, so it still verifies. A path's present content is not erased,
   * unless the path is named and the rules leave it out by now: it is then no longer recorded, and its file stays.
   * Throws `NOT_FOUND`, `FORBIDDEN` for an agent's connection, and `REFUSED` if nothing of it can be erased, if a
   * content is that of an origin which the workspace follows, or if the history is not signed.
   */
  erase(options: EraseOptions): Promise<EraseShape>;
  /** Returns the erasures that are in force, oldest first. */
  erasures(): Promise<ErasureShape[]>;
  /** Withdraws an erasure. Throws `NOT_FOUND`, `AMBIGUOUS`, and `REFUSED` after its 24 hours. */
  unerase(id: string): Promise<ErasureShape>;
  /** Protects an action or a snapshot from pruning; with `pinned` false, removes the protection. */
  pin(id: string, pinned?: boolean): Promise<void>;
}
