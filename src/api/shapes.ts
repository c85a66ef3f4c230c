import type { TicksShape } from "./tick-api.ts";
import type { ConflictShape } from "./conflict-shape.ts";

// This file has the shapes that Chronicle returns to programs: the results of methods, and the output of `--json`.
//
// Names are stable: fields may be added, but no field is renamed. Hashes are 64 lower-case hex digits. Times are
// ISO-8601 in UTC, unless the field's name ends in `_ms` or its comment says otherwise. Sizes are in bytes. Permissions
// are the mode bits as a number. A path whose bytes are not UTF-8 is escaped in `path`, and `path_b64` has its exact
// bytes. A path whose beginning could be taken for the prefix of a root or of escaped bytes gets `./` in front:
// `./@todo: fix.md` is the file `@todo: fix.md` of the first root.

export interface OmissionShape {
  path: string;
  reason: string;
  detail?: string;
}

/**
 * A change that a run or an action made to an omitted path: a path that a rule or a limit leaves out of every capture.
 * The change is in no diff and no history, but the history may have an earlier state of the path (`recorded`).
 */
export interface OmittedChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted";
  /** The reason for the omission, as in `omitted` of `CoverageShape`. */
  reason: string;
  detail?: string;
  /**
   * True if `undo` can invert the change. For this purpose, the path's earlier content is kept aside for seven days.
   * For a created path, the new content is kept aside, because `undo` removes the path. If this content is erased,
   * `undo` can no longer invert the change.
   */
  kept: boolean;
  /**
   * True if the path's earlier content is gone for good. False for a file that has only grown, and for an overwritten
   * file that a person excluded. If the field is false, the change is reported, but does not count as a failure of the
   * run.
   */
  lost: boolean;
  /**
   * True if the history has an earlier state of the path, and the new state could not be recorded (it was too large or
   * unreadable, for example). `undo` leaves the path as it is. `restore` restores the earlier state once the present
   * file is moved away.
   */
  recorded?: true;
  /**
   * True if other work was open at the same time and may have made the change. An undo of only this work leaves the
   * path as it is. An undo of everything since a moment (`since`) includes the path.
   */
  ambiguous?: true;
}

/**
 * The branch that is checked out, and its commit. Without `branch`, HEAD is detached. Without `commit`, the branch has
 * no commit yet.
 */
export interface GitHeadShape {
  branch?: string;
  commit?: string;
}

/** A git repository in a workspace. */
export interface GitRepositoryShape {
  /**
   * The path of the repository's `.git`. Empty: the item stands for repositories within the folder that were not
   * examined.
   */
  path: string;
  path_b64?: string;
  /** Absent if HEAD cannot be read. */
  head?: GitHeadShape;
  /**
   * The reason why the state of the repository (HEAD, refs, index, stashes) is not recorded beside the files. No undo
   * then restores this state. Absent if the state is recorded.
   */
  not_recorded?: string;
}

/** A change of the state of a git repository. */
export interface GitChangeShape {
  /** The path of the repository's `.git`. */
  path: string;
  path_b64?: string;
  head_before: GitHeadShape;
  head_after: GitHeadShape;
  /**
   * The changed refs, at most 1,000. `before` and `after` are hashes of objects, or `ref: ` and the name of another ref;
   * `null`: the ref did not exist.
   */
  refs: { name: string; before: string | null; after: string | null }[];
  /** Names of other changed files in the git folder, such as `index`, `logs/refs/stash` (the stashes) or `MERGE_HEAD`. */
  also: string[];
}

// A change that an undo, a redo or a rollback made to an omitted path, from contents that were kept aside. The history
// does not contain the change.
export interface AsideChangeShape {
  path: string;
  path_b64?: string;
  /** `created`: the path was missing and exists again. */
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
}

export interface CoverageShape {
  /** True if every omission is intended. A rule of the filter, for example, leaves out a path on purpose. */
  complete: boolean;
  omitted: OmissionShape[];
  /**
   * Ignore rules and other git settings that Chronicle does not apply. The files that such a rule names are captured.
   * Absent if all rules are applied.
   */
  unapplied?: { source: string; detail: string }[];
}

/** Numbers of lines of a text. */
export interface LineCountShape {
  added: number;
  removed: number;
}

