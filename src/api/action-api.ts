import type {
  ActionDiffShape,
  ActionEndShape,
  ActionShape,
  ChangesShape,
  EraseShape,
  ErasureShape,
  KnownReplicaShape,
  PruneShape,
  PruningShape,
  RefusalShape,
  ResolveShape,
  TransactionRollbackShape,
  TransactionShape,
  TurnShape,
  TurnStartShape,
  VersionRestoreShape,
  VersionShape,
} from "./action-shapes.ts";
import type { ConflictShape } from "./conflict-shape.ts";
import type { RestoreShape, SessionShape } from "./shapes.ts";

/** A tool's action that is about to begin. Paths are absolute, or relative to the workspace's first root. */
export interface ActionRequest {
  /**
   * The kind of action:
   * - `write_file`, `delete_file`, `move_file`, `copy_file`, `create_directory`, `delete_directory`, `move_directory`:
   *   only the paths that the action changes are captured.
   * - `run_command` and any other word: the whole workspace is captured.
   * - `read_file`, `list_directory`, `search_files`: no snapshot is made.
   */
  readonly type: string;
  readonly payload?: ActionPayload;
  /** The actor (default `agent`). */
  readonly actor?: string;
  /**
   * `session`: the agent's session. `turn`: the turn of the session. `toolCall`: the agent's own id of the call. If the
   * session has an open action of the same call, that action is returned, and no new action begins.
   */
  readonly session?: string;
  readonly turn?: string;
  readonly toolCall?: string;
  /** The depth of the agent in nested agents: 0 (default) for the top agent. */
  readonly depth?: number;
  /** The transaction to which the action belongs. Default: the innermost active transaction of the same session. */
  readonly transaction?: string;
  /** A summary for people. Default: the type and the paths or the command. */
  readonly summary?: string;
  /**
   * The consequence if the state before the action cannot be kept. `block` (default): an error is thrown. `warn`: the
   * action begins nevertheless, and its coverage lists the omissions.
   */
  readonly onFailure?: "block" | "warn";
  /**
   * True to act off the record (default: false). Nothing is then stored about the action.
   * - `action(…)` calls `work` with `null`, and keeps the changes of `work` out of the history. Throws the errors of
   *   `offRecord(…)`.
   * - `snapshotAction(…)` only returns `null`. The next capture records the changes, because Chronicle never learns
   *   when the action ends.
   */
  readonly otr?: boolean;
  /**
   * The id of the process that will finish the action. If this process ends before the action is finished, the action
   * is abandoned. `null`: the action belongs to no process. Default: the calling process; through a client of a server,
   * `null`.
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
  /** The reason for the outcome, for people. */
  readonly reason?: string;
  /**
   * The consequence if the changes of the action cannot be recorded, for example on a full disk. `block` (default): an
   * error is thrown, and the action stays open. `warn`: the action is closed, and its coverage lists the omissions.
   */
  readonly onFailure?: "block" | "warn";
}

/** Selects the open actions to abandon: all actions of a session, or the actions of one of its turns. */
export interface ActionsOf {
  readonly session: string;
  /** Default: all turns of the session. */
  readonly turn?: string;
  /** The reason, for people. Default: a text that says that the session or turn has ended. */
  readonly reason?: string;
  /** Ids of actions that stay open, such as those of a sub-agent that works in the background. */
  readonly except?: readonly string[];
  /**
   * True if the actions may never have run, because they were denied or interrupted. Such an action becomes only a
   * candidate for the changes that would otherwise belong to it. An undo of the turn or session leaves these changes as
   * they are.
   */
  readonly unsure?: boolean;
}

/**
 * A selection of work. At most one field is given, with three exceptions: a turn may be given together with its session
 * and its actor, `until` may be added to `since` or `to`, and `file` may be added to any other field.
 *
 * `turn: "last"` selects the last turn that changed something. If no turn changed anything, it selects the last turn.
 * For an undo, it selects the last turn of which something is left to undo, so that each such undo goes one turn
 * further back. An undo throws `NOT_FOUND` if there is no such turn.
 */
