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
   * True if `undo` can take the change back for some days, unless a content that `undo` needs is erased. For this
   * purpose, the path's earlier content is kept aside. For a created path, the new content is kept aside, because
   * `undo` removes the path.
   */
  kept: boolean;
  /** True if the path's earlier content is gone for good. */
  lost: boolean;
  /**
   * True if the history has an earlier state of the path, and the new state could not be recorded (it was too large or
   * unreadable, for example). `undo` leaves the path as it is. `restore` restores the earlier state once the present
   * file is moved away.
   */
  recorded?: true;
  /**
   * True if other work was going on at the same time and may have made the change. An undo of only this work leaves the
   * path as it is. An undo of all work since a moment (`since`) includes the path.
   */
  ambiguous?: true;
}

/**
 * A change that an undo, a redo or a rollback made to an omitted path, from contents that were kept aside. The history
 * does not contain the change.
 */
export interface AsideChangeShape {
  path: string;
  path_b64?: string;
  /** `created`: the path was missing and exists again. */
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
}

export interface CoverageShape {
  complete: boolean;
  omitted: OmissionShape[];
  /**
   * Ignore rules and other git settings that Chronicle does not apply. The files that such a rule names are captured.
   * Absent if all rules are applied.
   */
  unapplied?: { source: string; detail: string }[];
}

export interface ChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
  kind: "file" | "symlink" | "dir";
  /** `before_hash` and `after_hash` are empty if the path did not exist at that time, and for a folder. */
  before_hash: string;
  after_hash: string;
  before_size: number;
  after_size: number;
  size_delta: number;
  before_permissions?: number;
  after_permissions?: number;
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
   * True if a patch was requested but the patches of earlier changes have reached the limit of one answer (32 MiB of
   * patches, or 256 MiB of compared contents). A request for this path alone returns the patch.
   */
  no_room?: true;
  /** If a patch was requested: true if the file is a secret by its name. No caller gets a patch of such a file. */
  protected?: true;
  /** If a patch was requested: true if one of the contents was erased, so that there is no patch. */
  erased?: true;
  /** True if a patch of a selection's changes was requested, but a content that it needs was pruned. */
  pruned?: true;
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
  /** The number of paths that changed since the previous snapshot (`null`: the baseline). */
  changed: number | null;
  /** The event of the compaction after which the snapshot could no longer be restored. */
  compacted_by?: number;
  /** The event of the pruning after which the snapshot could no longer be restored. */
  pruned_by?: number;
}

/** The result of recording some paths. */
export interface RecordShape {
  /** The seq of the head after recording. */
  seq: number;
  changes: ChangeShape[];
  coverage: CoverageShape;
}

export interface HeadShape {
  workspace: string;
  seq: number;
  hash: string;
  log_root: string;
  root: string;
  /** The signed head as a whole note (text with signature). */
  note: string;
  /** The verifier key of the note's signature (`name+id+base64`). */
  key: string;
}

/**
 * The reason why a history is not signed. `no-signer`: the log names no signer. `no-key`: the key is missing.
 * `bad-key`: the key file contains no valid key. `other-key`: the key is not the key of the signer. `no-head`: the kept
 * head is missing. `bad-head`: the kept head is damaged, or does not belong to this history.
 */
export type SigningReason = "no-signer" | "no-key" | "bad-key" | "other-key" | "no-head" | "bad-head";

/** The result of accepting a history as it is. */
export interface AcceptedHeadShape {
  /**
   * False if nothing had to be done, because the history is signed. All fields except `accepted` and `seq` are then
   * `null`.
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
   * `signed`: the head is signed, or will be in a moment. `unsigned`: recording continues, but proves nothing.
   * `read-only`: the log is damaged, or contradicts the kept head, and nothing is recorded. `copy`: the workspace is a
   * copy of an origin's history, and the origin signs.
   */
  state: "signed" | "unsigned" | "read-only" | "copy";
  /** The reason, if `state` is `unsigned`; else `null`. */
  reason: SigningReason | null;
  /** `detail`: a description of the problem for people. `hint`: what to do about it. */
  detail: string | null;
  hint: string | null;
  /** `key`: the verifier key of the signer that the log names. `since`: the event that names it. */
  key: string | null;
  since: number | null;
}

/** A tracked folder, as `status` reports it. */
export interface RootStatusShape {
  id: string | null;
  path: string;
  only?: string;
  /** The type of the file system. Present only if it lacks something. */
  file_system?: string;
  /**
   * The properties that the folder's disk cannot store or report, in words. These properties are never compared and
   * never restored.
   */
  lacks?: string[];
}