/** The patch of a change or of an iteration, if patches were requested, or the reason why there is none. */
export interface PatchShape {
  /**
   * A unified diff, if it was requested and the content is text. If the search for the shortest diff would take too
   * long, the diff replaces everything between the first and the last difference.
   */
  patch?: string;
  /**
   * The reason why a requested patch is missing. `binary`: a content is no text. `too_large`: a content is too large to
   * compare.
   */
  binary?: boolean;
  too_large?: boolean;
  /**
   * True if a patch was requested, but the patches of the changes before this one have reached the limit of one answer
   * (32 MiB of patches, or 256 MiB of compared contents). A request for this path alone returns the patch.
   */
  no_room?: true;
  /** True if a patch was requested and the file is a secret by its name. No caller gets a patch of such a file. */
  protected?: true;
  /** True if a patch was requested and one of the contents was erased, so that there is no patch. */
  erased?: true;
  /**
   * True if the patches of a selection's changes were requested, and there is no patch because one of the contents was
   * pruned.
   */
  pruned?: true;
}

export interface ChangeShape extends PatchShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
  kind: "file" | "symlink" | "dir";
  /**
   * `before_hash`: the hash of the content before the change. `after_hash`: the hash of the content after it. A hash is
   * empty if the path did not exist at that time, and for a folder.
   */
  before_hash: string;
  after_hash: string;
  before_size: number;
  after_size: number;
  /** `after_size` minus `before_size`. */
  size_delta: number;
  before_permissions?: number;
  after_permissions?: number;
  /**
   * The numbers of added and removed lines of a modified or renamed text file. Present in the answers of `status`,
   * `run`, `undo`, `redo`, `restore` and `rollback`, and in every answer for which renames were requested. Absent for
   * secrets, for files that are not text, and if the comparison would take too long.
   */
  lines?: LineCountShape;
  /**
   * Only for a created file, in the answers that can have `lines`. `from`: the path of the deleted file that was
   * renamed to this path. `similarity`: the percentage of the content that is the same (50 to 100; 100 only for equal
   * contents). The deleted file is another change of the same list, and has `renamed_to`.
   */
  from?: string;
  from_b64?: string;
  similarity?: number;
  /** Only for a deleted file, in the answers that can have `lines`: the path to which the file was renamed. */
  renamed_to?: string;
  /**
   * Present together with `from`, if patches were requested: the unified diff from the earlier path to this one, with
   * git's `rename from` and `rename to`. This diff replaces the patches of the deletion and of the creation. Absent if
   * the contents differ and cannot be shown.
   */
  rename_patch?: string;
}

export interface SkippedShape {
  path: string;
  reason: string;
  detail?: string;
}

export interface SnapshotShape {
  number: number;
  id: string;
  seq: number;
  root: string;
  coverage: CoverageShape;
  timestamp: string;
  cause: string;
  name?: string;
  pinned: boolean;
  message?: string;
  /** The number of the previous snapshot; `null` for the first. */
  parent: number | null;
  session?: string;
  /** The number of paths that changed since the previous snapshot; `null` for the baseline. */
  changed: number | null;
  /** The event of the compaction since which the snapshot can no longer be restored. Absent if there is none. */
  compacted_by?: number;
  /** The event of the pruning since which the snapshot can no longer be restored. Absent if there is none. */
  pruned_by?: number;
}

/** The result of recording some paths. */
export interface RecordShape {
  /** The seq of the head after recording. */
  seq: number;
  changes: ChangeShape[];
  coverage: CoverageShape;
}

/** The signed head. */
export interface HeadShape {
  workspace: string;
  seq: number;
  hash: string;
  /** `log_root`: the root of the log tree over all events. `root`: the Merkle root of the files at this head. */
  log_root: string;
  root: string;
  /** The signed head as a whole note (text with signature). */
  note: string;
  /** The verifier key of the note's signature (`name+id+base64`). */
  key: string;
}

/**
 * The reason why a history is not signed:
 * - `no-signer`: the log names no signer.
 * - `no-key`: the key is missing.
 * - `bad-key`: the key file contains no valid key.
 * - `other-key`: the key is not the key of the signer.
 * - `no-head`: the kept head is missing.
 * - `bad-head`: the kept head is damaged, or does not belong to this history.
 */
export type SigningReason = "no-signer" | "no-key" | "bad-key" | "other-key" | "no-head" | "bad-head";