export interface Selection {
  /** An action's id, a prefix of the id, or the agent's own id of the call. */
  readonly action?: string;
  readonly turn?: string;
  readonly session?: string;
  readonly actor?: string;
  /**
   * Every change to this path, or to paths beneath it. With another field: only the changes of that work to this path.
   */
  readonly file?: string;
  /** Every change after this moment, including people's own edits. */
  readonly since?: string;
  /**
   * All recorded work after this moment: runs, actions, transactions, writes, restores and undos. People's own edits
   * are not selected. If the moment is the id of work or of a turn, the selection begins with that work.
   */
  readonly to?: string;
  /**
   * Only with `since` or `to`: the moment at which the range ends. Later changes are not selected; they stay, and an
   * undo merges with them. The moment must not be before `since` or `to`.
   */
  readonly until?: string;
  /**
   * A turn, and all later work of its session: the id of the turn, a prefix of the id, or `<session>:<turn>`. The undo
   * of this work brings back the state before the turn.
   */
  readonly rewind?: string;
}

export interface RollbackOptions {
  /** True to change nothing, and return the effect of the rollback (default: false). */
  readonly dryRun?: boolean;
  /** True to skip the paths that cannot be restored, and to restore the others. Default: all or nothing. */
  readonly force?: boolean;
  /**
   * Absolute paths outside of the workspace, as in `ActionShape.outside`. If this list is not empty, only these paths
   * are restored, and no path of the workspace. Default: empty.
   */
  readonly outside?: readonly string[];
}

export interface TransactionOptions {
  readonly name?: string;
  readonly actor?: string;
  /**
   * The agent's session to which the transaction belongs. Only actions and writes of this session are then part of the
   * transaction. Default: actions and writes of all sessions are part of it.
   */
  readonly session?: string;
  /**
   * The changes that belong to the transaction, and that a rollback undoes:
   * - `folder` (default in the library): the changes of actions and writes. Without `session`, two more kinds belong to
   *   the transaction: the restores, undos and redos in it, and changes of the folder that belong to no action and were
   *   made while the transaction was the innermost open work.
   * - `actions` (default over HTTP): the changes of actions and writes, and the restores, undos and redos of the client
   *   that began the transaction. A rollback leaves all other changes as they are.
   */
  readonly scope?: "folder" | "actions";
  /**
   * The id of the process that owns the transaction. `null`: no process owns the transaction, so that only a commit or
   * a rollback ends it. Default: the calling process; through a client of a server, `null`.
   */
  readonly pid?: number | null;
  /**
   * The treatment of the transaction once the process `pid` has ended. `rollback` (default): the next change of the
   * workspace first rolls the transaction back. `keep`: the next change of the workspace first commits the transaction.
   * A transaction that cannot be rolled back is committed.
   */
  readonly onOwnerDeath?: "rollback" | "keep";
}

/** A decision about a conflict. */
export interface ResolveOptions {
  /**
   * The state that the path gets:
   * - `current`: the path keeps its present state.
   * - `undo`: the path gets the side of the undo, merged with later edits of the path. In a conflict of a sync, the
   *   path gets the origin's side, without a merge.
   * - `merged`: the path gets `content`.
   */
  readonly keep: "current" | "undo" | "merged";
  /** The merged content. Required for `merged`, and ignored otherwise. */
  readonly content?: Uint8Array;
  /**
   * The hash of the present content of the path, as it was shown to the person who decides; `null` if the path does not
   * exist, or is a folder. If the path has another content by now, nothing is changed. Default: no condition.
   */
  readonly seen?: string | null;
}

/**
 * The rules for pruning: `keepLast`, the fields from `keepHourly` to `keepYearly`, and `keepWithinMs`. A snapshot or
 * action is kept if at least one rule keeps it. If none of these fields is given, the configured limits apply.
 */
