import type { ConflictShape } from "./conflict-shape.ts";
import type { ProtectedShape } from "./shapes.ts";

/**
 * What a folder and its upstream do with changes of both sides. `two-way-safe`: both ways, what contradicts is a conflict;
 * `two-way-resolved`: both ways, the upstream wins; `one-way-safe`: from the upstream to the folder, what was changed there
 * stays; `one-way-replica`: the folder becomes what the upstream is.
 */
export type SyncMode = "two-way-safe" | "two-way-resolved" | "one-way-safe" | "one-way-replica";

/** How a replica follows its origin, beside where they are. */
export interface SyncSettings {
  /** Default: `two-way-safe`. */
  readonly mode?: SyncMode;
  /** Patterns, as in a `.gitignore`, of what does not come from the upstream. Default: those that there were; an empty list: no longer. */
  readonly filterTo?: readonly string[];
  /** Patterns of what is not written back; the same holds. */
  readonly filterFrom?: readonly string[];
  /** A filter with a name, before those patterns. */
  readonly policy?: "sandbox";
  /**
   * What becomes of the files that editors and desktops make for themselves beside others (backups, swap files, locks, `.DS_Store`).
   * `leave`: each stays on the side on which it was made (the default); `sync`: they go both ways.
   */
  readonly editorFiles?: "leave" | "sync";
  /**
   * Files that are secrets by their names (`.env`, `id_rsa`, `*.pem` …) go both ways, too. Only with a person's token, or on the owner's
   * socket: else the origin turns the replica out (`FORBIDDEN`). Default: as before; at first each stays on the side on which it was
   * made. Asked for later, what was kept back until then goes over; `false`: no longer, and nothing is deleted.
   */
  readonly withProtected?: boolean;
  /**
   * A file in the folder must have been quiet for so long, in milliseconds (default 50). One that is never quiet is taken after 20
   * times as long, and not before 5 s.
   */
  readonly debounceMs?: number;
}

/** What begins a sync. */
export interface SyncStart extends SyncSettings {
  /** Where the origin is: `http://HOST:PORT`, `https://…`, `ws://…`, `wss://…`, or `unix:/PATH` of a replication socket. */
  readonly upstream: string;
  /** The id or name of the origin's workspace; default: the one of the folder that its server was started in, else its only one. */
  readonly workspace?: string;
  /** Absolute. Made where it is not there; a history of its own is begun where there is none. */
  readonly folder: string;
  /** For an upstream on a port: a bearer token. Kept in a file of the configuration folder (0600), never in a log. */
  readonly token?: string;
  /** Also into a home folder, its Desktop, Documents or Downloads, or a folder of the system's. */
  readonly force?: boolean;
}

/** How a sync is doing. */
export type SyncState = "connecting" | "syncing" | "in-sync" | "offline" | "paused" | "halted" | "stopped";

/** A path whose last change the origin has refused: it stays as it is here. */
export interface RefusedPathShape {
  path: string;
  path_b64?: string;
  /** For programs: `path`, `filtered`, `too-large` … (docs/protocol.md). */
  reason: string;
  /** In words; and what to do about it. */
  why: string;
  hint: string;
}

/** What no side has from the other, and stays where it is: a file that an editor or a desktop makes for itself, or a repository's own state. */
export interface LeftOutPathShape {
  path: string;
  path_b64?: string;
  /** The side on which the file is. `both`: each side has one of its own. */
  side: "local" | "upstream" | "both";
}

/** A path of the origin that the folder's disk cannot hold. */
export interface NotHeldPathShape extends LeftOutPathShape {
  why: string;
}

/** How far a long piece of work of a sync is, in files. */
export interface SyncProgressShape {
  phase: "receiving" | "applying" | "sending";
  done: number;
  total: number;
  /** Of a large file that is on its way (more than 2 MiB): so many bytes of how many. */
  bytes?: { done: number; total: number };
}

/** What keeps a sync from its work, and what to do about it. */
export interface SyncTroubleShape {
  /**
   * For programs. `disk-full`: no room on a disk of this side; `no-permission`: something here may not be written, or its file
   * system is read-only; `unreachable`: the origin does not answer; `token-refused`: it does not take the token, or not for this;
   * `starting`: its server is there, and does not serve the workspace yet.
   */
  kind: "disk-full" | "no-permission" | "unreachable" | "token-refused" | "starting";
  /** In words; and what to do next. */
  message: string;
  next: string;
}