/** The result of accepting a history as it is. */
export interface AcceptedHeadShape {
  /**
   * True if the history was accepted. False if nothing had to be done, because the history is signed; all fields except
   * `accepted` and `seq` are then `null`.
   */
  accepted: boolean;
  /** The event that records the acceptance; if nothing was accepted, the last event. */
  seq: number;
  /** The reason why the history could not be continued without a person's decision. */
  reason: string | null;
  /** The last event that the log had before the acceptance. */
  log: { seq: number; hash: string } | null;
  /**
   * `head`: the head that was kept before the acceptance. `kept_as`: the new file name of that head's note, in the
   * folder of the heads.
   */
  head: { seq: number; hash: string } | null;
  kept_as: string | null;
  /** The verifier key of the signatures from now on. */
  key: string | null;
}

/** The state of a history's signature. */
export interface SigningShape {
  /**
   * The state of the signature:
   * - `signed`: the head is signed, or will be signed within seconds.
   * - `unsigned`: changes are still recorded, but the history proves nothing.
   * - `read-only`: the log is damaged, or contradicts the kept head. Nothing is recorded.
   * - `copy`: the workspace is a copy of an origin's history. The origin signs it.
   */
  state: "signed" | "unsigned" | "read-only" | "copy";
  /** The reason, if `state` is `unsigned`; else `null`. */
  reason: SigningReason | null;
  /** `detail`: a description of the problem for people. `hint`: the next step for a person. */
  detail: string | null;
  hint: string | null;
  /** `key`: the verifier key of the signer that the log names. `since`: the event that names this signer. */
  key: string | null;
  since: number | null;
}

/** A tracked folder, as `status` reports it. */
export interface RootStatusShape {
  id: string | null;
  path: string;
  only?: string;
  /** The type of the file system. Present only if `lacks` is present. */
  file_system?: string;
  /**
   * The properties that the folder's disk cannot store or report, in words. These properties are never compared and
   * never restored.
   */
  lacks?: string[];
}

/** A process by which changes are recorded at present, or the way in which a workspace without a folder records. */
export interface RecorderShape {
  /**
   * - `watch`: a `chronicle watch`, or `watch()` of the library. It records all changes.
   * - `run`: a recorded command. All changes are recorded while it runs.
   * - `server`: a `chronicle serve` that was started to stay. It records all changes.
   * - `sync`: the sync of the folder with an origin. It records all changes.
   * - `agent`: an agent's session. Only its tool calls are recorded.
   * - `writes`: the workspace has no folder, and each write is recorded as it is made.
   */
  kind: "watch" | "run" | "server" | "sync" | "agent" | "writes";
  /** The actor of the session; `null` if there is no session. */
  actor: string | null;
  /** The time since which it records; `null` if that is unknown. */
  since: string | null;
  /** The process on the machine of the store; `null` if it is unknown. */
  pid: number | null;
  /** The id of the session, for `watch`, `run` and `agent`. */
  session?: string;
  /** The command of a `run`. */
  command?: string[];
  /** The reason why this process records nothing at present, such as a full disk or a stop by Ctrl-Z. */
  trouble?: string;
  /** The next step for a person. Present together with `trouble`. */
  hint?: string;
}

/** Whether changes are recorded at present. Only processes that are alive on the machine of the store count. */
export interface RecordingShape {
  /**
   * - `everything`: each change is recorded as it happens.
   * - `tool_calls`: only the tool calls of agents are recorded. Other changes are recorded with the next command.
   * - `nothing`: changes are recorded only with the next command that records.
   */
  state: "everything" | "tool_calls" | "nothing";
  by: RecorderShape[];
  /** The reason for `nothing`, if there is a particular one, such as an archived workspace; otherwise `null`. */
  reason: string | null;
  /** The next step for a person. Present together with `reason`; otherwise `null`. */
  hint: string | null;
}

export interface StatusShape {
  workspace: string;
  path: string;
  roots: RootStatusShape[];
  /** The Merkle root of the last recorded state. Empty if `read_only` is true, because the log then proves no root. */
  root: string;
  seq: number;
  head: { seq: number; hash: string };
  /** Changes on disk that are not recorded yet. */
  changes: ChangeShape[];
  coverage: CoverageShape;
  snapshots: number;
  latest_snapshot: number | null;
  entries: number;
  bytes: number;
  /** The git repositories in the folder. Absent if there are none. */
  git?: GitRepositoryShape[];
  /** The recorded files that are secrets by their names. */
  protected: ProtectedShape;
  read_only: boolean;
  signing: SigningShape;
  /** Whether changes are recorded at present, and by whom. */
  recording: RecordingShape;
  /** Findings of recovery and other matters that need attention, for people. */
  notes: string[];
}

export interface LogEventShape {
  seq: number;
  ts: string;
  record_id: string;
  op: string;
  hash: string;
  prev_hash: string;
  recursion_depth: number;
  record: unknown;
}

