import type { ConflictShape } from "./conflict-shape.ts";

/**
 * The shapes that Chronicle returns to programs: the results of methods, and the output of `--json`.
 *
 * Names are stable: fields may be added, none is renamed. Hashes are 64 lower-case hex digits, times ISO-8601 UTC
 * unless a name ends in `_ms` or says otherwise, sizes are bytes, permissions are bits as a number. A path whose bytes
 * are not UTF-8 is escaped in `path` and exact in `path_b64`. So is a path that begins like a mark of a root or of
 * bytes: `./@todo: fix.md` is the file `@todo: fix.md` of the first root.
 */

export interface OmissionShape {
  path: string;
  reason: string;
  detail?: string;
}

/**
 * An omitted path (a rule or a limit leaves it out of every capture) that a run or an action has changed. The change is
 * in no diff and no history, but the history may have an earlier state of the path (`recorded`).
 */
export interface OmittedChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted";
  /** The reason for the omission, as in `omitted` of `CoverageShape`. */
  reason: string;
  detail?: string;
  /** True if its earlier content is kept aside, so `undo` restores it: for some days, and unless it is erased. */
  kept: boolean;
  /** True if its earlier content is gone for good. */
  lost: boolean;
  /**
   * Set if the history has an earlier state of the path, and the new state could not be recorded (too large,
   * unreadable). `undo` leaves the path as it is. `restore` restores the earlier state once the present file is moved
   * away.
   */
  recorded?: true;
  /**
   * Set if others were going on beside it, and may have made the change. `undo` leaves the path as it is; the undo of
   * all of them (`since`) does not.
   */
  ambiguous?: true;
}

/**
 * A change that an operation (an undo, a restore) made to an omitted path from what was kept aside. No history
 * contains it.
 */
export interface AsideChangeShape {
  path: string;
  path_b64?: string;
  /** `created`: the path exists again. */
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
}

export interface CoverageShape {
  complete: boolean;
  omitted: OmissionShape[];
  /**
   * Ignore rules and other git settings that are not applied, so the files that they name are captured. Absent if all
   * are applied.
   */
  unapplied?: { source: string; detail: string }[];
}

export interface ChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
  kind: "file" | "symlink" | "dir";
  /** Empty if the path did not exist, and for a folder. */
  before_hash: string;
  after_hash: string;
  before_size: number;
  after_size: number;
  size_delta: number;
  before_permissions?: number;
  after_permissions?: number;
  /**
   * A unified diff, if it was asked for and the content is text. Where the search for the shortest one would take long,
   * it replaces everything between the first and the last difference.
   */
  patch?: string;
  /** With a requested patch: the content is binary, or too large to compare. */
  binary?: boolean;
  too_large?: boolean;
  /**
   * With a requested patch: the patches of the changes before it have used up the bound of one answer (32 MiB of
   * patches, made of 256 MiB of contents). Ask for this path by itself.
   */
  no_room?: true;
  /** The file is a secret by its name, so no patch shows it, whoever asks. */
  protected?: true;
  /** One of the contents was erased, so no patch shows it. */
  erased?: true;
  /** With a requested patch of a selection's changes: a content that the patch needs was pruned. */
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
  /** The event of the compaction since which the snapshot can no longer be restored. */
  compacted_by?: number;
  /** The event of the pruning since which the snapshot can no longer be restored. */
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
  /** The whole signed note. */
  note: string;
  /** The verifier key of the note's signature (`name+id+base64`). */
  key: string;
}

/**
 * The reason why a history is not signed. `no-signer`: its log names no signer. `no-key`: the key is missing.
 * `bad-key`: the key file holds no key. `other-key`: the key is not the signer's. `no-head`: the kept head is missing.
 * `bad-head`: the kept head is damaged or somebody else's.
 */
export type SigningReason = "no-signer" | "no-key" | "bad-key" | "other-key" | "no-head" | "bad-head";

