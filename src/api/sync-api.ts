import type { ConflictShape } from "./conflict-shape.ts";
import type { ProtectedShape } from "./shapes.ts";

/**
 * The ways in which a folder and its upstream exchange changes. `two-way-safe`: both ways; contradicting changes become
 * a conflict. `two-way-resolved`: both ways; the upstream wins. `one-way-safe`: from the upstream to the folder;
 * changes in the folder stay. `one-way-replica`: the folder becomes what the upstream is.
 */
export type SyncMode = "two-way-safe" | "two-way-resolved" | "one-way-safe" | "one-way-replica";

/** Settings of how a replica follows its origin. */
export interface SyncSettings {
  /** Default: `two-way-safe`. */
  readonly mode?: SyncMode;
  /**
   * Patterns, as in a `.gitignore`, of paths that do not come from the upstream. Default: the patterns so far; an empty
   * list removes them.
   */
  readonly filterTo?: readonly string[];
  /** Patterns of paths that are not written back. Default: the patterns so far; an empty list removes them. */
  readonly filterFrom?: readonly string[];
  /** A named filter, applied before the patterns of `filterTo` and `filterFrom`. */
  readonly policy?: "sandbox";
  /**
   * The treatment of files that editors and desktops make for themselves beside others (backups, swap files, locks,
   * `.DS_Store`). `leave`: each stays on the side on which it was made (the default). `sync`: they go both ways.
   */
  readonly editorFiles?: "leave" | "sync";
  /**
   * True if files that are secrets by their names (`.env`, `id_rsa`, `*.pem` …) go both ways, too. This needs a
   * person's token or the owner's socket; else the origin refuses the replica (`FORBIDDEN`). Default: the setting so
   * far; initially, each such file stays on the side on which it was made. If it is turned on later, files kept back
   * until then are sent. Turning it off deletes nothing.
   */
  readonly withProtected?: boolean;
  /**
   * The time for which a file in the folder must have been unchanged before it is taken, in milliseconds (default 50).
   * A file that keeps changing is taken after 20 times this time, but not before 5 s.
   */
  readonly debounceMs?: number;
}

/** Options for starting a sync. */
export interface SyncStart extends SyncSettings {
  /**
   * The origin's address: `http://HOST:PORT`, `https://…`, `ws://…`, `wss://…`, or `unix:/PATH` of a replication
   * socket.
   */
  readonly upstream: string;
  /**
   * The id or name of the origin's workspace. Default: the workspace of the folder that its server was started in, else
   * its only one.
   */
  readonly workspace?: string;
  /** The folder, absolute. It is created if it is missing, and a history is created for it if it has none. */
  readonly folder: string;
  /**
   * A bearer token, for an upstream on a port. It is kept in a file of the configuration folder (0600), never in a log.
   */
  readonly token?: string;
  /** Allows a home folder, its Desktop, Documents or Downloads, or a system folder. */
  readonly force?: boolean;
}

/** The state of a sync. */
export type SyncState = "connecting" | "syncing" | "in-sync" | "offline" | "paused" | "halted" | "stopped";

/** A path whose last change the origin has refused. It stays as it is here. */
export interface RefusedPathShape {
  path: string;
  path_b64?: string;
  /** A code for programs: `path`, `filtered`, `too-large` … (docs/protocol.md). */
  reason: string;
  /** The reason in words, and what to do about it. */
  why: string;
  hint: string;
}

/**
 * A path that is not synced and stays where it is: a file that an editor or a desktop makes for itself, or a
 * repository's own state.
 */
export interface LeftOutPathShape {
  path: string;
  path_b64?: string;
  /** The side that has the file. `both`: each side has a file of its own. */
  side: "local" | "upstream" | "both";
}

/** A path of the origin that the folder's disk cannot hold. */
export interface NotHeldPathShape extends LeftOutPathShape {
  why: string;
}

/** The progress of a long step of a sync, in files. */
export interface SyncProgressShape {
  phase: "receiving" | "applying" | "sending";
  done: number;
  total: number;
  /** The bytes done and in total of a large file (more than 2 MiB) that is being transferred. */
  bytes?: { done: number; total: number };
}

/** A problem that keeps a sync from its work, and what to do about it. */
export interface SyncTroubleShape {
  /**
   * A code for programs. `disk-full`: no room on a disk of this side, or a limit of file sizes. `no-permission`:
   * something here may not be written, or its file system is read-only. `unreachable`: the origin does not answer.
   * `token-refused`: the origin does not accept the token, or not for this. `starting`: its server runs, and does not
   * serve the workspace yet.
   */
  kind: "disk-full" | "no-permission" | "unreachable" | "token-refused" | "starting";
  /** The problem in words, and what to do next. */
  message: string;
  next: string;
}

