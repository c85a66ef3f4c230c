import type { Change } from "../core/values/change.ts";
import type { Omission, UnappliedRules } from "../core/records/coverage.ts";
import type { Entry } from "../core/values/entry.ts";
import type { CaptureLimits, FilterOptions, FilterSpec, Verdict } from "../core/filter/filter.ts";
import type { FolderTraits } from "../core/tree/folder-traits.ts";
import type { Hash } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { FileStat, Owner } from "../disk/disk.ts";
import type { LiveDatabase } from "./live-databases.ts";

/**
 * The files of a workspace where people and agents edit them.
 *
 * Backends: `DiskWorktree` (folders on a disk), `MemoryWorktree`, `HostedWorktree` (no folder: the record stands for it).
 *
 * Contract
 * - Every path is resolved beneath its root without following links, at the time of use. Nothing outside is ever
 *   opened, written or removed.
 * - The worktree remembers what it last knew to be on disk (path, stat, entry). A path is unchanged only if size,
 *   mtime_ns, ctime_ns, inode and device are equal and it is not racily clean; it is then not reported.
 * - Once tracked, tracked until it is gone: a filter keeps out new paths; it never drops one that is remembered.
 * - Special files are listed in the omissions and never opened. Folders of other devices are not entered.
 * - `scan` never says that a path is gone when it could not look: what lies beneath an omitted folder stays as it was.
 * - `apply` changes only the paths it is given, and each only while it still is what `before` says.
 */
export interface Worktree {
  readonly roots: readonly TrackedRoot[];
  /** The same roots with other filters and limits: they hold from the next scan on. A watch that goes on keeps its own. */
  configure(roots: readonly TrackedRoot[]): void;
  /** The seq that `save` was last given, in this process or an earlier one; `undefined`: nothing was kept. */
  readonly rememberedSeq: number | undefined;
  /** What the folder of this path's root can hold, as it is now. */
  traitsOf(path: WorkspacePath): FolderTraits;
  /**
   * Compares the disk with what is remembered. `onChanged` gets what must be read, in batches, while the scan goes on.
   * Changes nothing on disk and nothing that is remembered.
   */
  scan(request: ScanRequest, onChanged: OnChanged): Promise<ScanReport>;
  /**
   * Takes note of what is known to be on disk, after it was recorded. `readFromNs`: nothing of it was read earlier; by default, since the
   * last scan began.
   */
  remember(known: Iterable<KnownPath>, readFromNs?: bigint): void;
  /** Forgets paths (they are gone, or must be read again). */
  forget(paths: readonly WorkspacePath[]): void;
  /** Forgets everything, what was kept too: all is read again. */
  forgetAll(): void;
  /** What is remembered of a path. */
  recall(path: WorkspacePath): KnownPath | undefined;
  /**
   * Are these files and links on disk, each certainly as its entry says: would a scan of them find nothing? Costs one look at each.
   * False where that cannot be told so cheaply; of folders never.
   */
  areStill(entries: readonly Entry[]): Promise<boolean>;
  /** The stat of each path, whether it is tracked or not: `undefined` where nothing is, `unknown` where it cannot be told. */
  stats(paths: readonly WorkspacePath[]): Promise<readonly PathStat[]>;
  /** Those of the paths that are SQLite databases now, with the processes that have them open, as far as can be seen. */
  databases(paths: readonly WorkspacePath[]): readonly LiveDatabase[];
  /** Removes what SQLite has derived beside these databases, and makes anew: their shared memory. */
  dropDerived(databases: readonly WorkspacePath[]): void;
  /** Keeps what is remembered, for the next process. `seq`: the event up to which it knows the record. */
  save(seq: number): Promise<void>;

  /** Reads the entry now on disk, hashing a file's content; `undefined` if there is nothing (or something special). */
  inspect(path: WorkspacePath): Promise<Entry | undefined>;
  /**
   * The content now on disk of a file of at most 8 MiB, or a link's target; `undefined` for anything else. Nothing says
   * that it is what was seen a moment ago: compare its hash.
   */
  read(path: WorkspacePath): Promise<Buffer | undefined>;
  /** Why a path would or would not be tracked, from the rules on disk now; and whether what is there can be read. */
  explain(path: WorkspacePath): Promise<Explanation>;
  /**
   * Has a source of rules changed that is no file of the workspace (an ignore file above a root, the user's own, what git is told, what
   * it tracks) since the last look at everything? A watcher does not tell of these. False before the first look.
   */
  haveRulesMoved(): boolean;
  /**
   * Names the outermost folder of git's own that holds a path, or is it: by device and inode, whatever it is called. Folders are looked
   * at once each: ask anew for what is there later.
   */
  gitTops(): (path: WorkspacePath) => WorkspacePath | undefined;
  /** Those of these files that the rules leave out as they are now, in their order. For many at once. */
  leftOut(paths: readonly WorkspacePath[]): Promise<readonly WorkspacePath[]>;