export interface StatusShape {
  workspace: string;
  path: string;
  roots: RootStatusShape[];
  /** The Merkle root of the last recorded state. Empty if `read_only`, because the log then proves no root. */
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
  /** The recorded files that are secrets by their names. */
  protected: ProtectedShape;
  read_only: boolean;
  signing: SigningShape;
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

export interface DiffShape {
  from: string;
  to: string;
  from_seq: number;
  to_seq: number;
  changes: ChangeShape[];
  /**
   * The requested paths that were not compared, with the reasons. Present only if one of the two moments is `now`, or
   * if paths could not be recorded at one of the moments.
   */
  coverage?: CoverageShape;
}

export interface RestoreShape {
  changes: ChangeShape[];
  /** The operation id for `undo`; `null` if nothing was changed, for dry runs and for `--to`. */
  undo_id: string | null;
  skipped: SkippedShape[];
  /**
   * Files that somebody wrote while the operation replaced or removed them. `path` has the state that the operation
   * gave it, and the content that somebody wrote is at `kept_at`.
   */
  conflicts: { path: string; kept_at: string }[];
  dry_run: boolean;
  /** Descriptions, for people, of interrupted operations that were (or would be) finished before this operation. */
  finished: string[];
  /**
   * For `restore`: the seq N of the event whose state was (or would be) restored. `seq:N` is a moment that names that
   * state.
   */
  seq?: number;
  /**
   * Omitted paths that were (or would be) removed or put back. What is put back was kept aside. Absent if there are
   * none.
   */
  kept_aside?: AsideChangeShape[];
  /** The folder that was filled, for a restore with `to`. */
  to?: string;
  /**
   * For a rollback of paths outside of the workspace: the id of an action. A `rollback` of that action with the same
   * `outside` undoes this rollback.
   */
  rollback_id?: string;
  /** For a rollback: notes for people on the omitted paths that were (or would be) put back. */
  notes?: string[];
}

/**
 * The effect that an operation would have with `force`. When a dry run without `force` is refused, `data.forced` of the
 * error has this shape. `data.forced` is `null` if the operation would be refused with `force` as well. Each list has
 * the first hundred paths.
 */
export interface ForcedShape {
  total_changes: number;
  changes: ChangeShape[];
  total_skipped: number;
  skipped: SkippedShape[];
}

/**
 * The result of an undo or redo. If `finished` is not empty, the call has only finished (or would only finish)
 * interrupted operations, and `changes` and `undo_id` are those of these operations.
 */
export interface UndoShape extends RestoreShape {
  /** The operation that was (or would be) undone or redone. */
  operation: OperationShape | null;
  /** The direction of what was (or would be) done. The undo of an undo has the direction `redo`. */
  direction: "undo" | "redo";
  /**
   * Present for an undo of a selection, and for the redo of such an undo: the selection, such as `turn 3f2a…`. For the
   * undo, `operation` is null. For the redo, `operation` is the undo.
   */
  selection?: string;
  /**
   * Further notes for people, for example on a run that was killed, or on the iterations that keep the edits that
   * `force` has overwritten.
   */
  notes: string[];
  /**
   * The parts that did not merge with later work and became conflicts. In these parts, the files keep their present
   * state. In a dry run, the conflicts have empty ids.
   */
  unmerged: ConflictShape[];
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
   * `run`: a command that was run. `watch`: a watched folder. `agent`: an agent's session, which owns the changes of
   * its actions. `replica`: a session that ran at a replica.
   */
  kind: "run" | "watch" | "agent" | "replica";
  /**
   * For a session at a replica: the replica's id. Only those changes of the session are known that have reached this
   * history.
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
  /** The command line, in which secrets are masked. */
  command: string[];
  tracked_paths: string[];
  exit_code: number | null;
  signal: string | null;
  snapshot_count: number;
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
  changed: number;
  /** Changes of omitted paths, losses first; absent if there are none. */
  omitted_changes?: OmittedChangeShape[];
}

export interface IterationShape {
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
  /** The event that pruned the iteration. Its content may be gone. */
  pruned_by?: number;
  /** The event that erased the iteration's content. */
  erased_by?: number;
  /** At a replica: the origin's iteration from which this iteration was made, if it came from the origin. */
  upstream?: OriginIterationShape;
  /** At an origin: the replica that wrote the iteration, and the seq of the write in that replica's own log. */
  replica?: { id: string; local_seq: number };
}

/**
 * The origin's iteration that a replica took over. The optional fields are present only if the replica has the event of
 * that iteration.
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
   * The seq of the newest signed head against which the log was checked. The log is proved up to this seq. `null`:
   * there was no signed head.
   */
  anchored_to: number | null;
  /** The result for the head that was given as `expect`; `null` if none was given. */
  expected: ExpectedHeadShape | null;
  seconds: number;
  /** The result of the repair, if one was requested. All other fields describe the state after the repair. */
  repair?: RepairShape;
}

