import type { ConflictShape } from "./conflict-shape.ts";
import type { ChangeShape, CoverageShape, OmittedChangeShape, UndoShape } from "./shapes.ts";

/** The shapes of actions, transactions, conflicts and pruning. The rules of `shapes.ts` hold here too. */

/** One action (a tool call or a command), with the snapshot that was made before it. */
export interface ActionShape {
  /** UUID v4. */
  id: string;
  timestamp: string;
  /** `write_file`, `run_command`, … */
  action_type: string;
  /** A summary for people, such as `write_file: main.go`. Secrets are masked. */
  action_summary: string;
  /** The paths that it was about to touch, relative to the workspace's root, including paths that did not exist. */
  files_backed_up: string[];
  /**
   * Absolute paths outside of the workspace whose state was kept. They are restored only when named one by one. Empty
   * if the caller is on another machine (`ActingAs.onlyInside`).
   */
  outside: string[];
  /** The `hash` of the previous action; empty for the first. */
  previous_hash: string;
  /** The hash of the event that holds this snapshot. */
  hash: string;
  transaction_id: string | null;
  /** `open` until it is finished. A tool that failed or was denied still has its snapshot. */
  state: "open" | "done" | "failed" | "denied" | "abandoned";
  /**
   * `paths`: it owns the changes of its declared paths. `workspace`: it owns changes anywhere that no other action
   * declared.
   */
  scope: "paths" | "workspace";
  actor: string;
  session: string | null;
  turn: string | null;
  tool_call: string | null;
  recursion_depth: number;
  /** `seq`: the event of its snapshot. `from_seq`: the event whose state is the state before the action. */
  seq: number;
  from_seq: number;
  ended: string | null;
  /** The number of paths that it changed; `null` while it is open. */
  changed: number | null;
  pinned: boolean;
  coverage: CoverageShape;
  reason?: string;
  /** Changes of paths that no capture takes, losses first; absent if there are none. */
  omitted_changes?: OmittedChangeShape[];
}

/** The result of finishing an action. */
export interface ActionEndShape {
  action: ActionShape;
  changes: ChangeShape[];
  /** Paths that changed while others were at work, too. The action does not own these changes. */
  ambiguous: string[];
  coverage: CoverageShape;
}

/** The changes between an action's snapshot and now, of the files that it backed up. */
export interface ActionDiffShape {
  /** The action's id. */
  from: string;
  /** Empty: the present state. */
  to: string;
  timestamp: string;
  changes: ActionFileChangeShape[];
}

export interface ActionFileChangeShape {
  path: string;
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
  /** SHA-256; empty if there was nothing. */
  before_hash: string;
  /** Empty if it is deleted. */
  after_hash: string;
  /** Size after the change. */
  size_bytes: number;
}

