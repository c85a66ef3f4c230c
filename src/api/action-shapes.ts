import type { ConflictShape } from "./conflict-shape.ts";
import type { ChangeShape, CoverageShape, GitChangeShape, OmittedChangeShape, UndoShape } from "./shapes.ts";

// This file has the shapes of actions, transactions, resolved conflicts, versions, prunings, erasures and limits. The
// rules for names and units at the top of `shapes.ts` also apply to this file.

/** One action (a tool call or a command), with the snapshot that was made before it. */
export interface ActionShape {
  /** UUID v4. */
  id: string;
  timestamp: string;
  /** `write_file`, `run_command`, … */
  action_type: string;
  /** A summary for people, such as `write_file: main.go`. Secrets are masked. */
  action_summary: string;
  /**
   * The paths whose states before the action were kept, relative to the workspace's root. Paths that did not exist are
   * included, unless the action only deletes.
   */
  files_backed_up: string[];
  /**
   * The absolute paths outside of the workspace at which the state before the action was kept. Only a rollback that
   * names such a path in `outside` restores the path. Empty if the caller is on another machine
   * (`ActingAs.onlyInside`).
   */
  outside: string[];
  /** The `hash` of the previous action; empty for the first. */
  previous_hash: string;
  /** The hash of the event that records this snapshot. */
  hash: string;
  transaction_id: string | null;
  /**
   * `open`: the action is not finished. `done`, `failed`, `denied`: the outcome with which the action was finished.
   * `abandoned`: nobody has finished the action; it can still be finished. In every state, the action still has its
   * snapshot.
   */
  state: "open" | "done" | "failed" | "denied" | "abandoned";
  /**
   * `paths`: the changes at the declared paths of the action belong to it. `workspace`: all changes in the workspace
   * belong to the action, except changes at paths that another action declared.
   */
  scope: "paths" | "workspace";
  actor: string;
  session: string | null;
  turn: string | null;
  tool_call: string | null;
  recursion_depth: number;
  /**
   * `seq`: the event that records the action's snapshot. `from_seq`: the event after which the files were in the state
   * before the action.
   */
  seq: number;
  from_seq: number;
  ended: string | null;
  /** The number of paths that the action changed; `null` while the action is open. */
  changed: number | null;
  pinned: boolean;
  coverage: CoverageShape;
  /** The reason why the action failed, or was denied or abandoned. Absent if none was given. */
  reason?: string;
  /** Changes of omitted paths, losses first; absent if there are none. */
  omitted_changes?: OmittedChangeShape[];
}

/** The result of `startTurn`. */
export interface TurnStartShape {
  turn: string;
  session: string;
  /** The last event of the log once the beginning of the turn was recorded. */
  seq: number;
  /** True if this call has kept the message. False if no message was given, or if an earlier call has kept it. */
  prompt_kept: boolean;
}

/** One turn of an agent: a person's message, and everything that the agent did to answer it. */
export interface TurnShape {
  /** The id is unique within its session. */
  turn: string;
  /** The shortest prefix of the id that identifies only this turn. It has at least 8 characters. */
  short_id: string;
  session: string | null;
  actor: string;
  started: string;
  /** The event with which the turn begins. The moment `seq:<seq>` names the state before the turn. */
  seq: number;
  /** The person's message, with secrets masked; `null` unless `prompt_state` is `kept`. */
  prompt: string | null;
  /**
   * `kept`: `prompt` has the message. `none`: no message was recorded. `gone`: the message was recorded, and is no
   * longer kept here. `hidden`: only persons are shown the message.
   */
  prompt_state: "kept" | "none" | "gone" | "hidden";
  /** True if `prompt` is only the beginning of the message. Otherwise absent. */
  prompt_cut?: true;
  /** The file in which the agent keeps the conversation; `null` if unknown, or if the caller is no person. */
  transcript: string | null;
  /** The agent's own id of the message; `null` if unknown, or if the caller is no person. */
  message: string | null;
  /** The number of actions of the turn. */
  actions: number;
  /** The number of paths that the turn changed. */
  changed: number;
  /** The changed paths; only the first 50 if there are more. */
  paths: string[];
  /**
   * `yes`: all changes of the turn are undone. `part`: some changes are undone. `no`: no change is undone, or the turn
   * has no changes.
   */
  undone: "yes" | "part" | "no";
}