/** A folder that follows an origin's workspace. */
export interface SyncShape {
  /** The id of the folder's own workspace. */
  id: string;
  /** Absolute. */
  folder: string;
  /** Without a token. */
  upstream: string;
  /** The origin's workspace: its id, and before the first answer as it was asked for. */
  workspace: string;
  /** The name or id that it was asked for by, if by any. */
  asked?: string;
  mode: SyncMode;
  state: SyncState;
  /** Another process runs it, such as `chronicle replicate`: how it is doing is known there. */
  elsewhere?: true;
  /**
   * Why it is halted, for programs: `root-vanished`, `root-replaced`, `root-emptied`, `mass-deletion`, `diverged`, `nested`, or what the
   * origin refuses it for: `unauthenticated`, `forbidden`, `not_found` …
   */
  halted?: string;
  /** One of the five kinds of trouble that have a next step of their own; others are in `reason` and `degraded` alone. */
  trouble?: SyncTroubleShape;
  /** Why it is offline or halted, in words. */
  reason?: string;
  /** What to do about it. */
  hint?: string;
  /** The origin as it has named itself, or its address; `null`: never reached. */
  peer: string | null;
  /** The origin is reached, but its folder is not there, by its clock since this time (ISO-8601). */
  origin_away_since?: string;
  /** Events of the origin that are not applied to the folder. */
  lag: number;
  /** Changes of the folder that the origin has not answered. */
  pending: number;
  /** Conflicts that are open. */
  conflicts: number;
  /** The number of paths that differ and stay so: the origin has refused their last changes, or they are left out. */
  kept_back?: number;
  /**
   * The first twenty paths that the origin has refused, in path order. Absent where the token may only read: that is the reason for
   * all. The answer to a `flush` names more of them, in that case, too.
   */
  refused?: RefusedPathShape[];
  /** The number of those paths that are files which editors and desktops make for themselves (`editorFiles`). */
  left_out?: number;
  /** The first twenty of them, in path order. */
  left_out_paths?: LeftOutPathShape[];
  /**
   * The number of those paths that are the state of a git repository, by its topmost name (`.git`, or what some disk takes for it),
   * which a history holds all the same: it is never replicated.
   */
  git_left_out?: number;
  /** The first twenty of them, in path order. */
  git_left_out_paths?: LeftOutPathShape[];
  /** The number of those paths that the folder's disk cannot hold, such as links and some names: they stay at the origin. */
  not_held?: number;
  /** The first twenty of them, in path order. */
  not_held_paths?: NotHeldPathShape[];
  /** The number of those paths that hold a content here which was erased: nothing records or sends it. */
  erased?: number;
  /** The first twenty of them, in path order. */
  erased_paths?: LeftOutPathShape[];
  /** The token may only read: nothing of the folder goes to the origin, though the mode would have it so. */
  read_only?: true;
  /** Files that are secrets by their names go both ways, too (`withProtected`). Absent: each stays on its side. */
  with_protected?: true;
  /** The origin's event up to which the folder is reconciled. */
  applied: number;
  /** The last event of the origin that is held here. */
  head: number;
  /** In the answer to the `start` that began it: so many files the folder had already. */
  joined?: number;
  /** In the answer to a `start` without `withProtected`: the folder's files that are secrets by their names, and stay here; absent: none. */
  protected?: ProtectedShape;
  /** Something works, but not as it should: too few watches, for example. */
  degraded?: string;
  /** When a step that has failed is tried again (ISO-8601); `flush` and `resume` try it at once. */
  retry_at?: string;
  /** Of a long piece of work that is going on, such as the first sync. `total` 0: not known. */
  progress?: SyncProgressShape;
}

/** How an open conflict between a folder and its upstream is settled. The other side stays in the history. */
export interface SyncResolution {
  /** `local`: what is in the folder; `upstream`: what the origin has; `merge`: both, as far as they merge, or `content`. */
  readonly keep: "local" | "upstream" | "merge";
  /** With `merge`: what becomes of the file. */
  readonly content?: Uint8Array;
  /**
   * What it was decided about, as `conflicts` has given it: where one side is another one by now, `REFUSED`. Without it a merged content
   * takes the place of whatever both sides are by then.
   */
  readonly from?: Pick<ConflictShape, "current_hash" | "undo_hash">;
}

