import type { ConflictShape } from "./conflict-shape.ts";
import type { ProtectedShape } from "./shapes.ts";

/**
 * The way in which a folder and its upstream exchange changes:
 * - `two-way-safe`: in both directions. Contradicting changes become a conflict.
 * - `two-way-resolved`: in both directions. Of contradicting changes, the change of the upstream wins.
 * - `one-way-safe`: only from the upstream to the folder. Changes that are made in the folder stay.
 * - `one-way-replica`: only from the upstream to the folder. Changes that are made in the folder are replaced.
 */
export type SyncMode = "two-way-safe" | "two-way-resolved" | "one-way-safe" | "one-way-replica";

export interface SyncSettings {
  /** Default: the sync's present mode, or `two-way-safe` for a new sync. */
  readonly mode?: SyncMode;
  /**
   * Patterns, as in a `.gitignore`, of paths that are not taken from the upstream. Default: the sync's present
   * patterns; an empty list removes them.
   */
  readonly filterTo?: readonly string[];
  /**
   * Patterns, as in a `.gitignore`, of paths that are not written back. Default: the sync's present patterns; an empty
   * list removes them.
   */
  readonly filterFrom?: readonly string[];
  /**
   * A named filter. It is applied before the patterns of `filterTo` and `filterFrom`. Default: the sync's present named
   * filter, or none.
   */
  readonly policy?: "sandbox";
  /**
   * The treatment of files that editors and desktops make for themselves (backups, swap files, locks, `.DS_Store`).
   * `leave`: each such file stays on the side on which it was made. `sync`: such files are synced in both directions.
   * Default: the sync's present setting, or `leave` for a new sync.
   */
  readonly editorFiles?: "leave" | "sync";
  /**
   * True if files that are secrets by their names (`.env`, `id_rsa`, `*.pem` …) are synced, too. False: each such file
   * stays on the side on which it was made. Default: the sync's present setting, or false for a new sync.
   *
   * With true, the sync needs a person's token or the owner's socket. Otherwise, the origin refuses the replica
   * (`FORBIDDEN`). Turning the setting on later sends the files that were kept back until then. Turning it off deletes
   * nothing.
   */
  readonly withProtected?: boolean;
  /**
   * The time in milliseconds for which a file in the folder must be unchanged before it is recorded. Default: the
   * sync's present setting, or 50 for a new sync. A file that keeps changing is recorded after 20 times `debounceMs`,
   * or after 5 s if 5 s is longer.
   */
  readonly debounceMs?: number;
}

export interface SyncStart extends SyncSettings {
  /**
   * The origin's address: `http://HOST:PORT`, `https://…`, `ws://…`, `wss://…`, or `unix:/PATH` of a replication
   * socket.
   */
  readonly upstream: string;
  /**
   * The id or name of the origin's workspace. Default: the workspace of the folder in which the origin's server was
   * started, or else the origin's only workspace.
   */
  readonly workspace?: string;
  /** The absolute path of the folder. A missing folder is created. If the folder has no history, a history is begun. */
  readonly folder: string;
  /**
   * A bearer token, for an upstream on a port. It is stored in a file in the configuration folder (mode 0600), and
   * never in a log.
   */
  readonly token?: string;
  /** True to allow a home folder, its Desktop, Documents or Downloads, or a system folder. Default: false. */
  readonly force?: boolean;
}

/** The state of a sync. */
export type SyncState = "connecting" | "syncing" | "in-sync" | "offline" | "paused" | "halted" | "stopped";

/** A path whose last change the origin has refused. The path keeps its state in the folder. */
export interface RefusedPathShape {
  path: string;
  path_b64?: string;
  /** A code for programs: `path`, `filtered`, `too-large` … (docs/protocol.md). */
  reason: string;
  /** `why`: the reason in words. `hint`: the next step for a person. */
  why: string;
  hint: string;
}

/**
 * A path that is not synced and stays on its side: a file that an editor or a desktop makes for itself, or the state of
 * a git repository, for example.
 */
export interface LeftOutPathShape {
  path: string;
  path_b64?: string;
  /** The side that has the file. `both`: each side has a file of its own. */
  side: "local" | "upstream" | "both";
}