/** How far a history has grown. */
export interface HeadChangeShape {
  /**
   * `seq`: the last event of the log. `after`: the last event before this change, so that the change has the events
   * after it.
   */
  seq: number;
  after: number;
  /**
   * The kinds of the records that the new events changed, such as `file`, `action` and `session`. For an operation, the
   * kind is `intent:` with the kind of the operation, such as `intent:undo`. `null` in the first answer of a stream,
   * because anything may have changed before.
   */
  records: string[] | null;
  /**
   * The ticks of all work whose last event is after event `after`, in one or more pieces. `null` if there are too many
   * ticks, or if they cannot be read at present; `ticks` returns them. Also `null` if `records` has `compact`: a
   * compaction can drop the first events of work, by which a reader recognises the ticks that it has. The reader must
   * then read all ticks anew.
   */
  ticks: TicksShape[] | null;
}

export interface DiffShape {
  from: string;
  to: string;
  from_seq: number;
  to_seq: number;
  changes: ChangeShape[];
  /**
   * The requested paths that were not compared, with the reasons. Present if one of the two moments is `now`, or if
   * paths could not be recorded at one of the moments; otherwise absent.
   */
  coverage?: CoverageShape;
}

export interface RestoreShape {
  changes: ChangeShape[];
  /** The operation id for `undo`. `null` if nothing was changed, for a dry run, and for a restore with `to`. */
  undo_id: string | null;
  skipped: SkippedShape[];
  /**
   * Files that somebody wrote while the operation replaced or removed them. `path` has the state that the operation
   * wanted, and the file that somebody wrote is at `kept_at`.
   */
  conflicts: { path: string; kept_at: string }[];
  dry_run: boolean;
  /** Descriptions, for people, of interrupted operations that were (or would be) finished before this operation. */
  finished: string[];
  /**
   * For `restore`: the event whose state was (or would be) restored. The moment `seq:N` with this number names the
   * state.
   */
  seq?: number;
  /**
   * Omitted paths that were (or would be) removed, or restored from contents that were kept aside. Absent if there are
   * none.
   */
  kept_aside?: AsideChangeShape[];
  /** Changes of git repositories that were (or would be) made. Absent if there are none. */
  git?: GitChangeShape[];
  /** The folder that was filled, for a restore with `to`. */
  to?: string;
  /**
   * For a rollback of paths outside of the workspace: the id of the action that records the rollback. A `rollback` of
   * this action with the same `outside` undoes the rollback. Absent if nothing was changed.
   */
  rollback_id?: string;
  /** For a rollback: notes for people on the omitted paths that were (or would be) put back. */
  notes?: string[];
}

/**
 * The effect that an operation would have with `force`. If a dry run without `force` is refused, `data.forced` of the
 * error has this shape. `data.forced` is `null` if the operation would be refused with `force`, too. `changes` and
 * `skipped` have only the first hundred items. `total_changes` and `total_skipped` are the numbers of all items.
 */
export interface ForcedShape {
  total_changes: number;
  changes: ChangeShape[];
  total_skipped: number;
  skipped: SkippedShape[];
}

/**
 * The result of an undo or redo. If `finished` is not empty, the call has finished (or would finish) interrupted
 * operations, and has undone or redone nothing. `changes` and `undo_id` then describe the interrupted operations.
 */
export interface UndoShape extends RestoreShape {
  /** The operation that was (or would be) undone or redone. */
  operation: OperationShape | null;
  /** The direction of the operation. The undo of an undo has the direction `redo`. */
  direction: "undo" | "redo";
  /**
   * Present for an undo of a selection, and for the redo of such an undo: the selection, such as `turn 3f2a…`. For the
   * undo, `operation` is `null`. For the redo, `operation` is the undo.
   */
  selection?: string;
  /**
   * Present for an undo of all work since a moment (`to`): the number of operations (runs, actions, transactions,
   * writes, restores) of that work.
   */
  pieces?: number;
  /** Further notes for people, such as the iterations with the edits that `force` has overwritten. */
  notes: string[];
  /**
   * The changes that did not merge with later work and became (or would become) conflicts. Their paths keep their
   * present states. In a dry run, the conflicts have empty ids.
   */
  unmerged: ConflictShape[];
  /**
   * Only for a dry run in which hunks were requested. The list has one item for each path that would change or become a
   * conflict. The item has those hunks of the path that can be undone alone.
   */
  hunks?: UndoHunksShape[];
}