/** The result of accepting a history as it is. */
export interface AcceptedHeadShape {
  /** False if the history is signed and nothing had to be done. */
  accepted: boolean;
  /** The event that records the acceptance; else the last event. */
  seq: number;
  /** The reason why the history could not be continued without a person's decision. */
  reason: string | null;
  /** The last event of the log as found. */
  log: { seq: number; hash: string } | null;
  /** `head`: the head that was kept before. `kept_as`: the new file name of its note, beside the heads. */
  head: { seq: number; hash: string } | null;
  kept_as: string | null;
  /** The verifier key that signs from now on. */
  key: string | null;
}

/** The state of a history's signature. */
export interface SigningShape {
  /**
   * `signed`: the head is signed, or will be in a moment. `unsigned`: recording continues, but proves nothing.
   * `read-only`: the log is damaged, or contradicts the kept head, and nothing is recorded. `copy`: its origin signs
   * it.
   */
  state: "signed" | "unsigned" | "read-only" | "copy";
  /** The reason, if `state` is `unsigned`. */
  reason: SigningReason | null;
  /** The problem, and what to do about it, for people. */
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
  /** The kind of file system; only if it lacks something. */
  file_system?: string;
  /**
   * The properties that the folder's disk cannot hold or report, in words. They are never compared and never restored.
   */
  lacks?: string[];
}

export interface StatusShape {
  workspace: string;
  path: string;
  roots: RootStatusShape[];
  /** The Merkle root of the last recorded state. Empty if `read_only`, since the log does not prove one. */
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
   * The requested paths that were not compared, and why: only if one of the two moments is the present disk, or if
   * paths could not be recorded at one of them.
   */
  coverage?: CoverageShape;
}

export interface RestoreShape {
  changes: ChangeShape[];
  /** The operation id for `undo`; `null` if nothing was changed, for dry runs and for `--to`. */
  undo_id: string | null;
  skipped: SkippedShape[];
  /**
   * Files that somebody wrote while they were replaced or removed. `path` is as the operation made it, and what was
   * written is kept at `kept_at`.
   */
  conflicts: { path: string; kept_at: string }[];
  dry_run: boolean;
  /** Interrupted operations that were (or would be) finished first, for people. */
  finished: string[];
  /** For `restore`: the seq of the event whose state was (or would be) restored; `seq:N` is then that moment. */
  seq?: number;
  /** Omitted paths that were (or would be) put back from what was kept aside, or removed. Absent if there are none. */
  kept_aside?: AsideChangeShape[];
  /** The folder that was filled, for a restore elsewhere. */
  to?: string;
  /** For paths outside of the workspace: the action whose `rollback`, with the same `outside`, undoes this. */
  rollback_id?: string;
  /** Notes for people on a rollback: the omitted paths that were (or would be) put back. */
  notes?: string[];
}

/**
 * The effect that an operation would have with `force`: `data.forced` of the error when a dry run without it is
 * refused. The lists hold the first hundred paths each.
 */
export interface ForcedShape {
  total_changes: number;
  changes: ChangeShape[];
  total_skipped: number;
  skipped: SkippedShape[];
}

/**
 * The result of an undo or redo. If `finished` is not empty, only the interrupted step was (or would be) finished:
 * `changes` and `undo_id` are those of that step.
 */
export interface UndoShape extends RestoreShape {
  /** The operation that was (or would be) undone or redone. */
  operation: OperationShape | null;
  /** The direction of the step that was (or would be) done. Undoing an undo redoes the work. */
  direction: "undo" | "redo";
  /**
   * For an undo of a selection, and its redo: the selection, such as `turn 3f2a…`. For that undo, `operation` is null;
   * for its redo, it is the undo.
   */
  selection?: string;
  /** Further notes for people: the iterations that have the edits which `force` overwrote; a run that was killed. */
  notes: string[];
  /**
   * Parts that did not merge with later work and were left as they were: see `conflicts`. Their ids are empty in a dry
   * run.
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
  /** True if it was undone, and not redone. */
  undone: boolean;
  /** For a restore, undo or redo that an agent asked for: the agent's program, by its own name. */
  client?: string;
}