/** The result of a repair: contents found elsewhere and stored anew, and contents still missing. */
export interface RepairShape {
  healed: HealedContentShape[];
  /** Contents that are still missing or damaged. */
  missing: HurtContentShape[];
  /** The former names of the store's damaged files that were moved to `blobs/quarantine`. */
  set_aside: string[];
  /** Places that could not be searched, or not completely. */
  failed: RepairFailureShape[];
}

/** A content that is missing or damaged, by its SHA-256. */
export interface HurtContentShape {
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
  /** True if the log has the head's event, agrees with the head, and `signature` is no problem. */
  ok: boolean;
  /**
   * `valid`: signed by the user's key, by a signer that the log names, or by the key that was given with the head.
   * `invalid`: the signature is wrong, so the log was not compared with the head. `unknown-key`: signed by an unknown
   * key, which is a problem if the head is of this workspace. `none`: not signed. In all cases except `invalid`, the
   * log was compared with the head.
   */
  signature: "valid" | "invalid" | "unknown-key" | "none";
}

export interface ExplainShape {
  path: string;
  tracked: boolean;
  /**
   * True if the path is recorded. A recorded path stays tracked until it is deleted, even if the rules would leave it
   * out as a new path.
   */
  recorded: boolean;
  rule: string;
  pattern?: string;
  source?: string;
  /**
   * The reason why the path is left out although the rules include it: it is too large, unreadable, over a limit, a
   * special file …
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
  /** The size of the indexes of all workspaces and of the contents. */
  index_bytes: number;
  /**
   * The size of everything else: files such as stat caches, locks, the quarantine and the cache, and the space in packs
   * that no content uses.
   */
  other_bytes: number;
  total_bytes: number;
  store: string;
  /**
   * The contents, grouped by session, path or age as requested. Each content is only in the group in which it was first
   * recorded.
   */
  groups?: DuGroupShape[];
}

/** A group of contents: those first recorded by one session, at one path or in one period. */
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
  /** The number of events that were moved into the archive; 0 if there was nothing to do. */
  events_archived: number;
  /** The hash of the base on which the log continues. */
  base: string;
  /** The first event of the continued log. */
  seq: number;
  /** The file name in `archive/`. `null` if nothing was archived or the archive was dropped. */
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
   * True if the folder exists, even if it was removed and created again. Also true if it cannot be looked at, and for a
   * workspace without a folder.
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

export interface NotRecordedShape {
  reason: string;
  /** The command that restores the state before the run. */
  hint: string;
}

export interface NotRolledBackShape {
  reason: string;
  paths: string[];
  /** A command that undoes these changes or shows details, or instructions for copies that were kept. */
  hint: string;
}

export interface NotCommittedShape {
  reason: string;
  /** The command that keeps what the run has changed, or brings it back. */
  hint: string;
}

export interface RunShape {
  session: SessionShape;
  changes: ChangeShape[];
  /**
   * Paths that this run or another bracket (a run, a command's action, a transaction) may have changed, because both
   * were open at the same time. This run does not own these changes, and its undo leaves them.
   */
  ambiguous: string[];
  /**
   * Notes on listed paths whose state before the run is unknown (because git ignored them, for example). The undo of
   * the run leaves such paths as they are. Absent if there are none.
   */
  notes?: string[];
  coverage: CoverageShape;
  /**
   * The reason why the command's changes could not be recorded (no room, for example). `changes` then has only the
   * changes recorded before the failure. `null`: all changes were recorded, or they were rolled back.
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
   * The changes of a failed command that `--rollback-on-failure` did not undo, or the copies that it left, with the
   * reason. `null` if there are none.
   */
  not_rolled_back: NotRolledBackShape | null;
  /**
   * Present if the command of `--rollback-on-failure` succeeded, but its transaction was not committed: somebody has
   * rolled it back, or the commit could not be recorded (no room, for example). In the latter case, the transaction is
   * still active. Once the process that ran the command is gone, the next change of the workspace rolls it back, unless
   * the command in `hint` has committed it.
   */
  not_committed?: NotCommittedShape;
  skipped: SkippedShape[];
  /**
   * Files that somebody wrote while the rollback replaced or removed them. The file has its state from before the run,
   * and the content that somebody wrote is at `kept_at`.
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
   * True if small files that git ignores are kept aside before a run, for seven days, so that an undo can restore them.
   * If this is switched off, the next garbage collection also frees the files that are kept aside already.
   */
  keepAside: boolean;
  /**
   * Names of files that are secrets, in addition to the names that Chronicle knows (`*` and `?` are wildcards). `!`
   * before a name means that files of this name are no secrets. The setting also applies to everything that was
   * recorded earlier.
   */
  protectedNames: string[];
}

/** Files that are secrets by their names: recorded and restored like others, and shown to people only. */
export interface ProtectedShape {
  files: number;
  /** The first three of these paths. */
  first: string[];
}