/** The hunks of one path that a dry run of an undo lists. */
export interface UndoHunksShape {
  path: string;
  /** The exact path, in the form that `file` of a part takes. Differs from `path` if the name is not UTF-8. */
  file: string;
  /** The SHA-256 of the present content; `null` if there is none. */
  seen: string | null;
  /**
   * The actors who changed the path after the work. An empty string: an actor who is not known. `null`: an edit on disk
   * that is not recorded.
   */
  edited_by: (string | null)[];
  /** The hunks. Empty for a path that is undone as a whole or not at all, such as a created or binary file. */
  hunks: UndoHunkShape[];
}

/** A hunk that an undo can undo alone. */
export interface UndoHunkShape {
  /**
   * The first and the last line of the hunk in the present content. For a deletion, the line before and the line after
   * its gap.
   */
  from_line: number;
  to_line: number;
  /** The change that the undo makes, as one hunk of a unified diff. */
  patch: string;
  /** False if the hunk does not merge with later edits, so that its undo would be a conflict. */
  merges: boolean;
}

/**
 * An operation that `undo` can invert: a run, a write, a restore, an action or a transaction outside of a run, the
 * settling of a conflict, an undo, a redo.
 */
export interface OperationShape {
  id: string;
  kind: "run" | "write" | "restore" | "action" | "transaction" | "resolve" | "undo" | "redo";
  summary: string;
  started: string;
  ended: string | null;
  from_seq: number;
  to_seq: number;
  changed: number;
  /** True if the operation was undone and not redone. */
  undone: boolean;
  /** For a restore, undo or redo that an agent requested: the name of the agent's program, as the program gives it. */
  client?: string;
}

export interface SessionShape {
  session_id: string;
  /**
   * The kind of the session:
   * - `run`: a command that Chronicle ran.
   * - `watch`: a recording of changes of the workspace.
   * - `agent`: an agent's session. The changes of its actions belong to it.
   * - `replica`: a session that ran at a replica.
   */
  kind: "run" | "watch" | "agent" | "replica";
  /**
   * For a session at a replica: the id of the replica. Only the changes of the session that have reached this history
   * are known.
   */
  replica?: string;
  /** The session's actor, such as `claude`. */
  actor: string;
  /**
   * The times of the session's start and end. For a session at a replica: the times at which its first and last change
   * arrived.
   */
  started: string;
  ended: string | null;
  /** The command line. Secrets in it are masked. */
  command: string[];
  tracked_paths: string[];
  exit_code: number | null;
  signal: string | null;
  snapshot_count: number;
  /** The Merkle roots of the states that the session recorded. */
  merkle_roots: string[];
  network_events: unknown[];
  notes: string[];
  /**
   * `running`: the session is open. A session whose process died stays `running` until the next command closes it as
   * `abandoned`. `elsewhere`: the session is at a replica, and only the replica knows whether it still runs.
   */
  state: "running" | "ended" | "abandoned" | "elsewhere";
  from_seq: number;
  to_seq: number | null;
  /**
   * The number of changed paths; 0 until the session ends. A change that was undone while the session was open counts
   * for an agent's session, and does not count for a run.
   */
  changed: number;
  /** Changes of omitted paths, losses first; absent if there are none. */
  omitted_changes?: OmittedChangeShape[];
}

/**
 * One state of a file. The patch is what the iteration changed. If the patches reach the limit of one answer, the oldest
 * iterations have none.
 */
export interface IterationShape extends PatchShape {
  iteration: number;
  /** Epoch milliseconds. */
  timestamp: number;
  size: number;
  hash: string;
  deleted?: boolean;
  kind: string;
  permissions: number;
  seq: number;
  cause: string;
  actor: string;
  session?: string;
  action?: string;
  turn?: string;
  /**
   * The innermost transaction in which the change was made. Absent if there is none, or if `action` was begun within
   * this transaction.
   */
  transaction?: string;
  /**
   * The id of the operation that made the change, if the change was made by an operation of its own: a write, a
   * restore, an undo or a redo.
   */
  operation?: string;
  /**
   * Only for an iteration that created the file by a rename. `path`: the earlier path of the file. `iteration`: the
   * last iteration of this path that had the renamed content. `similarity`: the percentage of the content that is the
   * same (100: the contents are equal).
   */
  renamed_from?: { path: string; path_b64?: string; iteration: number; similarity: number };
  /** With `renamed_from`, if patches were requested: the unified diff from the earlier path to this one. */
  rename_patch?: string;
  /** The event that pruned the iteration. The content of the iteration may be gone. Absent if it was not pruned. */
  pruned_by?: number;
  /** The event that erased the iteration's content. */
  erased_by?: number;
  /** Only for an iteration that came from the origin that the workspace follows: the origin's iteration. */
  upstream?: OriginIterationShape;
  /**
   * Only for an iteration that a replica wrote back to this origin: the id of the replica, and the seq of the change in
   * the replica's own log.
   */
  replica?: { id: string; local_seq: number };
}