/** A folder that follows an origin's workspace. */
export interface SyncShape {
  /** The id of the folder's own workspace. */
  id: string;
  /** Absolute. */
  folder: string;
  /** The origin's address, without a token. */
  upstream: string;
  /** The id of the origin's workspace; before the first answer, the name or id that was asked for. */
  workspace: string;
  /** The name or id by which the workspace was asked for; absent if none was given. */
  asked?: string;
  mode: SyncMode;
  state: SyncState;
  /** Another process runs the sync, such as `chronicle replicate`; only that process knows its state. */
  elsewhere?: true;
  /**
   * The reason why the sync is halted, as a code for programs: `root-vanished`, `root-replaced`, `root-emptied`,
   * `mass-deletion`, `diverged`, `nested`, or the origin's reason for refusing it: `unauthenticated`, `forbidden`,
   * `not_found` …
   */
  halted?: string;
  /**
   * The present trouble, if it is one of the five kinds with a next step of their own. Other trouble is only in
   * `reason` and `degraded`.
   */
  trouble?: SyncTroubleShape;
  /** The reason why the sync is offline or halted, in words. */
  reason?: string;
  /** The next step for a person. */
  hint?: string;
  /** The origin's name for itself, or its address; `null`: it was never reached. */
  peer: string | null;
  /**
   * The time since which the origin's folder has been missing although the origin is reached, by the origin's clock
   * (ISO-8601).
   */
  origin_away_since?: string;
  /** The number of the origin's events that are not applied to the folder. */
  lag: number;
  /** The number of the folder's changes that the origin has not answered. */
  pending: number;
  /** The number of open conflicts. */
  conflicts: number;
  /**
   * The number of paths that differ and stay so, because the origin has refused their last changes or they are left
   * out.
   */
  kept_back?: number;
  /**
   * The first twenty paths that the origin has refused, in path order. Absent if the token may only read: that is the
   * reason for every path. The answer to a `flush` names more of them, also with a token that may only read.
   */
  refused?: RefusedPathShape[];
  /**
   * The number of the `kept_back` paths that are files that editors and desktops make for themselves (`editorFiles`).
   */
  left_out?: number;
  /** The first twenty of these paths, in path order. */
  left_out_paths?: LeftOutPathShape[];
  /**
   * The number of the `kept_back` paths that are the state of a git repository, by its topmost name (`.git`, or a name
   * that some disk treats as the same). A history may hold them, but they are never replicated.
   */
  git_left_out?: number;
  /** The first twenty of these paths, in path order. */
  git_left_out_paths?: LeftOutPathShape[];
  /** How many of the `kept_back` paths are secrets by their names: each stays on its side. */
  secrets?: number;
  /** The first twenty of these paths, in path order. */
  secret_paths?: LeftOutPathShape[];
  /**
   * The number of the `kept_back` paths that the folder's disk cannot hold, such as links and some names. They stay at
   * the origin.
   */
  not_held?: number;
  /** The first twenty of these paths, in path order. */
  not_held_paths?: NotHeldPathShape[];
  /** The number of the `kept_back` paths that have a content that was erased here: it is neither recorded nor sent. */
  erased?: number;
  /** The first twenty of these paths, in path order. */
  erased_paths?: LeftOutPathShape[];
  /** True if the token may only read: no change of the folder is sent to the origin, whatever the mode. */
  read_only?: true;
  /**
   * True if files that are secrets by their names go both ways, too (`withProtected`). Absent: each stays on its side.
   */
  with_protected?: true;
  /** The origin's event up to which the folder is reconciled. */
  applied: number;
  /** The last event of the origin that is held here. */
  head: number;
  /** In the answer to the `start` that created the sync: the number of files that the folder had already. */
  joined?: number;
  /**
   * In the answer to a `start` without `withProtected`: the folder's files that are secrets by their names, and stay
   * here. Absent if there are none.
   */
  protected?: ProtectedShape;
  /** A note on something that works only in part: too few watches, for example. */
  degraded?: string;
  /** The time at which a failed step is tried again (ISO-8601); `flush` and `resume` try it at once. */
  retry_at?: string;
  /** The progress of a long step, such as the first sync. `total` 0: unknown. */
  progress?: SyncProgressShape;
}