export interface SessionShape {
  session_id: string;
  /**
   * `run`: a command that was run. `watch`: a watched folder. `agent`: an agent's own session, whose work is that of
   * its actions. `replica`: a session that ran at a replica.
   */
  kind: "run" | "watch" | "agent" | "replica";
  /** For a session at a replica: the replica's id. Only its changes that reached this history are known. */
  replica?: string;
  /** The session's actor, such as `claude`. */
  actor: string;
  /** The times of its start and end. For a session at a replica: of the arrival of its first and last change. */
  started: string;
  ended: string | null;
  /** Secrets are masked. */
  command: string[];
  tracked_paths: string[];
  exit_code: number | null;
  signal: string | null;
  snapshot_count: number;
  merkle_roots: string[];
  network_events: unknown[];
  notes: string[];
  /**
   * `running`: also a session whose process died, until the next command closes it as `abandoned`. `elsewhere`: it is
   * at a replica, and only the replica knows whether it still runs.
   */
  state: "running" | "ended" | "abandoned" | "elsewhere";
  from_seq: number;
  to_seq: number | null;
  changed: number;
  /** Changes of paths that no capture takes, losses first; absent if there are none. */
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
  /** The event that pruned it: its content may be gone. */
  pruned_by?: number;
  /** The event that erased its content. */
  erased_by?: number;
  /** At a replica: the origin's iteration, if it came from the origin. */
  upstream?: OriginIterationShape;
  /** At an origin: the replica that wrote it, and that replica's own event. */
  replica?: { id: string; local_seq: number };
}

/**
 * The origin's iteration that a replica took over. The fields on actor and time are present if the replica holds the
 * event of that iteration.
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
   * The number of bytes that were read: those of all contents of the store, which workspaces share. 0 if only `quick`
   * was asked for.
   */
  bytes: number;
  problems: VerifyProblemShape[];
  /** Findings that are no problems but worth knowing, such as a torn tail that was never acknowledged. */
  notes: string[];
  /** The seq of the newest signed head that the log was checked against: the proof reaches this far. */
  anchored_to: number | null;
  /** The result for the head given in `expect`; `null`: none was given. */
  expected: ExpectedHeadShape | null;
  seconds: number;
  /** The result of a repair, if one was asked for. All other fields describe the state after it. */
  repair?: RepairShape;
}

/** The result of a repair: contents found elsewhere and stored anew, and contents still missing. */
export interface RepairShape {
  healed: HealedContentShape[];
  /** Contents that are still missing or damaged. */
  missing: HurtContentShape[];
  /** Damaged files of the store, by their former names, that were moved to its `blobs/quarantine`. */
  set_aside: string[];
  /** Places that could not be searched, or not completely. */
  failed: RepairFailureShape[];
}

/** A content that is missing or damaged, by its SHA-256. */
export interface HurtContentShape {
  hash: string;
  /**
   * The events that need it, with their records or paths; at most the first 20. Empty: nothing in this workspace needs
   * it.
   */
  needed_by: string[];
}

export interface HealedContentShape extends HurtContentShape {
  /** The place where its bytes were found. */
  from: string;
}

export interface RepairFailureShape {
  place: string;
  reason: string;
}

/** The result of checking the log against a given head. */
export interface ExpectedHeadShape {
  seq: number;
  /** True if the log has the head's event and agrees with the head, whose signature is no problem: see `signature`. */
  ok: boolean;
  /**
   * `valid`: signed by our own key, by that of a signer that the log names, or by the key that was given with the head.
   * `invalid`: the signature is wrong, so the log was not compared with the head. `unknown-key`: signed by an unknown
   * key, which is a problem if the head is of this workspace. `none`: not signed. In all cases but `invalid`, the log
   * was compared with what the head says.
   */
  signature: "valid" | "invalid" | "unknown-key" | "none";
}

export interface ExplainShape {
  path: string;
  tracked: boolean;
  /**
   * True if it is recorded already. It then stays tracked until it is deleted, whatever the rules say about new paths.
   */
  recorded: boolean;
  rule: string;
  pattern?: string;
  source?: string;
  /**
   * The reason why the path is left out although the rules include it: too large, unreadable, over a limit, special …
   */
  omitted?: { reason: string; detail: string };
}

/**
 * Bytes on disk, of the whole store. The total is the sum of `stored_bytes`, `log_bytes`, `index_bytes` and
 * `other_bytes`.
 */
