import type { ConflictShape } from "./conflict-shape.ts";
import type { ChangeShape, CoverageShape, OmittedChangeShape, UndoShape } from "./shapes.ts";

// This file has the shapes of actions, transactions, conflicts, versions, pruning and erasures. The rules for names and
// units at the top of `shapes.ts` apply to this file as well.

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
   * The paths that the action was about to touch, relative to the workspace's root, including paths that did not exist.
   */
  files_backed_up: string[];
  /**
   * Absolute paths outside of the workspace whose state was kept. Only a rollback that names such a path in `outside`
   * restores it. Empty if the caller is on another machine (`ActingAs.onlyInside`).
   */
  outside: string[];
  /** The `hash` of the previous action; empty for the first. */
  previous_hash: string;
  /** The hash of the event that records this snapshot. */
  hash: string;
  transaction_id: string | null;
  /** `open` until the action is finished. An action that failed or was denied still has its snapshot. */
  state: "open" | "done" | "failed" | "denied" | "abandoned";
  /**
   * `paths`: the action owns the changes of its declared paths. `workspace`: the action owns all changes in the
   * workspace, except changes to paths that another action declared.
   */
  scope: "paths" | "workspace";
  actor: string;
  session: string | null;
  turn: string | null;
  tool_call: string | null;
  recursion_depth: number;
  /**
   * `seq`: the seq of the event that records the action's snapshot. `from_seq`: the seq of the last event before the
   * action; the state after that event is the state before the action.
   */
  seq: number;
  from_seq: number;
  ended: string | null;
  /** The number of paths that the action changed; `null` while the action is open. */
  changed: number | null;
  pinned: boolean;
  coverage: CoverageShape;
  reason?: string;
  /** Changes of omitted paths, losses first; absent if there are none. */
  omitted_changes?: OmittedChangeShape[];
}

/** The result of finishing an action. */
export interface ActionEndShape {
  action: ActionShape;
  changes: ChangeShape[];
  /** Paths that the action or other work at the same time may have changed. The action does not own these changes. */
  ambiguous: string[];
  coverage: CoverageShape;
}

/** The changes of the files that an action backed up, from the action's snapshot to the present state. */
export interface ActionDiffShape {
  /** The action's id. */
  from: string;
  /** Always empty, which stands for the present state. */
  to: string;
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
   * Sorted by path, then oldest first. If others changed a path in between, the path has one item for each
   * uninterrupted sequence of changes.
   */
  changes: ChangeShape[];
  /** Paths that this work or other work at the same time may have changed. The selection does not own these changes. */
  ambiguous: string[];
  /**
   * Notes for people: on the part of this work that a compaction removed, on changes that could not be recorded, and on
   * listed paths whose earlier state is unknown. Absent if there are none.
   */
  notes?: string[];
}

/** Actions that land whole or are rolled back whole. */
export interface TransactionShape {
  /** UUID v4. */
  id: string;
  status: "active" | "committed" | "rolled_back";
  started_at: string;
  finished_at?: string;
  /** Ids of the actions of the transaction and its savepoints, oldest first. */
  snapshots: string[];
  name?: string;
  /** The id of the transaction of which this transaction is a savepoint. */
  parent?: string;
  actor: string;
  session?: string;
  /**
   * `actions`: only changes by actions and writes belong to the transaction; a rollback leaves other changes of the
   * folder.
   */
  scope?: "actions";
  /** True if the process that owns the transaction is gone and the transaction is still active. */
  orphaned?: true;
  /**
   * The run within which the transaction was begun. `undo` undoes the transaction together with that run, and not on
   * its own.
   */
  run?: string;
  /** The number of paths that the transaction and its savepoints changed; absent until the transaction is committed. */
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
  /** The replica's id, a colon, and the number of the change there. */
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
  /** The seq of the state on which the version was based; 0: the replica knew no state of the path. */
  based_on: number;
  /**
   * The path's last event when the version arrived, and the iteration of that event; both are 0 if there was no event.
   */
  lost_to: { seq: number; iteration: number };
  /** True if the path has exactly this state now. */
  is_present?: true;
  /**
   * The event and iteration that record the replica's merge of the version with the state that won. That iteration has
   * all changes of the version.
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
  /** Events up to this seq are pruned. */
  floor_seq: number;
  /**
   * The ids of the actions, and the numbers of the snapshots, that the pruning makes unrestorable (in a dry run: would
   * make).
   */
  pruned_actions: string[];
  pruned_snapshots: number[];
  kept_actions: number;
  kept_snapshots: number;
  /** The number of actions and snapshots that are kept only because they are younger than `min_age_hours`. */
  too_young: number;
  /** Contents that this workspace no longer needs. `gc` frees their space. */
  freed_contents: number;
  freed_bytes: number;
}

/** A content that is (or would be) erased. */
export interface ErasedContentShape {
  hash: string;
  bytes: number;
  /** The paths that have or had the content: the first in path order. `total_paths`: the number of all of them. */
  paths: string[];
  total_paths: number;
  /** The paths that have the content now: the first in path order. */
  now_in: string[];
}

/** The result of an erasure, or of its dry run. */
export interface EraseShape {
  dry_run: boolean;
  /** The event that records the erasure; `null` if everything was erased before, and for a dry run. */
  event: number | null;
  /** `id`: the id for `unerase`. `until`: the time until which `unerase` accepts it. */
  id: string | null;
  until: string | null;
  /** The number of erased contents, and their size in bytes. */
  total: number;
  bytes: number;
  /** The erased contents; only the first of the list if it is long. */
  contents: ErasedContentShape[];
  /**
   * `total_kept`: the number of contents that matched but stay, because paths have them now, or because the history
   * itself needs them. `kept`: these contents; only the first of the list if it is long.
   */
  total_kept: number;
  kept: ErasedContentShape[];
  /** The number of matching contents that were erased before. */
  already: number;
  /**
   * The kept-aside copies that were erased: copies of the files that were to be erased, and copies with a content that
   * was erased. Only the first of the list if it is long.
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
   * `freed`: with `now`, whether the bytes have left the store; without `now`, `null`, because the bytes leave the
   * store later. `not_freed`: the reason why the bytes are still in the store although `now` was given; else `null`.
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

/** The limits in force; `sources` says, for people, where each limit comes from. */
export interface RetentionSourcesShape extends RetentionShape {
  sources: Record<keyof RetentionShape, string>;
}

/** The limits on the history that is kept. A maximum (`max_…`) of 0 means no limit. */
export interface RetentionShape {
  max_snapshots: number;
  max_age_days: number;
  min_age_hours: number;
  /** The maximum size of the whole store. */
  max_store_bytes: number;
}