/**
 * An iteration at the origin that came to a replica. The optional fields are present only if the replica has the event
 * of this iteration.
 */
export interface OriginIterationShape {
  seq: number;
  iteration: number;
  /** Epoch milliseconds. */
  timestamp?: number;
  actor?: string;
  session?: string;
  turn?: string;
  action?: string;
}

export interface ManifestFileShape {
  kind: "file" | "symlink" | "dir";
  hash: string;
  size: number;
  mtime_ms: number;
  permissions: number;
  path_b64?: string;
}

export interface ManifestShape {
  number: number;
  id: string;
  timestamp: string;
  parent: number | null;
  root: string;
  files: Record<string, ManifestFileShape>;
}

export interface VerifyProblemShape {
  kind: string;
  where: string;
  detail: string;
}

export interface VerifyShape {
  ok: boolean;
  events: number;
  /** The number of contents that this history needs. */
  blobs: number;
  /**
   * The number of bytes that were read. All contents of the store are read, because workspaces share them. 0 for a
   * `quick` verification.
   */
  bytes: number;
  problems: VerifyProblemShape[];
  /** Findings that are no problems but worth knowing, such as a torn tail whose events were never acknowledged. */
  notes: string[];
  /**
   * The seq of the newest signed head with which the log was compared. The log is proved up to this seq. `null` if
   * there was no signed head.
   */
  anchored_to: number | null;
  /** The result for the head that was given as `expect`; `null` if none was given. */
  expected: ExpectedHeadShape | null;
  seconds: number;
  /** The result of the repair, if one was requested. All other fields describe the state after the repair. */
  repair?: RepairShape;
}

/** The result of a repair. */
export interface RepairShape {
  /** Contents that were found elsewhere and stored again. */
  healed: HealedContentShape[];
  /** Contents that are still missing or damaged. */
  missing: HurtContentShape[];
  /** The damaged files of the store that were moved to `blobs/quarantine`, by their former names. */
  set_aside: string[];
  /** Places that could not be searched, or not completely. */
  failed: RepairFailureShape[];
}

/** A content that is or was missing or damaged. */
export interface HurtContentShape {
  /** The SHA-256 of the content. */
  hash: string;
  /**
   * The first 20 events that need the content, with their records or paths. Empty if nothing in this workspace needs
   * the content.
   */
  needed_by: string[];
}

export interface HealedContentShape extends HurtContentShape {
  /** The place where the content's bytes were found. */
  from: string;
}

export interface RepairFailureShape {
  place: string;
  reason: string;
}

/** The result of checking the log against a given head. */
export interface ExpectedHeadShape {
  seq: number;
  /** True if the log has the event of the head and agrees with the head, and if `signature` is no problem. */
  ok: boolean;
  /**
   * The signature of the head. The log was compared with the head, unless the signature is `invalid`.
   * - `valid`: the head is signed by the user's key, by a signer that the log names, or by the key that was given with
   *   the head.
   * - `invalid`: the signature is wrong.
   * - `unknown-key`: the head is signed by an unknown key. This is a problem if the head belongs to this workspace.
   * - `none`: the head is not signed.
   */
  signature: "valid" | "invalid" | "unknown-key" | "none";
}

/** The reason why a path is or is not recorded. */
export interface ExplainShape {
  path: string;
  tracked: boolean;
  /**
   * True if the path is recorded. A recorded path stays tracked until it is deleted, even if a rule now leaves out new
   * paths of the same name.
   */
  recorded: boolean;
  rule: string;
  pattern?: string;
  source?: string;
  /**
   * The reason why a path is left out although the rules include it. For example, the path is too large, unreadable,
   * over a limit, or a special file. Absent if the path is not left out, or if a rule leaves it out.
   */
  omitted?: { reason: string; detail: string };
}

/**
 * The disk usage of the whole store. `total_bytes` is the sum of `stored_bytes`, `log_bytes`, `index_bytes` and
 * `other_bytes`.
 */