/** A decision on an open conflict between a folder and its upstream. The other side stays in the history. */
export interface SyncResolution {
  /** `local`: the folder's side. `upstream`: the origin's side. `merge`: both, as far as they merge, or `content`. */
  readonly keep: "local" | "upstream" | "merge";
  /** With `merge`: the merged content. */
  readonly content?: Uint8Array;
  /**
   * The hashes of both sides that the decision is about, as `conflicts` returned them. Throws `REFUSED` if one side has
   * changed since. Without `from`, merged content replaces whatever both sides are by then.
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
   * The reason why this conflict is still open: everything was done, but a folder that should be removed has to stay
   * for now.
   */
  still_open?: string;
}

/** An event of a sync. `sync` is its state at that time. */
export type SyncEventShape = { seq: number; id: string; timestamp: string } & (
  | { kind: "state"; sync: SyncShape }
  | { kind: "applied"; from: number; to: number; paths: number }
  /**
   * `refused`: the number of rejected changes that stay here as they are. The others were overtaken, and are reconciled
   * again.
   */
  | { kind: "pushed"; accepted: number; rejected: number; refused?: number }
  | { kind: "conflict"; path: string; state: "open" | "settled" }
  | { kind: "halted"; reason: string; hint?: string }
  | { kind: "degraded"; reason: string }
);

/** The syncs of a store, in the process that runs them. */
export interface SyncRunner extends SyncApi {
  /** The number of syncs that are not stopped. A process that has any keeps running without clients. */
  readonly active: number;
  /** Continues the syncs that were active when their process ended. */
  takeUp(): Promise<void>;
  /** Releases all syncs; the next process takes them up again. */
  close(): Promise<void>;
}

/** A person's decision about a sync that is halted. */
export type SyncDecision = "deletions" | "restore" | "as-new" | "rejoin";

/** Folders that follow workspaces of other stores, and write back to them. One process for a store runs its syncs. */
export interface SyncApi {
  /**
   * Starts a sync, or continues the one of this folder. Resolves once it has started, whether or not the origin is
   * connected. Throws `REFUSED` for a folder that follows something else, `UNSAFE` as `init` does and for system
   * folders, and `USAGE` for invalid options.
   */
  start(options: SyncStart): Promise<SyncShape>;
  list(): Promise<SyncShape[]>;
  /** Returns a sync. `id`, here and below: its id, a unique prefix of the id, or its folder. Throws `NOT_FOUND`. */
  status(id: string): Promise<SyncShape>;
  /** Stops the sync. The synced files and their history stay, and it can be started again. */
  stop(id: string): Promise<SyncShape>;
  /** Pauses the sync: nothing goes either way until it is resumed, also after a restart. */
  pause(id: string): Promise<SyncShape>;
  /**
   * Resumes the sync. `accept` decides about a halted sync. `deletions` allows the deletion of many files, or of all,
   * that halted it; `restore` puts the files back. Without a decision, checks whether the files are back, and throws
   * `REFUSED` if they are not. `as-new`: continues as another replica, for an origin that knows changes which this
   * replica never made (because the replica was restored from a backup, or is a copy). Differences are reconciled and
   * proposed to the origin; nothing is deleted there. `rejoin`: for an origin that was restored to an earlier state.
   * The part that the origin has lost is kept here, reconciled and proposed to it; nothing is deleted on either side.
   * Rejects if the origin cannot be reached.
   */
  resume(id: string, options?: { readonly accept?: SyncDecision }): Promise<SyncShape>;
  /**
   * Resolves once every earlier change of either side is on the other side, is a conflict, or was refused by the origin
   * for good. `refused` of the answer names each refused path (the first 1,000), also if the token may only read, and
   * includes earlier changes as long as their refusal stands. If `refused` is absent, the origin has everything that it
   * should have. Throws `REFUSED` after `timeoutMs` (default 60,000), or if the sync is not running.
   */
  flush(id: string, options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<SyncShape>;
  /** Returns the open conflicts. `current` is the folder's side, `undo` the upstream's. */
  conflicts(id: string): Promise<ConflictShape[]>;
  /**
   * Settles a conflict. `path`: as `conflicts` returns it. Throws `NOT_FOUND`, and `REFUSED` if `merge` cannot merge
   * the sides or they no longer match `from`.
   */
  resolve(id: string, path: string, resolution: SyncResolution): Promise<SyncResolvedShape>;
  /** Yields events from now on, of all syncs or of one, beginning with the state of each. Ends with `signal`. */
  events(id?: string, signal?: AbortSignal): AsyncIterable<SyncEventShape>;
}
