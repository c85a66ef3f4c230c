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
   * The kind of action:
   * - `write_file`, `delete_file`, `move_file`, `copy_file`, `create_directory`, `delete_directory`, `move_directory`:
   *   the paths that the action changes are captured.
   * - `run_command` and any other word: the whole workspace is captured.
   * - `read_file`, `list_directory`, `search_files`: no snapshot is made.
   */
  readonly type: string;
  readonly payload?: ActionPayload;
  /** The actor (default `agent`). */
  readonly actor?: string;
  /**
   * The agent's session, the session's turn, and the agent's own id of the call. If an action of the same call is still
   * open in the session, that action is returned and no new action begins.
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
   * What happens if no snapshot can be made. `block` (default) throws. `warn` lets the action proceed, and notes the
   * failure in the action's coverage.
   */
  readonly onFailure?: "block" | "warn";
  /**
   * True to act off the record: nothing is stored, and the result is `null`. `action(…)` then does the same as
   * `offRecord(…)`: it keeps the changes out of the history, and is refused in the same cases. `snapshotAction(…)` does
   * not keep the changes out: the next capture records them, because Chronicle never learns when such an action ends.
   */
  readonly otr?: boolean;
  /**
   * The id of the process that will finish the action. If that process is gone before the action is finished, the
   * action is abandoned. Default: this process; `null`: the action belongs to no process.
   */
  readonly pid?: number | null;
}

export interface ActionPayload {
  readonly path?: string;
  /** Ignored. The snapshot keeps the content that is on disk. */
  readonly content?: unknown;
  readonly source?: string;
  readonly destination?: string;
  readonly command?: string;
  /** The folder in which a command runs. Default: the workspace's root. */
  readonly cwd?: string;
  /** All paths that the tool will touch, for a tool that works on several files. */
  readonly paths?: readonly string[];
}

export interface ActionEnd {
  /** Default `done`. */
  readonly outcome?: "done" | "failed" | "denied";
  readonly reason?: string;
  /**
   * What happens if the action's changes cannot be recorded (because the disk is full or fails, for example). `block`
   * (default) throws, and leaves the action open. `warn` closes the action, and notes the failure in its coverage.
   */
  readonly onFailure?: "block" | "warn";
}

/** Selects the open actions to abandon: all actions of a session, or the actions of one of its turns. */
export interface ActionsOf {
  readonly session: string;
  readonly turn?: string;
  readonly reason?: string;
  /** Ids of actions that stay open, such as those of a sub-agent that works in the background. */
  readonly except?: readonly string[];
  /**
   * True if it is unknown whether the actions ran, because they were denied or interrupted. A change that would belong
   * to such an action then names the action only as a candidate, and an undo of the turn or session does not undo the
   * change.
   */
  readonly unsure?: boolean;
}

/**
 * A selection of work; at most one field is given. `turn: "last"` is the last turn that changed something or, if no
 * turn did, the last turn.
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
  /** True to skip the paths that cannot be restored, and to restore the others. Default: all or nothing. */
  readonly force?: boolean;
  /** Restores only these paths outside of the workspace (absolute, as in `ActionShape.outside`). */
  readonly outside?: readonly string[];
}

export interface TransactionOptions {
  readonly name?: string;
  readonly actor?: string;
  /** Only actions of this session belong to the transaction. */
  readonly session?: string;
  /**
   * The changes that belong to the transaction. `actions`: only changes that actions and writes make; a rollback leaves
   * all other changes. `folder`: also the changes of the folder that no action owns, if they are made while the
   * transaction is open. Default: `folder`; over HTTP `actions`.
   */
  readonly scope?: "folder" | "actions";
  /**
   * The id of the process that owns the transaction. Default: this process; `null`: no process owns it, and only a
   * commit or a rollback ends it.
   */
  readonly pid?: number | null;
  /**
   * What the workspace's next change does with the transaction once the process `pid` is gone: `rollback` (default)
   * rolls it back, `keep` commits it.
   */
  readonly onOwnerDeath?: "rollback" | "keep";
}

export interface ResolveOptions {
  /** `current`: the present state stays. `undo`: the undo's side is taken. `merged`: `content` is taken. */
  readonly keep: "current" | "undo" | "merged";
  /** The merged content. Required for `merged`, and ignored otherwise. */
  readonly content?: Uint8Array;
}

/**
 * The rules for pruning. A snapshot or action is kept if at least one rule keeps it. If no rule is given, the
 * configured limits apply.
 */