export interface PruneOptions {
  /** The number of newest snapshots and actions (counted together) that are kept. */
  readonly keepLast?: number;
  /**
   * The number of latest hours (in UTC) of which the newest snapshot or action is kept. Hours without a snapshot or
   * action are not counted. `keepDaily` to `keepYearly` do the same for days, weeks, months and years.
   */
  readonly keepHourly?: number;
  readonly keepDaily?: number;
  readonly keepWeekly?: number;
  readonly keepMonthly?: number;
  readonly keepYearly?: number;
  /** An age in ms. All younger snapshots and actions are kept. */
  readonly keepWithinMs?: number;
  /** False to prune pinned snapshots and actions, too. Default: true. */
  readonly keepPinned?: boolean;
  /** True to prune nothing, and return the effect of the pruning (default: false). */
  readonly dryRun?: boolean;
  /**
   * True to let `gc` free the contents at once. Default: false; `unforget` can bring the contents back for 24 hours.
   * With true, `prune` throws `REFUSED` while somebody is at work in the workspace, and while an earlier pruning can
   * still be withdrawn. Through a client of a server, `prune` then throws `USAGE`.
   */
  readonly now?: boolean;
}

/** Options of an erasure. Exactly one of `what` and `match` must be given. */
export interface EraseOptions {
  /**
   * A path, or the SHA-256 of a content. A path selects all contents that the path or anything beneath it has or had.
   */
  readonly what?: string;
  /** A pattern as in a `.gitignore`. The pattern selects the contents of all present and former paths that match. */
  readonly match?: string;
  /** The reason; the log keeps it for ever. */
  readonly reason?: string;
  /**
   * True to remove the bytes from the store at once and for good. Default: false; the first `gc` after 24 hours removes
   * the bytes. With true, `erase` throws `REFUSED` while somebody is at work in the workspace. Through a client of a
   * server, `erase` then throws `USAGE`.
   */
  readonly now?: boolean;
  /** True to erase nothing, and return the effect of the erasure (default: false). */
  readonly dryRun?: boolean;
}

export interface SessionStart {
  /** The agent's own id of the session: letters, digits, `.`, `_`, `-`. Default: a new id. */
  readonly id?: string;
  readonly actor?: string;
  readonly notes?: readonly string[];
  /** The id of the process of the session. `null` (default): the session is not bound to a process. */
  readonly pid?: number | null;
}

/** The beginning of an agent's turn. */
export interface TurnStart {
  /** The agent's own id of the session: letters, digits, `.`, `_`, `-`. */
  readonly session: string;
  /** The agent's own id of the turn, made of the same characters. The actions of the turn name this id. */
  readonly turn: string;
  readonly actor?: string;
  /**
   * The person's message to the agent. At most 16 KiB are kept, for thirty days, with secrets masked. The message is
   * shown only to persons. Default: no message is kept.
   */
  readonly prompt?: string;
  /** The file in which the agent keeps the conversation. It is kept with the message. */
  readonly transcript?: string;
  /** The agent's own id of the message. It is kept with the message. */
  readonly message?: string;
}

export interface TurnsOptions {
  /** Only turns of the session with this id, or with an id that begins with this text. */
  readonly session?: string;
  /** Only turns of this actor. */
  readonly actor?: string;
  /** Only turns that began before this one: the id of a turn, the beginning of the id, or `<session>:<turn>`. */
  readonly before?: string;
  /** The maximum number of turns (default: 20). */
  readonly limit?: number;
}

/** Options of `WorkspaceApi.changes`. */
export interface ChangesOptions {
  /** True to add a unified diff to each change (default: false). */
  readonly patch?: boolean;
  /** True to report which deleted and which created file are one renamed file (default: false). */
  readonly renames?: boolean;
}