/** The result of finishing an action. */
export interface ActionEndShape {
  action: ActionShape;
  changes: ChangeShape[];
  /**
   * Paths that may have been changed either by the action or by other work at the same time. Such changes do not belong
   * to the action.
   */
  ambiguous: string[];
  coverage: CoverageShape;
}

/**
 * The differences between the state before an action and the present state, at the paths that the action backed up.
 * With the scope `workspace`, the paths that the action changed are compared, too.
 */
export interface ActionDiffShape {
  /** The action's id. */
  from: string;
  /** Always empty. An empty text means the present state. */
  to: string;
  /** The time of the comparison. */
  timestamp: string;
  changes: ActionFileChangeShape[];
}

export interface ActionFileChangeShape {
  path: string;
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
  /** SHA-256; empty if the path did not exist. */
  before_hash: string;
  /** SHA-256; empty if the path was deleted. */
  after_hash: string;
  /** Size after the change. */
  size_bytes: number;
}

/** The changes of one selection: an action, a turn, a session, an actor, a path, or the time since a moment. */
export interface ChangesShape {
  /** The selection in words for people, such as `turn 3f2a…`. */
  selection: string;
  actions: ActionShape[];
  /**
   * `yes`: all of the changes are undone. `part`: some changes, or some hunks of a change, are undone. `no`: nothing is
   * undone, or there are no changes.
   */
  undone: "yes" | "part" | "no";
  /**
   * The changes, sorted by path. The changes of one path are sorted by age, the oldest first. If other work changed a
   * path in between, the path has one item for each uninterrupted sequence of changes.
   */
  changes: ChangeShape[];
  /** The net changes of the state of git repositories. Absent if there are none. */
  git?: GitChangeShape[];
  /**
   * Paths that may have been changed either by this work or by other work at the same time. Such changes do not belong
   * to the selection.
   */
  ambiguous: string[];
  /**
   * Notes for people, on work that a compaction removed, on changes that could not be recorded, and on listed paths
   * whose earlier state is unknown. Absent if there are none.
   */
  notes?: string[];
}

/** A transaction: work that is committed or rolled back as a whole. */
export interface TransactionShape {
  /** UUID v4. */
  id: string;
  status: "active" | "committed" | "rolled_back";
  started_at: string;
  /** Absent while the transaction is active. */
  finished_at?: string;
  /** Ids of the actions of the transaction and its savepoints, oldest first. */
  snapshots: string[];
  name?: string;
  /** The id of the transaction of which this transaction is a savepoint. */
  parent?: string;
  actor: string;
  session?: string;
  /**
   * Present if only these changes belong to the transaction: the changes of actions and writes, and the restores, undos
   * and redos of the client that began the transaction. A rollback leaves all other changes of the folder as they are.
   */
  scope?: "actions";
  /** True if the process that owns the transaction is gone and the transaction is still active. */
  orphaned?: true;
  /**
   * The id of the run within which the transaction was begun. `undo` undoes the transaction together with this run, and
   * not on its own.
   */
  run?: string;
  /**
   * The number of paths that the transaction and its savepoints changed. Absent for a transaction that is not
   * committed, and for a savepoint that was committed with its parent.
   */
  changed?: number;
}

/** The result of rolling a transaction back. */
export interface TransactionRollbackShape {
  transaction: TransactionShape;
  undo: UndoShape;
}