/** The changes of one selection: an action, a turn, a session, an actor, a path, or the time since a moment. */
export interface ChangesShape {
  /** The selection in words for people, such as `turn 3f2a…`. */
  selection: string;
  actions: ActionShape[];
  /** Sorted by path, then oldest first. A path that others changed in between has one item for each piece. */
  changes: ChangeShape[];
  /**
   * Paths that changed meanwhile, by this work or by others who were at work, too. The selection does not own these
   * changes.
   */
  ambiguous: string[];
  /**
   * Notes on the part of this work that a compaction removed, on changes that could not be recorded, and on listed paths
   * of which it is not known what was there before. Absent if there are none.
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
  /** Ids of its actions, savepoints included, in their order. */
  snapshots: string[];
  name?: string;
  /** The transaction within which it is a savepoint. */
  parent?: string;
  actor: string;
  session?: string;
  /** `actions`: only changes by actions and writes belong to it; other changes to the folder stay on rollback. */
  scope?: "actions";
  /** The process that began it is gone, and the transaction is still active. */
  orphaned?: true;
  /** The run within which it was begun. `undo` undoes it with that run, and not by itself. */
  run?: string;
  /** The number of paths that it and its savepoints changed; absent until it is committed. */
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
 * A replica's state of a path that was not accepted, because somebody else had changed the path since the state that
 * the replica knew. Its content is kept until it is pruned.
 */
export interface VersionShape {
  /** The replica's id, a colon, and the number of the change there. */
  id: string;
  path: string;
  path_b64?: string;
  /** The time at which it reached the origin. */
  timestamp: string;
  replica: { id: string; local_seq: number };
  /** `null`: the replica had deleted it. */
  kind: "file" | "symlink" | "dir" | null;
  size: number;
  permissions?: number;
  /** Empty if there is no content. */
  hash: string;
  actor: string;
  session?: string;
  turn?: string;
  action?: string;
  /** The event of the state that it was based on; 0: the replica knew of none. */
  based_on: number;
  /** The path's last event when the version arrived, and its iteration; 0: there was none. */
  lost_to: { seq: number; iteration: number };
  /** True if the path has this state now, so nothing of the version is missing. */
  is_present?: true;
  /** The replica has merged it with the state that it lost to: this iteration of the path has all of its changes. */
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
  /** The event that records it; `null`: there was nothing to prune, or it is a dry run. */
  event: number | null;
  /** Events up to this seq are pruned. */
  floor_seq: number;
  /** Ids of the actions, and numbers of the snapshots, that can no longer be restored. */
  pruned_actions: string[];
  pruned_snapshots: number[];
  kept_actions: number;
  kept_snapshots: number;
  /** The number of actions and snapshots kept only because they are younger than `min_age_hours`. */
  too_young: number;
  /** Contents that this workspace no longer needs. `gc` frees their space. */
  freed_contents: number;
  freed_bytes: number;
}

/** A content that is erased, or would be. */
export interface ErasedContentShape {
  hash: string;
  bytes: number;
  /** The first of the `total_paths` paths that have or had the content. */
  paths: string[];
  total_paths: number;
  /** The paths that have it now. */
  now_in: string[];
}

/** The result of an erasure, or of its dry run. */
export interface EraseShape {
  dry_run: boolean;
  /** The event that records it; `null`: everything was erased before, or it is a dry run. */
  event: number | null;
  /** The id for `unerase`, and the time until which `unerase` accepts it. */
  id: string | null;
  until: string | null;
  /** The number of erased contents, and their size in bytes. */
  total: number;
  bytes: number;
  /** The first of the erased contents. */
  contents: ErasedContentShape[];
  /** Contents that matched but stay, because paths have them now, or the history itself needs them. */
  total_kept: number;
  kept: ErasedContentShape[];
  /** The number of matching contents that were erased before. */
  already: number;
  /** The first of the erased copies that were kept aside: of the named files, or of others with the same content. */
  kept_aside: { path: string; bytes: number; until: string }[];
  /** Paths that are no longer recorded; their files stay on disk. */
  untracked: string[];
  /** Other histories of the store that need some of the contents. The bytes stay as long as these histories do. */
  elsewhere: { workspace: string; contents: number }[];
  /** Other places that may hold the same contents and were not erased, in words. */
  not_reached: string[];
  /** With `now`: whether the bytes have left the store, and if not, why. `null`: they leave later. */
  freed: boolean | null;
  not_freed: string | null;
}

/** An erasure that is in force. */
export interface ErasureShape {
  id: string;
  event: number;
  /** The number of erased contents. */
  total: number;
  /** The number of paths whose copies kept aside were erased. */
  kept_aside: number;
  /** The request: exactly one of these fields. */
  asked: { path?: string; content?: string; match?: string };
  reason: string | null;
  actor: string;
  at: string;
  until: string;
  can_be_withdrawn: boolean;
}

/** The limits in force, and where each comes from, for people. */
export interface RetentionSourcesShape extends RetentionShape {
  sources: Record<keyof RetentionShape, string>;
}

/** The limits on what is kept. A maximum of 0 means no limit. */
export interface RetentionShape {
  max_snapshots: number;
  max_age_days: number;
  min_age_hours: number;
  /** The bytes that the whole store may take. */
  max_store_bytes: number;
}