/** Options of `conflicts`. */
export interface ConflictsOptions {
  /** True to return settled conflicts, too. Default: only open conflicts. */
  readonly all?: boolean;
  /** True to add a patch to each conflict, from the present content to the content of the undo (default: false). */
  readonly patch?: boolean;
  /** The id of a conflict: only the conflicts that come after it in the list. */
  readonly after?: string;
  /**
   * The maximum number of conflicts (default: all). The cost grows with this number, and not with the number of all
   * conflicts.
   */
  readonly limit?: number;
}

export interface VersionsOptions {
  /** Only versions of this path. */
  readonly path?: string;
}

/** Operations on actions, agents' sessions, transactions, conflicts and versions; and pruning, erasing and pinning. */
export interface ActionApi {
  /**
   * Records the state that an action is about to change, before the action runs. Returns `null` if no snapshot is
   * needed:
   * - The tool only reads.
   * - The action is off the record.
   * - The action only deletes the paths that it names, and none of these paths exists.
   *
   * If this method throws, the tool must not run. Throws `REFUSED` if a path of the action cannot be kept, for example
   * because it is unreadable or too large. Throws `LIMIT_EXCEEDED` if the store is full, and `IO` if the disk is full
   * or fails. With `onFailure: "warn"`, the action begins in spite of such an error. In any case, throws `REFUSED` if
   * the action would change Chronicle's own store.
   */
  snapshotAction(request: ActionRequest): Promise<ActionShape | null>;
  /**
   * Records the changes of an action, and ends the action. An action that ends as `denied` has no changes. Throws
   * `NOT_FOUND` for an unknown id.
   *
   * Finishing an action that has already ended does not change it, with two exceptions. An `abandoned` action is
   * finished. A `denied` action is finished if the outcome is now `done` or `failed`, because it has run after all.
   */
  finishAction(id: string, end?: ActionEnd): Promise<ActionEndShape>;
  /**
   * Makes a snapshot, calls `work` with the action, finishes the action, and returns the result of `work`. If no
   * snapshot is needed, only calls `work` with `null`. There are three kinds of failures:
   * - If `work` throws, the action ends as `failed`, and the error of `work` is thrown.
   * - If the changes cannot be recorded, the action is closed with a note in its coverage. The error of the recording
   *   is then thrown, unless `work` threw or `onFailure` is `warn`.
   * - If the action cannot be closed either, an error is thrown that names the action. The `cause` of this error is the
   *   error of `work` or, if `work` did not throw, the error of the recording. The next `action(…)` closes that action
   *   before it begins its own.
   */
  action<T>(request: ActionRequest, work: (action: ActionShape | null) => Promise<T> | T): Promise<T>;
  /** Returns all actions that have a snapshot, oldest first. */
  list(): Promise<ActionShape[]>;
  /**
   * Returns an action by its id, a prefix of the id, or the agent's own id of the call. Throws `NOT_FOUND` if no action
   * matches, and `AMBIGUOUS` if several match.
   */
  showAction(id: string): Promise<ActionShape>;
  /**
   * Compares the paths that an action backed up with their present state on disk. If the scope of the action is
   * `workspace`, also compares the paths that the action changed. Throws `NOT_FOUND` for an unknown action, `AMBIGUOUS`
   * if several match, and `PRUNED` if the state before the action was compacted away.
   */
  diffAction(id: string): Promise<ActionDiffShape>;
  /**
   * Restores the state before an action, at all paths that the action declared or changed. First captures the present
   * state of these paths. The rollback is itself an operation that `undo` can undo. Throws `NOT_FOUND` for an unknown
   * action, `AMBIGUOUS` if several match, and `PRUNED` if the state before the action was compacted away.
   */
  rollback(id: string, options?: RollbackOptions): Promise<RestoreShape>;
  /**
   * Verifies the history as `verify` with `quick` does, and also checks that each action names the previous action.
   * Throws `INTEGRITY_VIOLATION` if there is any problem; `data.problems` of the error lists the problems.
   */
  verifyIntegrity(): Promise<void>;
  /** Returns the changes of a selection. A selection without any field means the last turn. */
  changes(selection: Selection, options?: ChangesOptions): Promise<ChangesShape>;