export interface DuShape {
  blobs: { count: number; content_bytes: number; stored_bytes: number };
  /** The size of the logs of all workspaces, including their archives. */
  log_bytes: number;
  /** The size of the indexes of all workspaces, and of the index of the contents. */
  index_bytes: number;
  /** The size of everything else: the `other_parts`, locks and settings. */
  other_bytes: number;
  other_parts: DuOtherShape;
  total_bytes: number;
  store: string;
  /**
   * The sizes of what is kept beside the histories. They are included in `blobs`. Only `StoreApi.du` returns this
   * field, and not with `kept: false`.
   */
  kept_beside?: KeptBesideShape;
  /**
   * The contents, grouped by session, path or age as requested. Each content is only in the group in which it was first
   * recorded.
   */
  groups?: DuGroupShape[];
}

/** The parts of `other_bytes` that can be large. */
export interface DuOtherShape {
  /** The caches, mostly of Chronicle's own compiled code. They are made again when they are missing. */
  cache_bytes: number;
  /** The stat caches of the workspaces, with which a scan need not read unchanged files. */
  stat_cache_bytes: number;
  /** The space in the files of contents that no content uses. `gc` frees most of it. */
  unused_bytes: number;
  /** Damaged files that a repair or a crash has set aside. */
  quarantine_bytes: number;
  /** The histories that were forgotten and can be brought back. */
  forgotten_bytes: number;
}

/**
 * The sizes of what is kept beside the histories of a store for some days, so that an undo can bring it back. A content
 * that a history needs anyway is not counted.
 */
export interface KeptBesideShape {
  /** The prompts that persons gave to agents. */
  prompts: { count: number; stored_bytes: number };
  /** States and objects of git repositories. */
  git: { count: number; stored_bytes: number };
  /** Contents of files that the rules leave out, kept before a run or an action, with the lists of these files. */
  aside: { count: number; stored_bytes: number };
  /**
   * The budgets of all workspaces that keep such contents, or have given some up. The workspace that uses the largest
   * part of its budget comes first.
   */
  budgets: PrivateBudgetShape[];
  /**
   * The number of workspaces that are not counted, because their histories cannot be read. Absent if there are none.
   */
  unread?: number;
}

/** The space that a workspace's private contents take beside its history, and the limit (`max_private_bytes`). */
export interface PrivateBudgetShape {
  workspace: string;
  /** The bytes that these contents take in the store. A content that two workspaces keep counts for both. */
  used_bytes: number;
  /** `max_private_bytes` of the workspace. 0: there is no limit. */
  budget_bytes: number;
  /**
   * The private contents that were given up since the history began, because the budget was exceeded. `records`: the
   * number of runs, actions, operations and turns whose contents were given up. `bytes`: the size of these contents.
   * Absent if nothing was given up.
   */
  given_up?: { records: number; bytes: number };
}

/** A group of contents that were first recorded by one session, at one path or in one period. */
export interface DuGroupShape {
  name: string;
  count: number;
  content_bytes: number;
}

export interface GcShape {
  /**
   * `freed_blobs`: the number of contents whose space was freed. `freed_bytes`: the number of bytes by which the store
   * shrank.
   */
  freed_blobs: number;
  freed_bytes: number;
  /**
   * The number and size of further contents that were removed but still take space, because their packs are in use or
   * contain mostly needed contents. A later `gc` frees this space.
   */
  pending_blobs: number;
  pending_bytes: number;
  /**
   * Forgotten histories that are damaged. The contents that they still name were kept. Absent if there are no such
   * histories.
   */
  damaged?: { workspace: string; detail: string }[];
}

export interface RebuildShape {
  events: number;
  entries: number;
  seconds: number;
}

/** The result of a compaction. */
export interface CompactShape {
  /** The number of events that were moved into the archive; 0 if there was nothing to move. */
  events_archived: number;
  /** The hash of the base on which the log continues. */
  base: string;
  /** The first event of the continued log. */
  seq: number;
  /**
   * The name of the archived log in the folder `archive/`. `null` if nothing was archived, or if the archive was
   * dropped.
   */
  archive: string | null;
  /** The number of events that were removed for good. */
  dropped: number;
}