export interface PruneOptions {
  /** The number of newest snapshots and actions that are kept. */
  readonly keepLast?: number;
  /**
   * The number of hours of which the newest snapshot or action is kept. Only hours that have one are counted. The
   * following fields do the same for longer periods.
   */
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
   * True to let `gc` free the contents at once, so that `unforget` cannot bring them back. Throws `REFUSED` while
   * somebody is at work in the workspace, and while an earlier pruning can still be withdrawn. Through a client of a
   * server, throws `USAGE`. Default: the contents are kept for 24 hours.
   */
  readonly now?: boolean;
}

/** The contents to erase: exactly one of `what` and `match`. */
export interface EraseOptions {
  /** A path with everything that is or was beneath it, or the SHA-256 of a content. */
  readonly what?: string;
  /** A pattern as in a `.gitignore`. Selects all present and former paths that match the pattern. */
  readonly match?: string;
  /** The reason; the log keeps it for ever. */
  readonly reason?: string;
  /**
   * True to remove the bytes from the store at once and for good. Throws `REFUSED` while somebody is at work in the
   * workspace. Through a client of a server, throws `USAGE`. Default: the first `gc` after 24 hours removes the bytes.
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

/** Options of `conflicts`: which conflicts are returned, and whether with patches. */
export interface ConflictsOptions {
  readonly all?: boolean;
  readonly patch?: boolean;
}

export interface VersionsOptions {
  /** Only versions of this path. */
  readonly path?: string;
}

/** Operations on actions, transactions, conflicts, replicas' versions, and the retention of history. */
export interface ActionApi {
  /**
   * Records the state that an action is about to change, before the action runs. Returns `null` if no snapshot is
   * needed: for a read, for an action off the record, and for an action that touches only the paths that it names if
   * nothing at these paths can be kept. Throws `REFUSED` if the snapshot failed and `onFailure` is `block`; the tool
   * must then not run.
   */
  snapshotAction(request: ActionRequest): Promise<ActionShape | null>;
  /**
   * Records the changes of an action and ends it. An action that ends as `denied` has no changes. Throws `NOT_FOUND`
   * for an unknown id. A call for an action that has ended does nothing, with two exceptions: an action that was
   * abandoned is finished, and an action that was denied is finished if the outcome is now `done` or `failed`, because
   * it has run after all.
   */
  finishAction(id: string, end?: ActionEnd): Promise<ActionEndShape>;
  /**
   * Makes a snapshot, runs `work`, and finishes the action. If `work` throws, the action ends as `failed` and the error
   * is passed on. If the changes cannot be recorded, the action is closed with a note in its coverage, and the error of
   * the recording is thrown, unless `work` threw or `onFailure` is `warn`. If the action cannot be closed either, an
   * error is thrown that names the action. Its `cause` is the error of `work` or, if `work` did not throw, the error of
   * the recording. The next `action(…)` closes that action before it begins its own.
   */
  action<T>(request: ActionRequest, work: (action: ActionShape | null) => Promise<T> | T): Promise<T>;
  /** Returns all actions that have a snapshot, oldest first. */
  list(): Promise<ActionShape[]>;
  /**
   * Returns an action by its id, a prefix of the id, or the agent's own id of the call. Throws `NOT_FOUND` if no action
   * matches, and `AMBIGUOUS` if several match.
   */
  showAction(id: string): Promise<ActionShape>;
  /** Compares the files that an action backed up with their present state. Throws `NOT_FOUND` for an unknown action. */
  diffAction(id: string): Promise<ActionDiffShape>;
  /**
   * Restores the files of an action to their state before the action. The present state is captured before that. Throws
   * `NOT_FOUND` for an unknown action.
   */
  rollback(id: string, options?: RollbackOptions): Promise<RestoreShape>;
  /** Checks the hash chain of the log. Throws `INTEGRITY_VIOLATION` if it is broken. */
  verifyIntegrity(): Promise<void>;
  /** Returns the changes of a selection. A selection without a field is the last turn. */
  changes(selection: Selection, options?: { readonly patch?: boolean }): Promise<ChangesShape>;

  /** Begins an agent's session, or continues it. */
  startSession(start?: SessionStart): Promise<SessionShape>;
  /**
   * Ends the session with this id, and abandons its open actions. The id must be whole: a prefix of an id throws
   * `NOT_FOUND`, like an unknown id.
   */
  endSession(id: string): Promise<SessionShape>;
  /** Abandons the open actions of a session or turn that has ended. Returns the ids of the abandoned actions. */
  abandonActions(of: ActionsOf): Promise<string[]>;

