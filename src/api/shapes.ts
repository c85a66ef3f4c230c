import type { ConflictShape } from "./conflict-shape.ts";

/**
 * The shapes that Chronicle returns to programs: the results of methods, and the output of `--json`.
 *
 * Names are stable: fields may be added, none is renamed. Hashes are 64 lower-case hex digits, times ISO-8601 UTC
 * unless a name ends in `_ms` or says otherwise, sizes are bytes, permissions are bits as a number. A path whose bytes
 * are not UTF-8 is escaped in `path` and exact in `path_b64`; so is a path of the first root that begins like the path
 * of a further root (`@todo: fix.md`).
 */

export interface OmissionShape {
  path: string;
  reason: string;
  detail?: string;
}

/**
 * A path that no capture takes (a rule or a limit leaves it out), and that a run or an action has changed. It is in no
 * diff, and the history has nothing of it.
 */
export interface OmittedChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted";
  /** Why no capture takes it, as in `omitted` of `CoverageShape`. */
  reason: string;
  detail?: string;
  /** True if its earlier content was kept aside: `undo` brings it back. */
  kept: boolean;
  /** True if its earlier content is gone for good. */
  lost: boolean;
  /**
   * Set if the history has an earlier state of it, and what became of it could not be recorded (too large, unreadable):
   * `undo` leaves it, and `restore` brings the earlier state back once it is moved away.
   */
  recorded?: true;
}

/** A change that an operation has made to a path that no capture takes and that was kept aside. It is in no history. */
export interface AsideChangeShape {
  path: string;
  path_b64?: string;
  /** `created`: it is there again. */
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
}

export interface CoverageShape {
  complete: boolean;
  omitted: OmissionShape[];
  /**
   * Ignore rules and other git settings that are not applied: the files that they name are captured. Absent if all are
   * applied.
   */
  unapplied?: { source: string; detail: string }[];
}

export interface ChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
  kind: "file" | "symlink" | "dir";
  /** Empty if there was nothing, or for a folder. */
  before_hash: string;
  after_hash: string;
  before_size: number;
  after_size: number;
  size_delta: number;
  before_permissions?: number;
  after_permissions?: number;
  /** A unified diff, if it was asked for and the content is text. */
  patch?: string;
  /** With a requested patch: the content is binary, or too large to compare. */
  binary?: boolean;
  too_large?: boolean;
  /** The file is a secret by its name, so no patch shows it, to nobody. */
  protected?: true;
  /** One of the contents was erased, so no patch shows it. */
  erased?: true;
  /** With a requested patch of somebody's work: a content that the patch needs was pruned. */
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
  /** The event that compacted it away: it can no longer be restored. */
  compacted_by?: number;
  /** The event that pruned it: it can no longer be restored. */
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
 * Why a history is not signed. `no-signer`: its log names no signer. `no-key`: the key is missing. `bad-key`: the key
 * file holds no key. `other-key`: the key is not the signer's. `no-head`: the kept head is missing. `bad-head`: the
 * kept head is damaged or somebody else's.
 */
export type SigningReason = "no-signer" | "no-key" | "bad-key" | "other-key" | "no-head" | "bad-head";

/** The result of accepting a history as it is. */
export interface AcceptedHeadShape {
  /** False if the history is signed and nothing had to be done. */
  accepted: boolean;
  /** The event that records the acceptance; else the last event. */
  seq: number;
  /** Why the history could not go on by itself. */
  reason: string | null;
  /** The last event of the log as found. */
  log: { seq: number; hash: string } | null;
  /** `head`: the head that was kept until then. `kept_as`: the new name of its note, beside the heads. */
  head: { seq: number; hash: string } | null;
  kept_as: string | null;
  /** The verifier key that signs from now on. */
  key: string | null;
}

/** Whether a history is signed. */
export interface SigningShape {
  /**
   * `signed`: the head is signed, or will be in a moment. `unsigned`: recording goes on, but proves nothing.
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
  /** Findings of recovery, and what else needs attention, for people. */
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
  /** Where one of the moments is the disk: what of the paths asked for was not compared, and why. */
  coverage?: CoverageShape;
}