  /**
   * What an `apply` of these changes would report now: paths that were changed, have no folder, or are folders that hold something
   * else are blocked, and too little room blocks all. Changes nothing, and does not ask for contents. What only a write shows
   * is not told: permissions to write neither, unless `permissions` asks for what the system says of them beforehand.
   */
  check(request: CheckRequest): Promise<CheckReport>;
  /** Brings paths from `before` to `after`. See `ApplyRequest`. */
  apply(request: ApplyRequest): Promise<ApplyReport>;
  /** Removes what an earlier `apply` with this token has left behind (staging, trash); conflict copies stay. */
  cleanUp(token: string): Promise<void>;
  /** May an apply that was cut off have left something in the folders? Until `sweepLeft` or an apply has taken it away. */
  mayHoldLeft(): boolean;
  /** Removes what such an apply has left. The caller holds the lock of the workspace. */
  sweepLeft(): void;

  /** Hints of what may have changed; the truth is always a scan. */
  watch(onHint: (hint: WatchHint) => void): Promise<WatchHandle>;
  close(): Promise<void>;
}

/** The verdict of the rules on a path. `unreadable`: the errno of opening the file or folder that is there now. */
export interface Explanation extends Verdict {
  readonly unreadable?: string;
}

/** A folder (or one file in it) that a workspace tracks. */
export interface TrackedRoot {
  /** `undefined` for the first root: its paths stand alone; those of further roots are marked with the id. */
  readonly id: string | undefined;
  /** Absolute path of the folder, links resolved; `""` where there is none (`HostedWorktree`). */
  readonly folder: string;
  /** Track only this name in the folder: a root that is a single file. */
  readonly only?: string;
  readonly filter: FilterOptions;
  readonly limits: CaptureLimits;
}

/** Gets a batch of what must be read. The scan goes on when the promise resolves: so readers keep up with it. */
export type OnChanged = (batch: readonly ScannedPath[]) => unknown;

export interface ScanRequest {
  /** Read everything again, whatever its stat says. */
  readonly paranoid?: boolean;
  /** Look only at these paths and what is beneath them (hints of a watcher). Default: everything. */
  readonly only?: readonly WorkspacePath[];
  /** Take what is at and beneath `only` although a filter keeps it out: somebody has named it. Git's own state is never taken so. */
  readonly named?: boolean;
  /** With `named`: take the folders on the way to `only`, too, where nothing is at the path itself. */
  readonly holders?: boolean;
  /**
   * What a tracked folder counts as that is not there. Default: nobody knows (a disk may not be mounted), and `NOT_FOUND`
   * is thrown. `removed`: a command of ours ran since it was seen, and all that was in it is gone. `known`: it was recorded
   * as empty, and is so still; where anything is remembered in it, `NOT_FOUND` is thrown.
   */
  readonly absentRoot?: "removed" | "known";
  /**
   * The roots (by id) that lie on another device, or behind another mount, than they did: where nothing of what is remembered is
   * found in one, `NOT_FOUND` is thrown, since something is not mounted. `accepted`: what is gone is gone, wherever they lie.
   * Default: what is remembered of their devices tells.
   */
  readonly elsewhere?: ReadonlySet<string | undefined> | "accepted";
  /** Called now and then with the number of paths looked at. */
  readonly onProgress?: (paths: number) => void;
}

/** Something on disk that is new, or differs from what is remembered, or cannot be trusted to be unchanged. */
export interface ScannedPath {
  readonly path: WorkspacePath;
  readonly stat: FileStat;
  /** The target of a symlink. */
  readonly target?: Buffer;
}

/** The result of looking at one path. */
export type PathStat = FileStat | undefined | "unknown";

/** What is known to be on disk: the stat seen before and after its content was read, and the entry recorded for it. */
export interface KnownPath {
  readonly entry: Entry;
  readonly stat: FileStat;
}

export interface ScanReport {
  /** False: nothing was remembered (first scan, or the cache was lost): every path was handed to `onChanged`. */
  readonly remembered: boolean;
  /** Remembered paths that are no longer there, children before their folders. */
  readonly gone: readonly WorkspacePath[];
  readonly omitted: readonly Omission[];
  /** Rules that are not applied, and why, by the last look at everything. */
  readonly unapplied: readonly UnappliedRules[];
  /** The filter in force, one per root, in the order of `roots`. */
  readonly filters: readonly FilterSpec[];
  /** Tracked paths and bytes on disk now. */
  readonly entries: number;
  readonly bytes: number;
  /** The limits that were passed, with the folders that weigh most (path, entries, bytes), heaviest first. */
  readonly exceeded: readonly LimitExcess[];
  /** When the scan began, in ns since the epoch by the disk's clock: files touched later are racily clean. */
  readonly startedAtNs: bigint;
}

