import type { ConflictShape } from "./conflict-shape.ts";

/**
 * The shapes that Chronicle gives to programs: what methods return, and what `--json` prints.
 *
 * Names are stable: fields may be added, none is renamed. Hashes are 64 lower-case hex digits, times ISO-8601 UTC
 * unless a name ends in `_ms` or says otherwise, sizes are bytes, permissions are bits as a number. A path whose bytes
 * are not UTF-8 is shown escaped in `path` and given exactly in `path_b64`; so is one of the first root that begins as the
 * path of a further root does (`@todo: fix.md`).
 */

export interface OmissionShape {
  path: string;
  reason: string;
  detail?: string;
}

/**
 * A path that no capture takes (a rule or a limit leaves it out), and that a run or an action has changed: it is in no
 * diff, and nothing of it is in the history.
 */
export interface OmittedChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted";
  /** Why no capture takes it, as in `omitted` of a coverage. */
  reason: string;
  detail?: string;
  /** Its earlier content was kept aside: `undo` brings it back. */
  kept: boolean;
  /** Its earlier content is gone for good. */
  lost: boolean;
}

/** What an operation has done to a path that no capture takes, and that was kept aside: it is in no history. */
export interface AsideChangeShape {
  path: string;
  path_b64?: string;
  /** `created`: it is there again. */
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
}

export interface CoverageShape {
  complete: boolean;
  omitted: OmissionShape[];
  /** Ignore rules, and other things that git is told, which are not applied: what they name is taken. Not there: all are. */
  unapplied?: { source: string; detail: string }[];
}

export interface ChangeShape {
  path: string;
  path_b64?: string;
  change_type: "created" | "modified" | "deleted" | "permissions_changed";
  kind: "file" | "symlink" | "dir";
  /** Empty when there was nothing, or for a folder. */
  before_hash: string;
  after_hash: string;
  before_size: number;
  after_size: number;
  size_delta: number;
  before_permissions?: number;
  after_permissions?: number;
  /** Unified text, where it was asked for and the content is text. */
  patch?: string;
  /** Where a patch was asked for: the content is binary, or too large to compare. */
  binary?: boolean;
  too_large?: boolean;
  /** It is a secret by its name: no patch shows it, to nobody. */
  protected?: true;
  /** One of the contents was erased: no patch shows it. */
  erased?: true;
  /** Where a patch of somebody's work was asked for: a content that it needs was pruned. */
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
  /** Number of the snapshot before, `null` for the first. */
  parent: number | null;
  session?: string;
  /** Paths that changed since the snapshot before (`null`: the baseline). */
  changed: number | null;
  /** It cannot be gone back to any more: the event by which it was compacted away. */
  compacted_by?: number;
  /** It cannot be gone back to any more: the event by which it was pruned. */
  pruned_by?: number;
}

/** What was recorded of some paths. */
export interface RecordShape {
  /** The head after it. */
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
  /** The signed note, whole. */
  note: string;
  /** The verifier key of the note's signature (`name+id+base64`). */
  key: string;
}

/**
 * Why a history is not signed: its log names no signer, the key is missing, is no key, or another one than the signer's, the
 * kept head is missing, or is damaged or somebody else's.
 */
export type SigningReason = "no-signer" | "no-key" | "bad-key" | "other-key" | "no-head" | "bad-head";

/** What became of a history that a person has accepted as it is. */
export interface AcceptedHeadShape {
  /** False: it is signed, and nothing had to be done. */
  accepted: boolean;
  /** The event that says so; else the last one. */
  seq: number;
  /** Why it could not go on by itself. */
  reason: string | null;
  /** The last event of the log as it was found. */
  log: { seq: number; hash: string } | null;
  /** The head that was kept until then, and the name that its note has now beside the heads. */
  head: { seq: number; hash: string } | null;
  kept_as: string | null;
  /** The verifier key that signs from now on. */
  key: string | null;
}

/** Whether what is recorded is signed. */
export interface SigningShape {
  /**
   * `signed`: the head is, or will be in a moment. `unsigned`: recording goes on, and nothing of it is proved. `read-only`:
   * the log is damaged, or contradicts the kept head; nothing is recorded. `copy`: its origin signs it.
   */
  state: "signed" | "unsigned" | "read-only" | "copy";
  /** Where it is unsigned. */
  reason: SigningReason | null;
  /** What is wrong, and what can be done, for people. */
  detail: string | null;
  hint: string | null;
  /** The verifier key of the signer that the log names, and the event that names it. */
  key: string | null;
  since: number | null;
}

/** A tracked folder, as `status` tells of it. */
export interface RootStatusShape {
  id: string | null;
  path: string;
  only?: string;
  /** The kind of file system, where it lacks something. */
  file_system?: string;
  /** The properties that the folder's disk cannot hold or tell, in words. They are never compared and never restored. */
  lacks?: string[];
}