/** The result of settling a conflict. */
export interface ResolveShape {
  conflict: ConflictShape;
  changes: ChangeShape[];
  /** The operation id for `undo`; `null` if no file was changed. */
  undo_id: string | null;
}

/**
 * A state of a path that a replica wrote back and that was not accepted, because somebody else had changed the path
 * since the state that the replica knew. The content is kept until it is pruned.
 */
export interface VersionShape {
  /** The id of the version: the replica's id, a colon, and the seq of the change in the replica's own log. */
  id: string;
  path: string;
  path_b64?: string;
  /** The time at which the version reached the origin. */
  timestamp: string;
  replica: { id: string; local_seq: number };
  /** `null`: the replica had deleted the path. */
  kind: "file" | "symlink" | "dir" | null;
  size: number;
  permissions?: number;
  /** Empty if there is no content. */
  hash: string;
  actor: string;
  session?: string;
  turn?: string;
  action?: string;
  /** The origin's event with the state on which the version was based; 0 if the replica knew no state of the path. */
  based_on: number;
  /**
   * The path's last event when the version arrived, and the iteration of that event; both are 0 if there was no event.
   */
  lost_to: { seq: number; iteration: number };
  /** True if the path has exactly this state now. */
  is_present?: true;
  /**
   * Present if the replica has later merged the version with the state that won: the event and the iteration of the
   * merged state. The merged state contains all changes of the version.
   */
  merged_in?: { seq: number; iteration: number };
}

/** The result of restoring a version. */
export interface VersionRestoreShape {
  version: VersionShape;
  changes: ChangeShape[];
  /** The operation id for `undo`; `null` if no file was changed. */
  undo_id: string | null;
}

/** The result of pruning, or of its dry run. */
export interface PruneShape {
  dry_run: boolean;
  /** The event that records the pruning; `null` if there was nothing to prune, and for a dry run. */
  event: number | null;
  /**
   * `id`: the id of what was given up, for `chronicle unforget`. `until`: the time until which `chronicle unforget` can
   * bring it back. Both are `null` if `event` is `null`, and for a pruning at once (`now`).
   */
  id: string | null;
  until: string | null;
  /** The floor after the pruning: the event up to which the history is pruned. */
  floor_seq: number;
  /**
   * `pruned_actions`: the ids of the actions that can no longer be rolled back. `pruned_snapshots`: the numbers of the
   * snapshots that can no longer be restored. In a dry run: the actions and snapshots that a pruning would give up.
   */
  pruned_actions: string[];
  pruned_snapshots: number[];
  kept_actions: number;
  kept_snapshots: number;
  /** The number of actions and snapshots that only `min_age_hours` keeps from being pruned. */
  too_young: number;
  /**
   * The number and the size of the contents that this workspace no longer needs. After the grace period, `gc` frees
   * their space, unless another workspace needs them.
   */
  freed_contents: number;
  freed_bytes: number;
}

/** A pruning that the log records, or the withdrawal of prunings. */
export interface PruningShape {
  /** The id of what was given up, for `chronicle unforget`. */
  id: string;
  event: number;
  at: string;
  actor: string;
  /**
   * `limits`: the configured limits. `asked`: a request by a person. `brought-back`: a person brought back what earlier
   * prunings had given up.
   */
  cause: "limits" | "asked" | "brought-back";
  /** The event up to which the history is pruned since then. */
  floor_seq: number;
  /** The numbers of actions and of snapshots that this event gave up. */
  actions: number;
  snapshots: number;
  /** True if `chronicle unforget` can still bring back what was given up. */
  can_be_brought_back: boolean;
  /**
   * The time until which `chronicle unforget` can bring it back; `null` if that was never possible, as for a pruning by
   * the limits.
   */
  until: string | null;
}

/** A replica that has followed this workspace, and so holds a copy of its log. */
export interface KnownReplicaShape {
  id: string;
  /**
   * The last event that the replica has acknowledged. If the log of this workspace later contradicts the replica's
   * copy, the replica reports that.
   */
  seq: number;
  /** The number of events that the replica has not acknowledged yet. */
  lag: number;
}