/** A path of the origin that cannot exist on the folder's disk. `why`: the reason in words. */
export interface NotHeldPathShape extends LeftOutPathShape {
  why: string;
}

/** The progress of a long step of a sync, in numbers of files. If `total` is 0, the total is not known. */
export interface SyncProgressShape {
  phase: "receiving" | "applying" | "sending";
  done: number;
  total: number;
  /** The progress of one large file (more than 2 MiB) that is being transferred, in bytes. */
  bytes?: { done: number; total: number };
}

/** A problem that keeps a sync from its work, and the next step for a person. */
export interface SyncTroubleShape {
  /**
   * A code for programs:
   * - `disk-full`: a disk of this machine is full, or a limit on file sizes was reached.
   * - `no-permission`: a path on this machine cannot be written, because of its permissions or because its file system
   *   is read-only.
   * - `unreachable`: the origin does not answer.
   * - `token-refused`: the origin does not accept the token, or the token does not allow this sync.
   * - `starting`: the origin's server runs, but does not serve the workspace yet.
   */
  kind: "disk-full" | "no-permission" | "unreachable" | "token-refused" | "starting";
  /** `message`: the problem in words. `next`: the next step for a person. */
  message: string;
  next: string;
}

/** A folder that follows an origin's workspace. */
export interface SyncShape {
  /** The id of the folder's own workspace. */
  id: string;
  /** The absolute path of the folder. */
  folder: string;
  /** The origin's address, without a token. */
  upstream: string;
  /** The id of the origin's workspace. Before the origin's first answer, the name or id that was given at the start. */
  workspace: string;
  /** The name or id of the workspace that was given at the start; absent if none was given. */
  asked?: string;
  mode: SyncMode;
  state: SyncState;
  /**
   * True if another process runs the sync, such as `chronicle replicate`. Only that process knows the state of the
   * sync.
   */
  elsewhere?: true;
  /**
   * The reason why the sync is halted, as a code for programs: `root-vanished`, `root-replaced`, `root-emptied`,
   * `mass-deletion`, `forked`, `diverged`, `nested`, or the origin's reason for refusing the replica:
   * `unauthenticated`, `forbidden`, `not_found` …
   */
  halted?: string;
  /**
   * The present problem, if it is of one of the five kinds of `SyncTroubleShape`. Only `reason` and `degraded` describe
   * other problems.
   */
  trouble?: SyncTroubleShape;
  /** The reason why the sync is offline or halted, in words. */
  reason?: string;
  /** The next step for a person. */
  hint?: string;
  /** The same address as `upstream` once the process that runs the sync has reached the origin; `null` until then. */
  peer: string | null;
  /**
   * The time since which the origin's own folder has been missing (ISO-8601, by the origin's clock). Absent if the
   * folder exists or the origin cannot be reached.
   */
  origin_away_since?: string;
  /** The number of the origin's events that have not been applied to the folder yet. */
  lag: number;
  /** The number of the folder's changes to which the origin has not yet replied. */
  pending: number;
  /** The number of open conflicts. */
  conflicts: number;
  /**
   * The number of paths at which the sides will continue to differ: the origin has refused the last change, or the path
   * is not synced.
   */
  kept_back?: number;
  /**
   * The first twenty paths whose last change the origin has refused, in path order. Absent if the token may only read,
   * because the origin then refuses every change. The answer to a `flush` names more paths, even with such a token.
   */
  refused?: RefusedPathShape[];
  /**
   * The number of the `kept_back` paths that are files which editors and desktops make for themselves (`editorFiles`).
   */
  left_out?: number;
  /** The first twenty of the `left_out` paths, in path order. */
  left_out_paths?: LeftOutPathShape[];
  /**
   * The number of the `kept_back` paths that are the state of git repositories. Such a path is named `.git` (or has a
   * name that some disk treats as `.git`), or is a folder in which a git repository beside the synced files keeps its
   * state. Paths beneath such a path are not counted. A history may contain such paths, but they are never replicated.
   */
  git_left_out?: number;
  /** The first twenty of the `git_left_out` paths, in path order. */
  git_left_out_paths?: LeftOutPathShape[];
  /** The number of the `kept_back` paths that are secrets by their names. Each such path stays on its side. */
  secrets?: number;
  /** The first twenty of the `secrets` paths, in path order. */
  secret_paths?: LeftOutPathShape[];
  /**
   * The number of the `kept_back` paths that cannot exist on the folder's disk, such as links and certain names. These
   * paths stay at the origin.
   */
  not_held?: number;
  /** The first twenty of the `not_held` paths, in path order. */
  not_held_paths?: NotHeldPathShape[];
  /**
   * The number of the `kept_back` paths whose content was erased from the folder's history. Such a content is neither
   * recorded nor sent.
   */
  erased?: number;
  /** The first twenty of the `erased` paths, in path order. */
  erased_paths?: LeftOutPathShape[];
  /**
   * True if the mode is a two-way mode, but the token may only read. No change of the folder is then sent to the
   * origin. Absent in the one-way modes, because they never send changes.
   */
  read_only?: true;
  /**
   * True if files that are secrets by their names are synced, too (`withProtected`). Absent: each such file stays on
   * its side.
   */
  with_protected?: true;
  /** The seq of the origin's event up to which the folder is reconciled. */
  applied: number;
  /** The seq of the last event of the origin that the replica has received. */
  head: number;
  /**
   * Only in the answer to the `start` that created the sync: the number of files that the folder had before the sync.
   * Files that the folder's rules or the sync's filters leave out are not counted. Absent if there were no files.
   */
  joined?: number;
  /**
   * Only in the answer to a `start` without `withProtected`: the files in the folder that are secrets by their names,
   * and are therefore not synced. Absent if there are none.
   */
  protected?: ProtectedShape;
  /**
   * A note, for people, on something that only works in part, for example because the system has too few file watches.
   */
  degraded?: string;
  /** The time at which a failed step is tried again (ISO-8601). `flush` and `resume` try the step at once. */
  retry_at?: string;
  /** The progress of a long step, such as the first sync. */
  progress?: SyncProgressShape;
}

