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
   * The behaviour if no snapshot can be made. `block` (default) throws. `warn` lets the action proceed, and notes the
   * failure in the action's coverage.
   */
  readonly onFailure?: "block" | "warn";
  /**
   * Off the record: nothing is stored, and the result is `null`. `action(…)` then does the same as `offRecord(…)`: it
   * keeps the changes out of the history, and is refused in the same cases. `snapshotAction(…)` alone does not keep
   * them out: the next capture records the changes, because the end of such an action is never reported.
   */
  readonly otr?: boolean;
  /**
   * The id of the process that will finish the action. When that process is gone, the action is abandoned. Default:
   * this process; `null`: the action belongs to no process.
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
   * The behaviour if the action's changes cannot be recorded (no room, or trouble with the disk). `block` (default)
   * throws, and leaves the action open. `warn` closes the action, and notes the failure in its coverage.
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
 * A selection of work; at most one field is given. `turn: "last"` is the last turn that changed something. If no turn
 * changed anything, it is the last turn.
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
  /** True: skips the paths that cannot be restored, and restores the others. Default: all or nothing. */
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
   * The changes that belong to the transaction. `actions`: only changes by actions and writes; a rollback leaves all
   * other changes. `folder`: also changes that no action owns and that are made to the folder while the transaction is
   * open. Default: `folder`; over HTTP `actions`.
   */
  readonly scope?: "folder" | "actions";
  /**
   * The id of the process whose death ends the transaction. Default: this process; `null`: only a commit or a rollback
   * ends the transaction.
   */
  readonly pid?: number | null;
  /**
   * The fate of the transaction once the process `pid` is gone: the workspace's next change rolls it back (`rollback`,
   * the default) or commits it (`keep`).
   */
  readonly onOwnerDeath?: "rollback" | "keep";
}

export interface ResolveOptions {
  readonly keep: "current" | "undo" | "merged";
  /** The merged content. Required for `merged`, and ignored otherwise. */
  readonly content?: Uint8Array;
}

/**
 * The rules for pruning. A snapshot or action is kept if at least one rule keeps it. If no rule is given, the
 * configured limits apply.
 */
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
   * Lets `gc` free the contents at once, so `unforget` cannot restore them. Throws `REFUSED` while somebody is at work
   * in the workspace, and while an earlier pruning can still be withdrawn. Over a client, throws `USAGE`. Default: the
   * contents are kept for 24 hours.
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
   * Removes the bytes from the store at once and for good. Throws `REFUSED` while somebody is at work in the workspace.
   * Over a client, throws `USAGE`. Default: the first `gc` after 24 hours removes the bytes.
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
   * needed: for a read, for an action off the record, and for an action that touches only its named paths if there is
   * nothing to keep at them. Throws `REFUSED` if the snapshot failed and `onFailure` is `block`. The tool must not run
   * then.
   */
  snapshotAction(request: ActionRequest): Promise<ActionShape | null>;
  /**
   * Records the changes of an action and ends it. An action that ends as `denied` has no changes. Throws `NOT_FOUND`
   * for an unknown id. A second call for the same action does nothing, with two exceptions. An abandoned action is
   * finished. A denied action is finished if the outcome is `done` or `failed`, because it has run after all.
   */
  finishAction(id: string, end?: ActionEnd): Promise<ActionEndShape>;
  /**
   * Makes a snapshot, runs `work`, and finishes the action. If `work` throws, the action ends as `failed` and the error
   * is passed on. If the changes cannot be recorded, closes the action with a note in its coverage. Then throws the
   * error of the recording, unless `work` threw or `onFailure` is `warn`. If the action cannot be closed either, throws
   * an error that names the action. The `cause` of that error is the error of `work`, or the error of the recording if
   * `work` did not throw. The next `action(…)` closes that action before it begins its own.
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
   * Restores the files of an action to the state before the action. The present state is captured first. Throws
   * `NOT_FOUND` for an unknown action.
   */
  rollback(id: string, options?: RollbackOptions): Promise<RestoreShape>;
  /** Checks the chain of hashes. Throws `INTEGRITY_VIOLATION` if it is broken. */
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
   * Begins a transaction. The present state is captured first, so only later changes belong to the transaction. The new
   * transaction is a savepoint of the innermost active transaction that has the same session and scope, and the same
   * owner or no owner. Within a run with `rollbackOnFailure`, transactions that began before the run's own transaction
   * do not count. If no other transaction remains, the new transaction is a savepoint of the run's own transaction.
   */
  beginTransaction(options?: TransactionOptions): Promise<TransactionShape>;
  /**
   * Commits a transaction and its savepoints as one operation for `undo`. `id` may be a prefix of the id. Throws
   * `NOT_FOUND` if no transaction matches, `AMBIGUOUS` if several match, and `REFUSED` if the transaction has already
   * ended.
   */
  commitTransaction(id: string): Promise<TransactionShape>;
  /**
   * Undoes exactly the changes of a transaction and its savepoints, merged with later work; `redo` redoes them. If any
   * path cannot be changed, nothing is changed, and the transaction stays active; with `force`, such paths are skipped.
   * Throws the errors of `commitTransaction`, and `REFUSED` if a path cannot be changed.
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
   * first. Throws `NOT_FOUND` if no version matches, `AMBIGUOUS` if several match, `REFUSED` if something is in the
   * way, and `ERASED`, `PRUNED` or `BLOB_MISSING` if the content is gone.
   */
  restoreVersion(id: string): Promise<VersionRestoreShape>;

  /**
   * Prunes every snapshot and action that no rule keeps and that nothing else protects. The baseline, named snapshots,
   * everything that open work needs, and everything younger than `min_age_hours` are always protected. Throws
   * `FORBIDDEN` for an agent's connection, and `REFUSED` if the history is not signed.
   */
  prune(options?: PruneOptions): Promise<PruneShape>;
  /**
   * Removes contents from the history: they can no longer be read, and the first `gc` after 24 hours removes their
   * bytes from the store. The log keeps their hashes, so the log still verifies. A content that a path has now is not
   * erased, with one exception: if the request names the path, and the rules now leave the path out, the content is
   * erased and the path is no longer recorded. The file stays on disk. Throws `NOT_FOUND` if nothing matches, and
   * `FORBIDDEN` for an agent's connection. Throws `REFUSED` if none of the contents can be erased, if a content belongs
   * to an origin that the workspace follows, or if the history is not signed.
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