/** An attempt that was refused: something that only a person may do, or a tool call that was denied. */
export interface RefusalShape {
  /** The id of the record, or of the action. */
  id: string;
  event: number;
  at: string;
  actor: string;
  /** `operation`: something that only a person may do. `tool_call`: a tool call that a person or a hook denied. */
  kind: "operation" | "tool_call";
  /** The operation, such as `prune`, or the summary of the tool call. */
  what: string;
  /** For an operation, its arguments as JSON, cut after 500 characters; for a tool call, the reason. Secrets are masked. */
  detail: string;
}

/** A content that is (or would be) erased. */
export interface ErasedContentShape {
  hash: string;
  bytes: number;
  /**
   * `paths`: the first paths, in path order, that have or had the content. `total_paths`: the number of all such paths.
   */
  paths: string[];
  total_paths: number;
  /** The first paths, in path order, that have the content now. */
  now_in: string[];
}

/** The result of an erasure, or of its dry run. */
export interface EraseShape {
  dry_run: boolean;
  /** The event that records the erasure; `null` for a dry run, and if nothing was left to erase. */
  event: number | null;
  /**
   * `id`: the id of the erasure, for `unerase`. `until`: the time until which `unerase` accepts this id. Both are
   * `null` if `event` is `null`.
   */
  id: string | null;
  until: string | null;
  /** The number of erased contents, and their size in bytes. */
  total: number;
  bytes: number;
  /** The erased contents. If there are many, only the first of them. */
  contents: ErasedContentShape[];
  /**
   * `total_kept`: the number of contents that match the request but stay, because paths have them now, or because the
   * history itself needs them. `kept`: these contents. If there are many, only the first of them.
   */
  total_kept: number;
  kept: ErasedContentShape[];
  /** The number of matching contents that were erased before. */
  already: number;
  /**
   * The erased copies that were kept aside: copies of the requested files, and copies with a content that was erased.
   * If there are many, only the first of them.
   */
  kept_aside: { path: string; bytes: number; until: string }[];
  /** Paths that are no longer recorded; their files stay on disk. */
  untracked: string[];
  /**
   * Other histories of the store that need some of the contents, with the number of these contents. The bytes of these
   * contents stay as long as such a history needs them.
   */
  elsewhere: { workspace: string; contents: number }[];
  /** Other places that may hold the same contents and were not erased, in words. */
  not_reached: string[];
  /**
   * `freed`: true if the bytes have left the store. `null` without `now`, because the bytes then leave the store later.
   * `not_freed`: the reason if `freed` is false, else `null`.
   */
  freed: boolean | null;
  not_freed: string | null;
}

/** An erasure that is in force. */
export interface ErasureShape {
  id: string;
  event: number;
  /** The number of erased contents. */
  total: number;
  /** The number of paths whose kept-aside copies were erased. */
  kept_aside: number;
  /** The request for the erasure; exactly one field is present. */
  asked: { path?: string; content?: string; match?: string };
  reason: string | null;
  actor: string;
  at: string;
  until: string;
  can_be_withdrawn: boolean;
}

/** The limits in force. `sources` names, for people, the source of each limit: a file, `as given`, or `default`. */
export interface RetentionSourcesShape extends RetentionShape {
  sources: Record<keyof RetentionShape, string>;
}

/** The limits on the history that is kept. A maximum (`max_…`) of 0 means no limit. */
export interface RetentionShape {
  max_snapshots: number;
  max_age_days: number;
  min_age_hours: number;
  /** The maximum size of the whole store, in bytes. */
  max_store_bytes: number;
  /**
   * The maximum size of the workspace's private contents in the store, in bytes: prompts, states and objects of git,
   * and files kept aside. If these contents exceed the limit, the oldest ones are given up.
   */
  max_private_bytes: number;
}