export interface LimitExcess {
  readonly limit: keyof CaptureLimits;
  readonly allowed: number;
  readonly found: number;
  readonly heaviest: readonly { readonly path: WorkspacePath; readonly entries: number; readonly bytes: number }[];
}

/** Content of any size, by pieces (structurally a `BlobReader`). */
export interface ContentReader {
  readonly size: number;
  pieces(): AsyncIterable<Uint8Array>;
}

/** What becomes of an apply when a path cannot be changed (see `ApplyRequest.onBlocked`). */
export type OnBlocked = "fail" | "skip" | "skip-changed";

export interface ApplyRequest {
  /** Names the staging and trash folders of this run, so that a later process can finish or clean up. */
  readonly token: string;
  /** In any order; `apply` orders them: folders first, files, deletions last, children before their folders. */
  readonly changes: readonly Change[];
  /** Reads contents; called once with every hash that is needed, yields them in the order that suits the store. */
  readonly contents: (hashes: Iterable<Hash>) => AsyncIterable<readonly [Hash, ContentReader | undefined]>;
  /**
   * A path that cannot be changed (edited meanwhile, not permitted, a folder that holds unknown files, content
   * missing): `fail` = nothing at all is changed and `applied` is empty; `skip` = it is left alone and listed;
   * `skip-changed` = `skip` for what was changed meanwhile, `fail` for every other reason. A folder that was to go and still
   * holds something unknown is left alone and listed either way: nothing is lost by its staying.
   */
  readonly onBlocked: OnBlocked;
  /**
   * Makes durable what is to stand before the first change that anybody can see. Called once where something is to be changed,
   * after everything was looked at; what is new may be staged beside it, but nothing is put into place before it resolves.
   * What it throws is thrown on: then nothing was changed. Never called, everything is as it was.
   */
  readonly begin?: () => Promise<void>;
  /** Finishing an interrupted apply: a path that is absent, or already `after`, is not blocked. */
  readonly resume?: boolean;
  /** Give files the recorded modification time instead of the present. */
  readonly keepMtime?: boolean;
  /**
   * Permission bits that are never set on disk, and stay as they are in a folder that is there. Default: setuid, setgid and sticky; in
   * folders setuid alone.
   */
  readonly maskMode?: number;
  /** What was set aside goes beside what else is done, and `cleanUp` waits for that. Default: it is gone when this resolves. */
  readonly emptiesLater?: boolean;
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * `no-folder`: its folder is not there, or something else stands in its place, and the changes do not make it. `not-held`: the
 * file system has no such thing; it is left alone and listed whatever `onBlocked` says.
 */
export type BlockReason =
  | "changed"
  | "no-folder"
  | "not-empty"
  | "not-permitted"
  | "content-missing"
  | "outside"
  | "no-space"
  | "busy"
  | "not-held";

export interface BlockedPath {
  readonly path: WorkspacePath;
  readonly reason: BlockReason;
  readonly detail: string;
}

/** Changes that an `apply` is asked about. */
export interface CheckRequest extends Pick<ApplyRequest, "changes" | "onBlocked" | "maskMode"> {
  readonly permissions?: boolean;
}

/** What an `apply` would do, and what would be in its way. */
export type CheckReport = Pick<ApplyReport, "applied" | "blocked">;

export interface ApplyReport {
  /** Paths that are now `after`, durable, and remembered. */
  readonly applied: readonly WorkspacePath[];
  readonly blocked: readonly BlockedPath[];
  /** Somebody wrote at the last moment: their bytes were kept under another name. */
  readonly conflicts: readonly { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
  /** Folders among the applied that have other bits of the mode than they were asked for with: inherited ones, or their own. */
  readonly inherited?: readonly Entry[];
  /** Files that belong to another user or group than the ones that they have replaced, and those. */
  readonly lostOwners?: readonly ({ readonly path: WorkspacePath } & Owner)[];
}

/** `paths` undefined: hints were lost, everything must be scanned. */
export interface WatchHint {
  readonly paths: readonly WorkspacePath[] | undefined;
}

export interface WatchHandle {
  /** True while hints may be missed (watch limits, overflow): the caller scans more often. */
  readonly degraded: boolean;
  /**
   * Resolves when everything that happened before the call has been hinted at. False: that cannot be said here, or hints
   * were lost: only a scan of everything tells.
   */
  settled(): Promise<boolean>;
  close(): Promise<void>;
}