/**
 * A decision about an open conflict between a folder and its upstream. The content that is not chosen stays in the
 * history.
 */
export interface SyncResolution {
  /**
   * The state that the path gets on both sides. `local`: the folder's side. `upstream`: the origin's side. `merge`:
   * `content` if it is given, else the merge of both sides.
   */
  readonly keep: "local" | "upstream" | "merge";
  /** The merged content. Only used with `merge`. */
  readonly content?: Uint8Array;
  /**
   * The hashes of both sides on which the decision is based, as `conflicts` returned them. If a side has changed since
   * then, `resolve` throws `REFUSED`. Without `from`, the decision applies to the present sides.
   */
  readonly from?: Pick<ConflictShape, "current_hash" | "undo_hash">;
}

/** The result of settling a conflict. */
export interface SyncResolvedShape {
  id: string;
  path: string;
  kept: "local" | "upstream" | "merge";
  /** The number of conflicts that are still open. */
  conflicts: number;
  /**
   * Present if this conflict is still open: the reason in words. A conflict stays open if the decision removes a folder
   * that has to stay for now. The rest of the decision was carried out.
   */
  still_open?: string;
}

/**
 * An event of a sync. `id`: the id of the sync. The kinds are:
 * - `state`: the state of the sync has changed. `sync` is the new state.
 * - `applied`: the origin's events from `from` to `to` were applied to the folder. `paths`: the number of changed
 *   paths.
 * - `pushed`: the origin has replied to changes of the folder.
 * - `conflict`: a conflict was opened or settled.
 * - `halted`: the sync was halted.
 * - `degraded`: something works only in part.
 */
export type SyncEventShape = { seq: number; id: string; timestamp: string } & (
  | { kind: "state"; sync: SyncShape }
  | { kind: "applied"; from: number; to: number; paths: number }
  /**
   * `accepted` and `rejected`: the numbers of accepted and of rejected changes. `refused`: the number of the rejected
   * changes that the origin has refused for good. The folder keeps these changes. The other rejected changes were
   * overtaken by changes of the origin. The sync reconciles the overtaken changes again.
   */
  | { kind: "pushed"; accepted: number; rejected: number; refused?: number }
  | { kind: "conflict"; path: string; state: "open" | "settled" }
  | { kind: "halted"; reason: string; hint?: string }
  | { kind: "degraded"; reason: string }
);