export interface StatusShape {
  workspace: string;
  path: string;
  roots: RootStatusShape[];
  /** Merkle root of the last recorded state. Empty where `read_only`: the log does not prove one. */
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
  /** What recovery found or what needs a look, for people. */
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
}

export interface RestoreShape {
  changes: ChangeShape[];
  /** Give this to `undo`; `null` when nothing was changed, for dry runs and for `--to`. */
  undo_id: string | null;
  skipped: SkippedShape[];
  conflicts: { path: string; kept_at: string }[];
  dry_run: boolean;
  /** Interrupted operations that were (or would be) finished first, for people. */
  finished: string[];
  /** For `restore`: the event whose state was (or would be) restored; `seq:N` names it. */
  seq?: number;
  /** Paths that the rules leave out, as they were (or would be) put back from what was kept aside, or removed. Not there: none. */
  kept_aside?: AsideChangeShape[];
  /** The folder that was filled, for a restore elsewhere. */
  to?: string;
  /** For paths outside of the workspace: the action whose `rollback`, with the same `outside`, takes this back. */
  rollback_id?: string;
  /** Notes for people on a rollback: the paths outside of the rules that were (or would be) put back. */
  notes?: string[];
}

/**
 * What an operation would do with `force`, as `data.forced` of the error by which a dry run without it is refused. The lists hold
 * the first hundred paths each.
 */
export interface ForcedShape {
  total_changes: number;
  changes: ChangeShape[];
  total_skipped: number;
  skipped: SkippedShape[];
}

/**
 * Where `finished` is not empty, finishing the interrupted step is all that was (or would be) done: `changes` and
 * `undo_id` are its own.
 */
export interface UndoShape extends RestoreShape {
  /** The operation that was (or would be) taken back or done again. */
  operation: OperationShape | null;
  /** The step that was (or would be) done: the undo of an undo does the work again. */
  direction: "undo" | "redo";
  /** For an undo of somebody's work, and its redo: whose, as `turn 3f2a…`; `operation` is then null, or that undo. */
  selection?: string;
  /** What else is to be known, for people: where edits are that `force` took along; a run that was killed. */
  notes: string[];
  /** What did not merge with later work, and was left as it is: see `conflicts`. Their ids are empty in a dry run. */
  unmerged: ConflictShape[];
}

/** What `undo` takes back: a run, a restore, an action or a transaction outside of a run, the settling of a conflict. */
export interface OperationShape {
  id: string;
  kind: "run" | "write" | "restore" | "action" | "transaction" | "resolve" | "undo" | "redo";
  summary: string;
  started: string;
  ended: string | null;
  from_seq: number;
  to_seq: number;
  changed: number;
  /** Was it taken back, and not done again? */
  undone: boolean;
  /** Of a restore, undo or redo that an agent asked for: its program, as that calls itself. */
  client?: string;
}

export interface SessionShape {
  session_id: string;
  /** A command that was run, a watched folder, an agent's own session: its work is that of its actions; one that ran at a replica. */
  kind: "run" | "watch" | "agent" | "replica";
  /** Of one that ran at a replica: whose id. What else is known of it are its changes that came here. */
  replica?: string;
  /** Whose it is: `claude`, for example. */
  actor: string;
  /** Of one at a replica: when its first and last change came here. */
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
   * `running` also for one whose process died without a word, until the next command closes it as `abandoned`; `elsewhere`: at a
   * replica, where it is known whether it goes on.
   */
  state: "running" | "ended" | "abandoned" | "elsewhere";
  from_seq: number;
  to_seq: number | null;
  changed: number;
  /** The changes of paths that no capture takes, losses first; missing where there are none. */
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
  /** At a replica: it came from the origin, which has this of it. */
  upstream?: OriginIterationShape;
  /** At an origin: the replica that wrote it, and its own event of it. */
  replica?: { id: string; local_seq: number };
}

/** What an origin has of an iteration that a replica took over; who and when where the replica holds that event. */
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
  /** What is not wrong but worth knowing: a torn tail that was never acknowledged, for example. */
  notes: string[];
  /** How far the proof reaches: the seq of the newest signed head that the log was checked against. */
  anchored_to: number | null;
  /** The head that was given to hold the log to; `null`: none was given. */
  expected: ExpectedHeadShape | null;
  seconds: number;
  /** What a repair has done, where one was asked for. All else is as it is after it. */
  repair?: RepairShape;
}

/** What was found elsewhere and stored anew, and what was not. */
export interface RepairShape {
  healed: HealedContentShape[];
  /** Contents that are still missing or damaged. */
  missing: HurtContentShape[];
  /** Damaged files of the store that were put aside, in its `blobs/quarantine`: by the name that they had. */
  set_aside: string[];
  /** Places that could not be asked, or not to their end. */
  failed: RepairFailureShape[];
}