export interface WorkspaceShape {
  id: string;
  /** The name that was given to `create`, if there was one. */
  name?: string;
  /** The workspace's first folder; empty if it has none. */
  path: string;
  roots: string[];
  seq: number;
  created: string;
  last_event: string | null;
  /**
   * False if the folder of the workspace does not exist. True in all other cases: the folder exists (even if it was
   * removed and created again), its existence cannot be checked, or the workspace has no folder.
   */
  present: boolean;
  /** True if the workspace is archived. An archived workspace can only be read. */
  archived?: true;
  /**
   * The reason why the history cannot be opened. `seq` and `last_event` are then unknown. Absent if the history can be
   * opened.
   */
  problem?: string;
}

/** The reason why the changes of a run could not be recorded. */
export interface NotRecordedShape {
  reason: string;
  /** The command that restores the state before the run. */
  hint: string;
}

/** The changes of a failed run that were not undone. */
export interface NotRolledBackShape {
  reason: string;
  paths: string[];
  /** A command that undoes these changes or shows details, or instructions for copies that were kept. */
  hint: string;
}

/** The reason why the transaction of a run was not committed. */
export interface NotCommittedShape {
  reason: string;
  /** The command that commits the transaction or, if somebody has rolled it back, redoes its changes. */
  hint: string;
}

export interface RunShape {
  session: SessionShape;
  changes: ChangeShape[];
  /** The changes that the command made to the state of git repositories. Absent if there are none. */
  git?: GitChangeShape[];
  /**
   * Paths that either this run or another bracket (a run, a command's action, a transaction) may have changed, because
   * both were open at the same time. These changes do not belong to the run, and an undo of the run does not invert
   * them.
   */
  ambiguous: string[];
  /**
   * Notes for people on paths in `changes` whose state before the run is unknown, for example because git ignored them.
   * An undo of the run leaves such paths as they are. Absent if there are none.
   */
  notes?: string[];
  /**
   * The created paths in `changes` that may have existed before the run. Until the run, the rules left out such a path,
   * or a folder above it. An undo of the run does not remove these paths. Absent if there are none.
   */
  newly_recorded?: string[];
  coverage: CoverageShape;
  /**
   * The reason why changes of the command could not be recorded, for example because the disk is full. `changes` then
   * has only the changes that were recorded before. `null` if all changes were recorded or rolled back.
   */
  not_recorded: NotRecordedShape | null;
  exit_code: number;
  signal: string | null;
  /**
   * The operation id for `undo`; `null` if nothing changed, if the changes were rolled back, or if some changes could
   * not be recorded.
   */
  undo_id: string | null;
  /** True if `--rollback-on-failure` undid all changes. */
  rolled_back: boolean;
  /**
   * The changes of a failed command that `--rollback-on-failure` did not undo, with the reason; or the copies that the
   * rollback made of files that others wrote meanwhile. `null` if there are none.
   */
  not_rolled_back: NotRolledBackShape | null;
  /**
   * Present if the command of `--rollback-on-failure` succeeded, but its transaction was not committed. There are two
   * possible reasons:
   * - Somebody has rolled the transaction back.
   * - The commit could not be recorded, for example because the disk is full. The transaction is then still active. The
   *   command in `hint` commits the transaction. If nobody commits the transaction, and the process that ran the
   *   command has ended, the next change of the workspace rolls the transaction back.
   */
  not_committed?: NotCommittedShape;
  skipped: SkippedShape[];
  /**
   * Files that somebody wrote while the rollback replaced or removed them. `path` has the state from before the run,
   * and the file that somebody wrote is at `kept_at`.
   */
  conflicts: { path: string; kept_at: string }[];
}

export interface ConfigShape {
  useGitignore: boolean;
  excludePatterns: string[];
  excludeGlobs: string[];
  forceInclude: string[];
  maxEntries: number;
  maxBytes: number;
  maxFileSize: number;
  /**
   * True if small files that git ignores are kept aside for seven days before a run, so that an undo can restore them.
   * If this setting is turned off, the next garbage collection also frees the files that are already kept aside.
   */
  keepAside: boolean;
  /**
   * True if the messages of persons to agents are kept for thirty days, so that a turn has a title. The messages are
   * shown only to persons. If this setting is turned off, the next garbage collection also frees the messages that are
   * already kept.
   */
  recordPrompts: boolean;
  /**
   * Names of files that are secrets, in addition to the names that Chronicle knows. `*` and `?` are wildcards. `!`
   * before a name means that files with this name are no secrets. The setting also applies to files that were recorded
   * earlier.
   */
  protectedNames: string[];
}

/**
 * The files that are secrets by their names. They are recorded and restored like other files, but only people may see
 * their contents.
 */
export interface ProtectedShape {
  files: number;
  /** The paths of the first three of these files. */
  first: string[];
}
