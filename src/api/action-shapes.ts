import type { ConflictShape } from "./conflict-shape.ts";
import type { ChangeShape, CoverageShape, OmittedChangeShape, UndoShape } from "./shapes.ts";

/** What actions, transactions, conflicts and pruning give to programs. The rules of `shapes.ts` hold here too. */

/** One action: one tool call, one command, with the snapshot that was made before it. */
export interface ActionShape {
  /** UUID v4. */
  id: string;
  timestamp: string;
  /** `write_file`, `run_command`, … */
  action_type: string;
  /** For people: `write_file: main.go`. Secrets are masked. */
  action_summary: string;
  /** What it was about to touch, relative to the workspace's root; a path that was not there is among them. */
  files_backed_up: string[];
  /** Absolute paths outside of the workspace whose state was kept; restored only when named one by one. Empty where it was begun from elsewhere. */
  outside: string[];
  /** The hash of the action's snapshot before this one; empty for the first. */
  previous_hash: string;
  /** The hash of the event that holds this snapshot. */
  hash: string;
  transaction_id: string | null;
  /** `open` until it is finished. A tool that failed or was denied leaves its snapshot. */
  state: "open" | "done" | "failed" | "denied" | "abandoned";
  /** `paths`: changes there are its own; `workspace`: changes anywhere that no other action names. */
  scope: "paths" | "workspace";
  actor: string;
  session: string | null;
  turn: string | null;
  tool_call: string | null;
  recursion_depth: number;
  /** Its snapshot's event; the state before it is that of `from_seq`. */
  seq: number;
  from_seq: number;
  ended: string | null;
  /** Paths that it changed; `null` while it is open. */
  changed: number | null;
  pinned: boolean;
  coverage: CoverageShape;
  reason?: string;
  /** The changes of paths that no capture takes, losses first; missing where there are none. */
  omitted_changes?: OmittedChangeShape[];
}

/** What an action left behind. */
export interface ActionEndShape {
  action: ActionShape;
  changes: ChangeShape[];
  /** Paths that changed while others were at work as well: nobody's. */
  ambiguous: string[];
  coverage: CoverageShape;
}

/** The changes between an action's snapshot and now, over the files that it backed up. */
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
  /** SHA-256; empty where there was nothing. */
  before_hash: string;
  /** Empty if it is deleted. */
  after_hash: string;
  /** Size after the change. */
  size_bytes: number;
}

/** What somebody did: the changes of an action, a turn, a session, an actor. */
export interface ChangesShape {
  /** For people: `turn 3f2a…`. */
  selection: string;
  actions: ActionShape[];
  /** By path, then oldest first: a path that others changed in between is there once for each piece. */
  changes: ChangeShape[];
  /** Paths that changed meanwhile and may be this work's or that of others who were at work as well: nobody's. */
  ambiguous: string[];
  /** The part of this work that was compacted away, if any was. */
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
  /** Only what actions and writes did belongs to it: what else is changed in the folder meanwhile stays. */
  scope?: "actions";
  /** The process that began it is gone, and it is still active. */
  orphaned?: true;
  /** The run within which it was begun: `undo` takes it back with that, and not by itself. */
  run?: string;
  /** Once it is committed: the paths that it changed, with its savepoints. */
  changed?: number;
}

/** What a rollback of a transaction did. */
export interface TransactionRollbackShape {
  transaction: TransactionShape;
  undo: UndoShape;
}

/** What settling a conflict did. */
export interface ResolveShape {
  conflict: ConflictShape;
  changes: ChangeShape[];
  /** Give this to `undo`; `null` when no file was changed. */
  undo_id: string | null;
}

/**
 * What a replica had made of a path, and did not become its state, because somebody else had changed it since the state that
 * the replica knew. Its content is kept until it is pruned.
 */