  /** Begins an agent's session, or continues it. */
  startSession(start?: SessionStart): Promise<SessionShape>;
  /**
   * Ends the session with this id, and abandons its open actions. The id must be whole: a prefix of an id throws
   * `NOT_FOUND`, like an unknown id.
   */
  endSession(id: string): Promise<SessionShape>;
  /**
   * Records that an agent's turn begins, and keeps the person's message. First records the changes on disk. Begins the
   * session if it is not open. Does nothing if the turn is recorded already.
   */
  startTurn(start: TurnStart): Promise<TurnStartShape>;
  /**
   * Returns the turns of agents, newest first. `undo({ rewind: turn })` undoes a turn and the later work of its
   * session. `restore(turn)` also takes back what everybody else has done since the turn began.
   */
  turns(options?: TurnsOptions): Promise<TurnShape[]>;
  /**
   * Abandons the open actions of a session or turn that has ended. First records their changes up to now. Returns the
   * ids of the abandoned actions. Throws `USAGE` if no session is given.
   */
  abandonActions(of: ActionsOf): Promise<string[]>;

  /**
   * Begins a transaction. First captures the present state, so that only later changes belong to the transaction.
   *
   * The new transaction is a savepoint of the innermost active transaction that has the same session and scope, and the
   * same owner or no owner. Without such a transaction, the new transaction is no savepoint. Within a run with
   * `rollbackOnFailure`, only transactions that began after the run's own transaction count. If there is no such
   * transaction, the new transaction is a savepoint of the run's own transaction.
   */
  beginTransaction(options?: TransactionOptions): Promise<TransactionShape>;
  /**
   * Commits a transaction and its savepoints as one operation for `undo`. `id` may be a prefix of the id. Throws
   * `NOT_FOUND` if no transaction matches, `AMBIGUOUS` if several match, and `REFUSED` if the transaction has already
   * ended.
   */
  commitTransaction(id: string): Promise<TransactionShape>;
  /**
   * Undoes exactly the changes of a transaction and its savepoints, and keeps later work. `redo` redoes the changes.
   * Throws the errors of `commitTransaction`. Without `force`, also throws `REFUSED` if a path cannot be changed. In
   * that case, nothing is changed, and the transaction stays active. With `force`, such a path is skipped.
   */
  rollbackTransaction(id: string, options?: { readonly force?: boolean }): Promise<TransactionRollbackShape>;
  /**
   * Returns all transactions, oldest first. An active transaction whose owner has ended is marked as `orphaned`. The
   * next change of the workspace ends it (see `TransactionOptions.onOwnerDeath`).
   */
  transactions(): Promise<TransactionShape[]>;
  /**
   * Calls `work` within a transaction, commits the transaction, and returns the result of `work`. A nested call makes a
   * savepoint. There are two kinds of failures:
   * - If `work` throws, rolls the transaction back, and throws the error of `work`. If the rollback fails, throws the
   *   error of the rollback, with the error of `work` as `cause`.
   * - If the commit fails, tries it once more. If the second attempt fails too, rolls the transaction back and throws
   *   an error. `data.status` of this error is `rolled_back`, or `active` if the rollback failed too.
   *
   * A failed rollback leaves the transaction active. The next call of `transaction` with the same session first rolls
   * such transactions back.
   */
  transaction<T>(work: (transaction: TransactionShape) => Promise<T> | T, options?: TransactionOptions): Promise<T>;