export interface DuShape {
  blobs: { count: number; content_bytes: number; stored_bytes: number };
  /** The logs of all workspaces, their archives included. */
  log_bytes: number;
  /** The indexes of all workspaces and of the contents. */
  index_bytes: number;
  /** The rest: stat caches, locks, quarantine, the cache, room in packs that no content uses. */
  other_bytes: number;
  total_bytes: number;
  store: string;
  /**
   * If asked for: contents grouped by session, path or age. A content counts once, in the group in which it was first
   * recorded.
   */
  groups?: DuGroupShape[];
}

/** The contents that were first recorded by a session, at a path or in a period. */
export interface DuGroupShape {
  name: string;
  count: number;
  content_bytes: number;
}

export interface GcShape {
  /** `freed_blobs`: the contents whose space was freed. `freed_bytes`: how much less the store takes. */
  freed_blobs: number;
  freed_bytes: number;
  /**
   * Contents that were removed too, but whose bytes are still in packs that are mostly needed or in use. A later `gc`
   * frees them.
   */
  pending_blobs: number;
  pending_bytes: number;
  /** Forgotten histories that are damaged: the contents that they still name were kept. Absent if there are none. */
  damaged?: { workspace: string; detail: string }[];
}

export interface RebuildShape {
  events: number;
  entries: number;
  seconds: number;
}

/** The result of a compaction. */
export interface CompactShape {
  /** The number of events moved into the archive; 0: there was nothing to do. */
  events_archived: number;
  /** The hash of the base on which the log continues. */
  base: string;
  /** The event with which the log continues. */
  seq: number;
  /** The file name in `archive/`; `null` if nothing was archived, or the archive was dropped. */
  archive: string | null;
  /** The number of events that were removed for good. */
  dropped: number;
}

export interface WorkspaceShape {
  id: string;
  /** The name given to `create`, if any. */
  name?: string;
  /** The workspace's first folder; empty if it has none. */
  path: string;
  roots: string[];
  seq: number;
  created: string;
  last_event: string | null;
  /** True if the folder is there, also if it was removed and made again, or if the workspace has none. */
  present: boolean;
  /** True if the workspace is archived, so it can only be read. */
  archived?: true;
  /** The reason why its history cannot be opened; `seq` and `last_event` are then unknown. */
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
  /** The command that undoes these changes or gives details, or what to do with copies that were kept. */
  hint: string;
}

export interface RunShape {
  session: SessionShape;
  changes: ChangeShape[];
  /**
   * Paths whose changes may be this run's or those of another bracket that was open too (a run, a command's action, a
   * transaction). This run does not own these changes, so its undo leaves them.
   */
  ambiguous: string[];
  /**
   * Notes on listed paths of which it is not known what was there before: git ignored them, say. Undo leaves them.
   * Absent if there are none.
   */
  notes?: string[];
  coverage: CoverageShape;
  /**
   * The reason why the command's changes could not be recorded (no room, for example). `changes` then lists only those
   * recorded before the failure. `null`: all were recorded.
   */
  not_recorded: NotRecordedShape | null;
  exit_code: number;
  signal: string | null;
  /** The operation id for `undo`; `null` if nothing changed. */
  undo_id: string | null;
  /** True if `--rollback-on-failure` undid all changes. */
  rolled_back: boolean;
  /** What `--rollback-on-failure` did not undo of a failed command, or left beside it, and why. `null`: nothing. */
  not_rolled_back: NotRolledBackShape | null;
  skipped: SkippedShape[];
  /**
   * Files that somebody wrote while the rollback replaced or removed them. The file is as it was before the run, and
   * what was written is kept at `kept_at`.
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
   * True if small files that git ignores are kept aside before a run, for seven days, so that undo can restore them. If
   * this is switched off, the next garbage collection also frees what was kept before.
   */
  keepAside: boolean;
  /**
   * Further names of files that are secrets, beside those that Chronicle knows (`*` and `?` are wildcards). A name
   * after `!` is no secret. The setting applies to everything ever recorded under such a name.
   */
  protectedNames: string[];
}

/** Files that are secrets by their names: recorded and restored like others, and shown to people only. */
export interface ProtectedShape {
  files: number;
  /** The first three of them. */
  first: string[];
}