export interface VersionShape {
  /** The replica's id, a colon, and the number of the change there. */
  id: string;
  path: string;
  path_b64?: string;
  /** When it came to the origin. */
  timestamp: string;
  replica: { id: string; local_seq: number };
  /** `null`: the replica had deleted it. */
  kind: "file" | "symlink" | "dir" | null;
  size: number;
  permissions?: number;
  /** Empty: there is no content. */
  hash: string;
  actor: string;
  session?: string;
  turn?: string;
  action?: string;
  /** The event that it was based on; 0: the replica knew of none. */
  based_on: number;
  /** The last event of the path when it came, and its iteration; 0: there was none. */
  lost_to: { seq: number; iteration: number };
  /** The path is so by now: nothing of it is missing. */
  is_present?: true;
  /** The replica has merged it with what it lost to: everything that it changed is in this iteration of the path. */
  merged_in?: { seq: number; iteration: number };
}

/** What came of bringing a version back. */
export interface VersionRestoreShape {
  version: VersionShape;
  changes: ChangeShape[];
  /** Give this to `undo`; `null` when no file was changed. */
  undo_id: string | null;
}

/** What pruning did, or would do. */
export interface PruneShape {
  dry_run: boolean;
  /** The event that records it; `null`: there was nothing to prune, or it is a dry run. */
  event: number | null;
  /** Events up to this one are pruned. */
  floor_seq: number;
  /** Ids of the actions and numbers of the snapshots that cannot be gone back to any more. */
  pruned_actions: string[];
  pruned_snapshots: number[];
  kept_actions: number;
  kept_snapshots: number;
  /** Kept only because they are younger than `min_age_hours`. */
  too_young: number;
  /** Contents that are needed no more, as far as this workspace goes; the space is freed by `gc`. */
  freed_contents: number;
  freed_bytes: number;
}

/** A content that is erased, or would be. */
export interface ErasedContentShape {
  hash: string;
  bytes: number;
  /** Paths that have or had it: the first of `total_paths`. */
  paths: string[];
  total_paths: number;
  /** Those that have it now. */
  now_in: string[];
}

/** What an erasure did, or would do. */
export interface EraseShape {
  dry_run: boolean;
  /** The event that records it; `null`: all of it was erased before, or it is a dry run. */
  event: number | null;
  /** `unerase` takes it, until then. */
  id: string | null;
  until: string | null;
  /** How many contents, and how many bytes they have. */
  total: number;
  bytes: number;
  /** The first of them. */
  contents: ErasedContentShape[];
  /** Contents that were meant and stay, because paths have them now. */
  total_kept: number;
  kept: ErasedContentShape[];
  /** So many were erased before. */
  already: number;
  /** What was kept aside for some days of such files, or others with the same content. */
  kept_aside: { path: string; bytes: number; until: string }[];
  /** Paths that are not recorded any more; their files stay on disk. */
  untracked: string[];
  /** Other histories of the store that need some of the contents: their bytes stay as long as these do. */
  elsewhere: { workspace: string; contents: number }[];
  /** What may hold the same and was not erased, in words. */
  not_reached: string[];
  /** With `now`: whether the bytes have left the store, and why they have not. `null`: it is done later. */
  freed: boolean | null;
  not_freed: string | null;
}

/** An erasure in force. */
export interface ErasureShape {
  id: string;
  event: number;
  /** How many contents. */
  total: number;
  /** Of how many paths what was kept aside was erased. */
  kept_aside: number;
  /** What was asked for: one of these. */
  asked: { path?: string; content?: string; match?: string };
  reason: string | null;
  actor: string;
  at: string;
  until: string;
  can_be_withdrawn: boolean;
}

/** The limits in force, and for people where each comes from. */
export interface RetentionSourcesShape extends RetentionShape {
  sources: Record<keyof RetentionShape, string>;
}

/** How much is kept. 0 of a maximum: no limit. */
export interface RetentionShape {
  max_snapshots: number;
  max_age_days: number;
  min_age_hours: number;
  /** Bytes that the whole store may take; 0: no limit. */
  max_store_bytes: number;
}