/** A content that is missing or damaged, by its SHA-256. */
export interface HurtContentShape {
  hash: string;
  /** What needs it: events with their records or paths, of many the first 20. Empty: nothing of this workspace. */
  needed_by: string[];
}

export interface HealedContentShape extends HurtContentShape {
  /** Where its bytes were found. */
  from: string;
}

export interface RepairFailureShape {
  place: string;
  reason: string;
}

/** What became of a head that the log was to be held to. */
export interface ExpectedHeadShape {
  seq: number;
  /** The log holds what the head says, and its signature is not wrong. */
  ok: boolean;
  /**
   * `valid`: by our own key, or by the key that was given with the head. `invalid`: nothing was concluded from the head.
   * `unknown-key`: signed by a key that is not known, which is a problem. `none`: not signed. In the last two its content
   * was held against the log all the same.
   */
  signature: "valid" | "invalid" | "unknown-key" | "none";
}

export interface ExplainShape {
  path: string;
  tracked: boolean;
  /** Recorded already: it stays tracked until it is gone, whatever the rules say of new paths. */
  recorded: boolean;
  rule: string;
  pattern?: string;
  source?: string;
  /** The rules take it in, and what is there now is left out all the same: too large, unreadable, over a limit, special … */
  omitted?: { reason: string; detail: string };
}

/** Bytes on disk, of the whole store. `stored_bytes`, `log_bytes`, `index_bytes` and `other_bytes` are the total. */
export interface DuShape {
  blobs: { count: number; content_bytes: number; stored_bytes: number };
  /** The logs of all workspaces, their archives included. */
  log_bytes: number;
  /** The indexes of all workspaces, and of the contents. */
  index_bytes: number;
  /** The rest: stat caches, locks, quarantine, the cache, room in packs that no content uses. */
  other_bytes: number;
  total_bytes: number;
  store: string;
  /** Where it was asked for: contents by what brought them. A content counts once, where it came first. */
  groups?: DuGroupShape[];
}

/** Contents that a session, a path or a time brought. */
export interface DuGroupShape {
  name: string;
  count: number;
  content_bytes: number;
}

export interface GcShape {
  /** Whose space was freed; how much less the store takes. */
  freed_blobs: number;
  freed_bytes: number;
  /** Gone as well, but their bytes stay in packs of which most is still needed, or that are in use: until a `gc` when neither is so. */
  pending_blobs: number;
  pending_bytes: number;
  /** Histories that were forgotten, and are damaged: what they still name was kept. Not there: none is. */
  damaged?: { workspace: string; detail: string }[];
}

export interface RebuildShape {
  events: number;
  entries: number;
  seconds: number;
}

/** What a compaction did. */
export interface CompactShape {
  /** Events that were moved into the archive; 0: there was nothing to do. */
  events_archived: number;
  /** The base on which the log goes on: hash of a content. */
  base: string;
  /** The event with which the log goes on. */
  seq: number;
  /** File name in `archive/`; `null` when nothing was archived, or when it was dropped. */
  archive: string | null;
  /** Events that were removed for good. */
  dropped: number;
}

export interface WorkspaceShape {
  id: string;
  /** As `create` was told, if it was. */
  name?: string;
  /** Empty for one without a folder. */
  path: string;
  roots: string[];
  seq: number;
  created: string;
  last_event: string | null;
  /** Does the folder still exist? True for one without a folder. */
  present: boolean;
  /** It is only read. */
  archived?: true;
  /** Why its history cannot be opened, if so; `seq` and `last_event` are then not known. */
  problem?: string;
}

export interface NotRecordedShape {
  reason: string;
  /** The command that makes everything as it was before the run. */
  hint: string;
}

export interface NotRolledBackShape {
  reason: string;
  paths: string[];
  /** The command that takes them back, or that says more. */
  hint: string;
}

export interface RunShape {
  session: SessionShape;
  changes: ChangeShape[];
  /** Paths that changed while another run was going on too: nobody's, and not taken back with this run. */
  ambiguous: string[];
  coverage: CoverageShape;
  /** Why what the command left could not be recorded (no room, say); `null`: it was. `changes` then lists what was before. */
  not_recorded: NotRecordedShape | null;
  exit_code: number;
  signal: string | null;
  /** Give this to `undo`; `null` when nothing changed. */
  undo_id: string | null;
  /** `--rollback-on-failure` took all changes back. */
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
  /** Small files that git ignores are kept aside before a run, for seven days, so that undo brings them back. */
  keepAside: boolean;
  /**
   * Names of files that are secrets beside those that Chronicle knows (`*` and `?` stand for anything); with `!` in front: is none.
   * What is said here counts for all that was ever recorded under such a name.
   */
  protectedNames: string[];
}

/** Files that are secrets by their names: recorded and brought back like others, and shown to people only. */
export interface ProtectedShape {
  files: number;
  /** The first three of them. */
  first: string[];
}