export interface RestoreShape {
  changes: ChangeShape[];
  /** The operation id for `undo`; `null` if nothing was changed, for dry runs and for `--to`. */
  undo_id: string | null;
  skipped: SkippedShape[];
  conflicts: { path: string; kept_at: string }[];
  dry_run: boolean;
  /** Interrupted operations that were (or would be) finished first, for people. */
  finished: string[];
  /** For `restore`: the event whose state was (or would be) restored, which `seq:N` names. */
  seq?: number;
  /** Paths that the rules leave out, as they were (or would be) put back from what was kept aside, or removed. Not there: none. */
  kept_aside?: AsideChangeShape[];
  /** The folder that was filled, for a restore elsewhere. */
  to?: string;
  /** For paths outside of the workspace: the action whose `rollback`, with the same `outside`, undoes this. */
  rollback_id?: string;
  /** Notes for people on a rollback: the paths left out by the rules that were (or would be) put back. */
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
  /** The direction of the step that was (or would be) done: undoing an undo does the work again. */
  direction: "undo" | "redo";
  /**
   * For an undo of somebody's work, and its redo: the selection, such as `turn 3f2a…`. `operation` is then null, or
   * that undo.
   */
  selection?: string;
  /** Further notes for people: where the edits are that `force` included; a run that was killed. */
  notes: string[];
  /**
   * Parts that did not merge with later work and were left as they were: see `conflicts`. Their ids are empty in a dry
   * run.
   */
  unmerged: ConflictShape[];
}

/**
 * An operation that `undo` takes back: a run, a restore, an action or a transaction outside of a run, the settling of a
 * conflict.
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
  /** True if it was taken back, and not done again. */
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
  /** When it started and ended. For a session at a replica: when its first and last change arrived. */
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
   * at a replica, which knows whether it goes on.
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
 * The origin's iteration that a replica took over. The fields on actor and time are present if the replica holds that
 * event.
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
  blobs: number;
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
  /** True if the log holds what the head says, and its signature is not wrong. */
  ok: boolean;
  /**
   * `valid`: signed by our own key, or by the key that was given with the head. `invalid`: nothing was concluded from
   * the head. `unknown-key`: signed by an unknown key, which is a problem. `none`: not signed. For the last two, the
   * log was still checked against its content.
   */
  signature: "valid" | "invalid" | "unknown-key" | "none";
}

export interface ExplainShape {
  path: string;
  tracked: boolean;
  /** True if it is recorded already: it stays tracked until it is gone, whatever the rules say of new paths. */
  recorded: boolean;
  rule: string;
  pattern?: string;
  source?: string;
  /** Why the path is left out although the rules include it: too large, unreadable, over a limit, special … */
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
   * If asked for: contents grouped by what brought them. A content counts once, in the group in which it came first.
   */
  groups?: DuGroupShape[];
}

/** The contents that a session, a path or a time brought. */
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
   * Contents that are gone too, but whose bytes stay in packs that are mostly still needed or in use, until a `gc` when
   * neither is so.
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
  /** The base on which the log goes on, by the hash of its content. */
  base: string;
  /** The event with which the log goes on. */
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
  /** True if the folder still exists, or the workspace has none. */
  present: boolean;
  /** True if the workspace is archived, so it can only be read. */
  archived?: true;
  /** Why its history cannot be opened; `seq` and `last_event` are then unknown. */
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
  /** The command that takes these changes back, or that says more. */
  hint: string;
}

export interface RunShape {
  session: SessionShape;
  changes: ChangeShape[];
  /**
   * Paths that changed while another run was going on too. These changes belong to nobody, and are not taken back with
   * this run.
   */
  ambiguous: string[];
  coverage: CoverageShape;
  /**
   * Why the command's changes could not be recorded (no room, for example); `null`: they were. `changes` then lists the
   * changes recorded before.
   */
  not_recorded: NotRecordedShape | null;
  exit_code: number;
  signal: string | null;
  /** The operation id for `undo`; `null` if nothing changed. */
  undo_id: string | null;
  /** True if `--rollback-on-failure` took all changes back. */
  rolled_back: boolean;
  /** The changes of a failed command that `--rollback-on-failure` did not take back, and why; `null`: all were taken back. */
  not_rolled_back: NotRolledBackShape | null;
  skipped: SkippedShape[];
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
   * True if small files that git ignores are kept aside before a run, for seven days, so that undo brings them back.
   */
  keepAside: boolean;
  /**
   * Further names of files that are secrets, beside those that Chronicle knows (`*` and `?` are wildcards). A name
   * after `!` is no secret. The setting applies to everything ever recorded under such a name.
   */
  protectedNames: string[];
}

/** Files that are secrets by their names: recorded and brought back like others, and shown to people only. */
export interface ProtectedShape {
  files: number;
  /** The first three of them. */
  first: string[];
}