/** The interface to the syncs of a store within the process that runs them. */
export interface SyncRunner extends SyncApi {
  /**
   * The number of syncs that are not stopped. While this number is not 0, the process keeps running even without
   * clients.
   */
  readonly active: number;
  /** Continues the syncs that were active when the previous process ended. */
  takeUp(): Promise<void>;
  /** Releases all syncs, so that the next process can continue them. */
  close(): Promise<void>;
}

/** A person's decision about a sync that is halted. */
export type SyncDecision = "deletions" | "restore" | "as-new" | "rejoin";

/**
 * Operations on syncs. A sync is a folder that follows a workspace of another store, and writes back to it. One process
 * runs all syncs of a store.
 */
export interface SyncApi {
  /**
   * Starts a sync, or continues the sync of this folder. Resolves once the sync has started, even if the origin cannot
   * be reached. If the origin refuses the sync, throws the origin's error, and changes nothing. Throws `REFUSED` for a
   * folder that follows another workspace, and `USAGE` for invalid options. Throws `UNSAFE` for the folders that `init`
   * refuses and, without `force`, for system folders.
   */
  start(options: SyncStart): Promise<SyncShape>;
  /** Returns all syncs of the store, including stopped ones. */
  list(): Promise<SyncShape[]>;
  /**
   * Returns a sync. In this and the following methods, `id` is the sync's id, a unique prefix of the id, or its folder.
   * These methods throw `NOT_FOUND` for an unknown sync, and `AMBIGUOUS` for a prefix of several ids.
   */
  status(id: string): Promise<SyncShape>;
  /**
   * Stops the sync. The synced files and their history stay, and the sync can be started again. The sync's token is
   * removed.
   */
  stop(id: string): Promise<SyncShape>;
  /** Pauses the sync. Nothing is synced until `resume`, even if the process is restarted. */
  pause(id: string): Promise<SyncShape>;
  /**
   * Resumes the sync. `accept` is the decision about a halted sync:
   * - `deletions`: allows the deletion of the many (or all) files for which the sync was halted.
   * - `restore`: puts these files back.
   * - `as-new`: continues as a new replica. This decision is for a replica that was restored from a backup, or that is
   *   a copy of another replica. In these cases, this folder's history lacks changes that the origin has under the
   *   replica's id. Differences are reconciled and proposed to the origin. Nothing is deleted at the origin.
   * - `rejoin`: continues with an origin that was restored to an earlier state. The folder keeps the changes that the
   *   origin has lost. These changes are reconciled and proposed to the origin. Nothing is deleted on either side. With
   *   this decision, `resume` rejects if the origin cannot be reached.
   *
   * If a halted sync needs a decision and `accept` is absent, `resume` scans the folder again, because deleted files
   * may be back. If the sync halts again, `resume` throws `REFUSED`.
   */
  resume(id: string, options?: { readonly accept?: SyncDecision }): Promise<SyncShape>;
  /**
   * Waits until every earlier change of each side has reached the other side, has become a conflict, or was refused by
   * the origin for good. Throws `REFUSED` after `timeoutMs` (default 60,000), or if the sync is not running.
   *
   * `refused` of the answer names the first 1,000 refused paths, even if the token may only read. Paths that were
   * refused before this call are included if they are still refused. If `refused` is absent, the origin has everything
   * that it should have.
   */
  flush(id: string, options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<SyncShape>;
  /**
   * Returns the open conflicts of a sync. In the names of a conflict's fields, `current` is the folder's side, and
   * `undo` is the upstream's side.
   */
  conflicts(id: string): Promise<ConflictShape[]>;
  /**
   * Settles an open conflict. `path`: the path of the conflict, as `conflicts` returns it. Throws `NOT_FOUND` if the
   * path has no open conflict, and `REFUSED` if the sides do not merge or no longer match `from`.
   */
  resolve(id: string, path: string, resolution: SyncResolution): Promise<SyncResolvedShape>;
  /**
   * Yields the events of all syncs, or of the sync `id`, from now on. The first event of each sync has its present
   * state. Ends when `signal` aborts.
   */
  events(id?: string, signal?: AbortSignal): AsyncIterable<SyncEventShape>;
}