/** What was settled. */
export interface SyncResolvedShape {
  id: string;
  path: string;
  kept: "local" | "upstream" | "merge";
  /** So many are open still. */
  conflicts: number;
  /** This one is, and why: everything was done but that a folder that is to go has to stay for now. */
  still_open?: string;
}

/** Something that happened to a sync. `sync` is how it was then. */
export type SyncEventShape = { seq: number; id: string; timestamp: string } & (
  | { kind: "state"; sync: SyncShape }
  | { kind: "applied"; from: number; to: number; paths: number }
  /** `refused`: so many of the rejected stay here as they are; the others were overtaken, and are looked at again. */
  | { kind: "pushed"; accepted: number; rejected: number; refused?: number }
  | { kind: "conflict"; path: string; state: "open" | "settled" }
  | { kind: "halted"; reason: string; hint?: string }
  | { kind: "degraded"; reason: string }
);

/** The syncs of a store, as the process that runs them has them. */
export interface SyncRunner extends SyncApi {
  /** How many are not stopped: a process that has some stays, though nobody asks it for anything. */
  readonly active: number;
  /** Goes on with those that were going on when their process ended. */
  takeUp(): Promise<void>;
  /** Lets all of them go; they are taken up again by the next process. */
  close(): Promise<void>;
}

/** A person's decision about a sync that is halted. */
export type SyncDecision = "deletions" | "restore" | "as-new" | "rejoin";

/** Folders that follow workspaces of other stores, and write back to them. One process for a store runs its syncs. */
export interface SyncApi {
  /**
   * Begins to follow, or goes on with what was begun for this folder; resolves once it is under way, which says nothing of
   * the connection. Throws `REFUSED` for a folder that follows something else, `UNSAFE` as `init` does and for
   * folders of the system, `USAGE`.
   */
  start(options: SyncStart): Promise<SyncShape>;
  list(): Promise<SyncShape[]>;
  /** By the id, its unique beginning, or the folder. Throws `NOT_FOUND`. So everywhere below. */
  status(id: string): Promise<SyncShape>;
  /** Ends it. What was synced stays, and its history; it can be started again. */
  stop(id: string): Promise<SyncShape>;
  /** Nothing goes either way until it is resumed, also after a restart. */
  pause(id: string): Promise<SyncShape>;
  /**
   * Goes on. Where it is halted by a deletion of much, or a folder that was emptied: `deletions` lets that happen, `restore`
   * puts the files back; without a decision it looks whether they are back. Throws `REFUSED` where they are not. `as-new`: it goes
   * on as another replica, where the origin knows of changes that this one has never made (it was put back, or is a copy): what
   * differs is proposed, three ways, and nothing is deleted at the origin. `rejoin`: the origin was put back to an earlier state; what
   * it has lost is kept here and proposed to it, three ways, and nothing is deleted on either side. Rejects where it cannot be reached.
   */
  resume(id: string, options?: { readonly accept?: SyncDecision }): Promise<SyncShape>;
  /**
   * Resolves once all that was changed on either side before is on the other one, is a conflict, or was refused by the origin for
   * good: `refused` of the answer names each such path (the first 1,000), also where the token may only read, and those of earlier
   * changes as long as that stands. Absent: the origin has all that it is to have. Throws `REFUSED` after `timeoutMs` (default
   * 60,000), and where it is not under way.
   */
  flush(id: string, options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<SyncShape>;
  /** Those that are open. `current` is the folder's side, `undo` the upstream's. */
  conflicts(id: string): Promise<ConflictShape[]>;
  /** `path` as `conflicts` gives it. Throws `NOT_FOUND`; `REFUSED` with `merge` for what does not merge, and for other sides than `from`. */
  resolve(id: string, path: string, resolution: SyncResolution): Promise<SyncResolvedShape>;
  /** What happens from now on; first the state of each. Of all syncs, or of one. Ends with `signal`. */
  events(id?: string, signal?: AbortSignal): AsyncIterable<SyncEventShape>;
}