  /**
   * Returns the open conflicts. With `all`, also returns settled conflicts. With `patch`, each conflict has a patch
   * from the present content to the content of the undo.
   */
  conflicts(options?: ConflictsOptions): Promise<ConflictShape[]>;
  /**
   * Settles an open conflict. `conflict` is the id of the conflict, its path, or a prefix of the id. A complete id has
   * precedence over a path, even if the conflict with this id is settled. A path has precedence over a prefix. Throws
   * `NOT_FOUND` if no open conflict matches, and `AMBIGUOUS` if several match. Throws `REFUSED` if the decision cannot
   * be carried out, for example because the side of the undo does not merge with later edits of the path, or because
   * the path was edited since it was `seen`.
   */
  resolve(conflict: string, options: ResolveOptions): Promise<ResolveShape>;

  /**
   * Returns the versions: states that replicas wrote back and that were not accepted. The oldest version comes first.
   * `blob` returns the content of a version by its hash.
   */
  versions(options?: VersionsOptions): Promise<VersionShape[]>;
  /**
   * Makes a version the state of its path. First captures the present state. `id` is the id of the version. In `id`,
   * the replica's id may be shortened to a prefix. Throws `NOT_FOUND` if no version matches, `AMBIGUOUS` if several
   * match, `REFUSED` if something at or above the path is in the way, and `ERASED`, `PRUNED` or `BLOB_MISSING` if the
   * content is gone.
   */
  restoreVersion(id: string): Promise<VersionRestoreShape>;

  /**
   * Prunes every snapshot and action that no rule keeps and that nothing else protects. The baseline, named snapshots,
   * everything that open work needs, and everything younger than `min_age_hours` are always protected. If no rule is
   * given, the first action of each session is protected, too. Throws `FORBIDDEN` for an agent's connection, `REFUSED`
   * if the history is not signed, and `USAGE` for an invalid rule.
   */
  prune(options?: PruneOptions): Promise<PruneShape>;
  /** Returns the prunings that the log records, oldest first. */
  prunings(): Promise<PruningShape[]>;
  /**
   * Returns the replicas that have followed this workspace through a server of this store, the most recently seen one
   * last. The acknowledgements of the last seconds may be missing.
   */
  replicas(): Promise<KnownReplicaShape[]>;
  /**
   * Returns the refused attempts, oldest first. These are attempts at what only a person may do, and denied tool calls.
   */
  refusals(): Promise<RefusalShape[]>;
  /**
   * Removes contents from the history. The contents can no longer be read, and the first `gc` after 24 hours removes
   * their bytes from the store. The log keeps the hashes of the contents, so that the log still verifies. Files on disk
   * stay.
   *
   * A content that a path has now is not erased, with one exception: the request names the path, and the rules now
   * leave the path out. Such a content is erased, and the path is no longer recorded.
   *
   * Throws `NOT_FOUND` if nothing matches, `USAGE` for invalid options, and `FORBIDDEN` for an agent's connection.
   * Throws `REFUSED` if none of the contents can be erased, if a content belongs to an origin that the workspace
   * follows, or if the history is not signed.
   */
  erase(options: EraseOptions): Promise<EraseShape>;
  /** Returns the erasures that are in force (not withdrawn), oldest first. */
  erasures(): Promise<ErasureShape[]>;
  /**
   * Withdraws an erasure, by its id or a prefix of the id. Throws `NOT_FOUND` if no erasure matches, `AMBIGUOUS` if
   * several match, and `REFUSED` after 24 hours or if contents are gone from the store.
   */
  unerase(id: string): Promise<ErasureShape>;
  /**
   * Protects an action or a snapshot from pruning (`pinned`: true, the default), or removes this protection (`pinned`:
   * false). `id` is the id of an action, or the number, the name or the id of a snapshot. Prefixes of ids are accepted.
   * Throws `NOT_FOUND` if nothing matches, `AMBIGUOUS` if several match, and `PRUNED` if the state to be protected is
   * no longer kept.
   */
  pin(id: string, pinned?: boolean): Promise<void>;
}