  /**
   * Begins a transaction. The present state is captured before that, so only later changes belong to the transaction.
   * The new transaction is a savepoint of the innermost active transaction that has the same session and scope, and the
   * same owner or no owner. Within a run with `rollbackOnFailure`, only transactions that began after the run's own
   * transaction are considered. If there is none, the new transaction is a savepoint of the run's own transaction.
   */
  beginTransaction(options?: TransactionOptions): Promise<TransactionShape>;
  /**
   * Commits a transaction and its savepoints as one operation for `undo`. `id` may be a prefix of the id. Throws
   * `NOT_FOUND` if no transaction matches, `AMBIGUOUS` if several match, and `REFUSED` if the transaction has already
   * ended.
   */
  commitTransaction(id: string): Promise<TransactionShape>;
  /**
   * Undoes exactly the changes of a transaction and its savepoints, and keeps later work; `redo` redoes them. If a path
   * cannot be changed, nothing is changed, and the transaction stays active. With `force`, such a path is skipped
   * instead. Throws the errors of `commitTransaction`, and `REFUSED` if a path cannot be changed.
   */
  rollbackTransaction(id: string, options?: { readonly force?: boolean }): Promise<TransactionRollbackShape>;
  /**
   * Returns all transactions, oldest first. If the owner of an active transaction is gone, the next change of the
   * workspace ends that transaction as its `onOwnerDeath` says.
   */
  transactions(): Promise<TransactionShape[]>;
  /**
   * Calls `work` within a transaction. Commits when `work` returns. Rolls back when `work` throws, and passes the error
   * on; if the rollback fails, throws the rollback's error, with the error of `work` as `cause`. A commit that fails is
   * tried once more. If the second attempt fails too, rolls the transaction back and throws; `data.status` of the error
   * is `rolled_back`, or `active` if the rollback failed too. The next call with the same session first rolls back the
   * transactions that earlier calls left active. Nested calls are savepoints.
   */
  transaction<T>(work: (transaction: TransactionShape) => Promise<T> | T, options?: TransactionOptions): Promise<T>;

  /**
   * Returns the open conflicts. With `all`, also returns settled conflicts. With `patch`, each conflict has a patch to
   * the undo's side.
   */
  conflicts(options?: ConflictsOptions): Promise<ConflictShape[]>;
  /**
   * Settles a conflict, by its id, a prefix of the id, or its path. Throws `NOT_FOUND` if no open conflict matches,
   * `AMBIGUOUS` if several match, and `REFUSED` if the decision cannot be carried out, for example because the path was
   * edited since and the undo does not merge with that edit.
   */
  resolve(conflict: string, options: ResolveOptions): Promise<ResolveShape>;

  /**
   * Returns the versions that replicas wrote back and that were not accepted, oldest first. `blob(hash)` returns a
   * version's content.
   */
  versions(options?: VersionsOptions): Promise<VersionShape[]>;
  /**
   * Makes a version the state of its path. The replica's part of the id may be shortened. The present state is captured
   * before that. Throws `NOT_FOUND` if no version matches, `AMBIGUOUS` if several match, `REFUSED` if something at or
   * above the path is in the way, and `ERASED`, `PRUNED` or `BLOB_MISSING` if the content is gone.
   */
  restoreVersion(id: string): Promise<VersionRestoreShape>;

  /**
   * Prunes every snapshot and action that no rule keeps and that nothing else protects. The baseline, named snapshots,
   * everything that open work needs, and everything younger than `min_age_hours` are always protected. If no rule is
   * given, the first action of each session is protected, too. Throws `FORBIDDEN` for an agent's connection, and
   * `REFUSED` if the history is not signed.
   */
  prune(options?: PruneOptions): Promise<PruneShape>;
  /**
   * Removes contents from the history: they can no longer be read, and the first `gc` after 24 hours removes their
   * bytes from the store. The log keeps their hashes, so the log still verifies. A content that a path has now is not
   * erased, with one exception: if the request names the path, and the rules now leave the path out, the content is
   * erased, and the path is no longer recorded. In any case, files on disk stay. Throws `NOT_FOUND` if nothing matches,
   * and `FORBIDDEN` for an agent's connection. Throws `REFUSED` if none of the contents can be erased, if a content
   * belongs to an origin that the workspace follows, or if the history is not signed.
   */
  erase(options: EraseOptions): Promise<EraseShape>;
  /** Returns the erasures that are in force (not withdrawn), oldest first. */
  erasures(): Promise<ErasureShape[]>;
  /**
   * Withdraws an erasure, by its id or a prefix of the id. Throws `NOT_FOUND` if no erasure matches, `AMBIGUOUS` if
   * several match, and `REFUSED` after 24 hours or if contents are gone from the store.
   */
  unerase(id: string): Promise<ErasureShape>;
  /** Protects an action or a snapshot from pruning; with `pinned` false, removes the protection. */
  pin(id: string, pinned?: boolean): Promise<void>;
}
