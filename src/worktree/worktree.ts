import type { Change, Entry } from "../core/values/entry.ts";
import type { Omission, UnappliedRules } from "../core/records/coverage.ts";
import type { CaptureLimits, FilterOptions, FilterSpec, Verdict } from "../core/filter/filter.ts";
import type { FolderTraits } from "../core/tree/folder-traits.ts";
import type { Hash } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { FileStat, Owner } from "../disk/disk.ts";
import type { LiveDatabase } from "./live-databases.ts";

/**
 * The files of a workspace where people and agents edit them. Backends: `DiskWorktree` (folders on a disk),
 * `MemoryWorktree`, `HostedWorktree` (no folder: the files are only in the history).
 *
 * Contract
 * - Every path is resolved beneath its root without following links, at the time of use. Outside of the roots, no file
 *   of the user is written or removed, and only the files that determine git's rules are read.
 * - The worktree remembers the last known state of the disk (path, stat, entry). A file or link counts as unchanged,
 *   and is not reported, only if kind, mode, size, mtime_ns, ctime_ns, inode and device are equal and the path is not
 *   racily clean (see `ScanReport.startedAtNs`). A folder counts as unchanged if its mode is equal.
 * - A tracked path stays tracked until it is gone. A filter can leave out a path only before the path is tracked. Other
 *   reasons, such as `too-large`, also leave out the present state of a tracked path.
 * - Special files are listed in the omissions and never opened. Folders of other devices are not entered.
 * - `scan` reports a path as gone only if it has seen that nothing is there. Paths beneath an omitted folder are not
 *   reported as gone.
 * - `apply` changes only the paths of the request, and each path only while it still equals `before`.
 */
export interface Worktree {
  readonly roots: readonly TrackedRoot[];
  /**
   * Replaces the filters and limits of the roots, from the next scan on. The roots themselves must stay the same. A
   * running watch keeps the old filters.
   */
  configure(roots: readonly TrackedRoot[]): void;
  /** The seq that was last passed to `save`, by this process or an earlier one; `undefined` if nothing is saved. */
  readonly rememberedSeq: number | undefined;
  /** Returns the current traits of the root folder that contains a path. */
  traitsOf(path: WorkspacePath): FolderTraits;
  /**
   * Compares the disk with the remembered state. During the scan, passes the paths that must be read to `onChanged`, in
   * batches. Changes neither the disk nor the remembered state of paths.
   */
  scan(request: ScanRequest, onChanged: OnChanged): Promise<ScanReport>;
  /**
   * Remembers the state of paths on disk. Must be called after this state was recorded. `readFromNs`: a time, in ns
   * since the epoch, before any of these paths was read. Default: the start of the last scan.
   */
  remember(known: Iterable<KnownPath>, readFromNs?: bigint): void;
  /** Forgets paths that are gone or must be read again. */
  forget(paths: readonly WorkspacePath[]): void;
  /** Forgets everything, including the saved state, so that the next scan reads every path. */
  forgetAll(): void;
  /** Returns the remembered state of a path. */
  recall(path: WorkspacePath): KnownPath | undefined;
  /**
   * True if stats prove that these files and links are on disk as their entries say, so that a scan would find no
   * change. Costs one `lstat` per entry. Always false if a folder is among the entries.
   */
  areStill(entries: readonly Entry[]): Promise<boolean>;
  /**
   * Returns the paths whose stats prove that their files or links are as remembered, so that a scan would find no change
   * there. Leaves out all folders, and all files that decide which other paths are tracked. Returns no path on a disk
   * whose stats do not reveal every edit.
   */
  unchangedAmong(paths: readonly WorkspacePath[]): readonly WorkspacePath[];
  /**
   * Returns the stat of each path, whether tracked or not: `undefined` if nothing is there, `unknown` if the stat
   * cannot be read.
   */
  stats(paths: readonly WorkspacePath[]): Promise<readonly PathStat[]>;
  /**
   * Returns the SQLite databases among the paths. Each has the list of the processes that have the database open, as
   * far as this user can see such processes.
   */
  databases(paths: readonly WorkspacePath[]): readonly LiveDatabase[];
  /** Removes the shared-memory files (`-shm`) beside these databases. SQLite rebuilds them. */
  dropDerived(databases: readonly WorkspacePath[]): void;
  /** Saves the remembered state for the next process. `seq`: the last event that this state covers. */
  save(seq: number): Promise<void>;

  /**
   * Returns the entry of what is at a path on disk now. Hashes the content of a file. Returns `undefined` if nothing or
   * a special file is there.
   */
  inspect(path: WorkspacePath): Promise<Entry | undefined>;
  /**
   * Reads the current content of a file of at most 8 MiB, or a link's target; `undefined` for anything else. The
   * content may have changed since the path was last inspected, so the caller must compare the content's hash.
   */
  read(path: WorkspacePath): Promise<Buffer | undefined>;
  /**
   * Explains whether a path would be tracked by the rules that are now on disk, and why. Also says whether the path can
   * be read.
   */
  explain(path: WorkspacePath): Promise<Explanation>;
  /**
   * Returns the verdict of the rules that are now on disk on each path, and the stat of each path. Reads the rules of
   * each folder only once, and opens no file.
   */
  judgeAll(paths: readonly WorkspacePath[]): Promise<readonly JudgedPath[]>;
  /**
   * True if a source of rules outside of the workspace's files has changed since the last full scan. Such sources are
   * an ignore file above a root, the user's own ignore file, a repository's exclude file, git's configuration, and the
   * list of the paths that git tracks. A watcher does not report their changes. False before the first full scan.
   */
  haveRulesMoved(): boolean;
  /**
   * True if something was mounted or unmounted in a tracked folder since the last call; false at the first call. A
   * watcher does not report a mount, and continues to watch the folders that the mount hides.
   */
  haveMountsMoved(): boolean;
  /**
   * Returns a function that finds the outermost git folder (a folder with git's own state, such as `.git`) that is, or
   * contains, a path. The function returns `undefined` if there is no such folder, or if the folder is recorded like
   * other folders. The function recognises git folders by device and inode, whatever their names. The function looks up
   * each folder only once, so `gitTops` must be called again after changes.
   */
  gitTops(): (path: WorkspacePath) => WorkspacePath | undefined;
  /**
   * Returns the paths that the current rules leave out. The result is in path order if `paths` is in path order. Fast
   * even for many paths.
   */
  leftOut(paths: readonly WorkspacePath[]): Promise<readonly WorkspacePath[]>;

  /**
   * Predicts the report of an `apply` of these changes. The report blocks a path whose state is no longer `before`, a
   * path whose folder is missing, and a folder to be removed that holds something else. If the disk has too little
   * space, the report blocks all paths. Changes nothing, and reads no contents from the store. Does not find errors
   * that only an attempt to write reveals. Checks permissions to write only if `permissions` is true.
   */
  check(request: CheckRequest): Promise<CheckReport>;
  /** Changes paths from `before` to `after`. See `ApplyRequest`. */
  apply(request: ApplyRequest): Promise<ApplyReport>;
  /**
   * Removes the staging and trash folders of an earlier `apply` with this token. The files that `ApplyReport.conflicts`
   * names stay.
   */
  cleanUp(token: string): Promise<void>;
  /**
   * True if the store has notes of staged files that an interrupted apply may have left in tracked folders. `sweepLeft`
   * or the next apply removes these files.
   */
  mayHoldLeft(): boolean;
  /**
   * Removes the staged files that interrupted applies left in tracked folders. The store's notes name these files. The
   * caller must hold the lock of the workspace.
   */
  sweepLeft(): void;

  /**
   * Calls `onHint` with hints of possible changes, until the handle is closed. Only a scan finds the actual changes.
   */
  watch(onHint: (hint: WatchHint) => void): Promise<WatchHandle>;
  close(): Promise<void>;
}

/** The verdict of the rules on a path. `unreadable`: the errno if the file or folder cannot be opened. */
export interface Explanation extends Verdict {
  readonly unreadable?: string;
}

/** The verdict of the rules on a path, and the stat of the path. */
export interface JudgedPath extends Verdict {
  readonly stat: PathStat;
}

/** A folder (or one file in it) that a workspace tracks. */
export interface TrackedRoot {
  /** `undefined` for the first root, whose paths have no prefix. Paths of further roots carry the id. */
  readonly id: string | undefined;
  /** Absolute path of the folder, with links resolved; `""` if there is none (`HostedWorktree`). */
  readonly folder: string;
  /** For a root that is a single file: the name of this file. No other name in the folder is tracked. */
  readonly only?: string;
  readonly filter: FilterOptions;
  readonly limits: CaptureLimits;
}

/** Receives paths to be read. The scan waits for the returned promise, so that the scan does not outrun the reader. */
export type OnChanged = (batch: readonly ScannedPath[]) => unknown;

export interface ScanRequest {
  /** True to read every path again, even if its stat shows no change. */
  readonly paranoid?: boolean;
  /**
   * The paths to scan, with all paths beneath them: for example, the paths that a watcher has reported. Default:
   * everything.
   */
  readonly only?: readonly WorkspacePath[];
  /**
   * True to capture the paths of `only`, and the paths beneath them, even if a filter excludes them, because somebody
   * asked for these paths by name. Git's own state is never captured.
   */
  readonly named?: boolean;
  /**
   * With `named`: true to override the rules only for the paths of `only` themselves. The rules decide about the paths
   * beneath them.
   */
  readonly alone?: boolean;
  /**
   * True to scan only the paths of `only` and the paths beneath them. If false, the scan adds more paths: the whole
   * folder of each ignore file in `only`, and all contents of each new folder above a path of `only`. Default: the
   * value of `named`.
   */
  readonly exact?: boolean;
  /** With `named`: true to capture the folders above a path of `only` even if nothing is at that path. */
  readonly holders?: boolean;
  /**
   * The meaning of a missing tracked folder.
   *
   * - Default: unknown, because a disk may not be mounted. The scan throws `NOT_FOUND`.
   * - `removed`: everything in the folder counts as gone. Chronicle has run a command since the folder was last seen,
   *   and the command may have removed the folder.
   * - `known`: accepted if nothing in the folder is remembered, because nothing can then be gone. Otherwise, the scan
   *   throws `NOT_FOUND`.
   */
  readonly absentRoot?: "removed" | "known";
  /**
   * The ids of roots that the caller found on another device or mount than before. The scan itself adds the roots whose
   * remembered device differs. If one of these roots does not have its remembered files, the scan throws `NOT_FOUND`,
   * because a mount may be missing. `accepted`: missing paths count as gone, whatever the device of a root is.
   */
  readonly elsewhere?: ReadonlySet<string | undefined> | "accepted";
  /** Called from time to time with the number of paths scanned. */
  readonly onProgress?: (paths: number) => void;
}

/** A path on disk that is new, differs from the remembered state, or cannot be trusted to be unchanged. */
export interface ScannedPath {
  readonly path: WorkspacePath;
  readonly stat: FileStat;
  /** The target of a link. */
  readonly target?: Buffer;
  /**
   * The omission to report for this path, unless the path belongs to an SQLite database (such as the `-wal` file of a
   * tracked database). Set if a rule excludes the path, or if the path lies beside a root that is a single file.
   */
  readonly unlessInUnit?: Omission;
}

/** The stat of a path; `undefined` if nothing is there; `unknown` if the stat cannot be read. */
export type PathStat = FileStat | undefined | "unknown";

/**
 * A path on disk as it was recorded: the entry, and the stat that the path had both before and after its content was
 * read.
 */
export interface KnownPath {
  readonly entry: Entry;
  readonly stat: FileStat;
}

/** A name of a file that has several hard links. */
export interface LinkedFile {
  readonly path: WorkspacePath;
  /**
   * A text that is equal for all names of one file, and differs from the text of any other file that exists at the same
   * time.
   */
  readonly inode: string;
}

export interface ScanReport {
  /**
   * False if nothing was remembered, as at the first scan or after a loss of the cache. Every path was then passed to
   * `onChanged`.
   */
  readonly remembered: boolean;
  /** Remembered paths that are no longer on disk, children before their folders. */
  readonly gone: readonly WorkspacePath[];
  readonly omitted: readonly Omission[];
  /**
   * The names under which the scan found tracked files with several hard links. If such a file is written through a
   * hard link outside of the workspace, no watcher reports this.
   */
  readonly linked: readonly LinkedFile[];
  /** The rules that are not applied, and why, as found by the last full scan. */
  readonly unapplied: readonly UnappliedRules[];
  /** The current filter of each root, in the order of `roots`. */
  readonly filters: readonly FilterSpec[];
  /**
   * The number of tracked paths on disk now, including new paths that a limit for the whole root leaves out. `bytes` is
   * the total size of these paths.
   */
  readonly entries: number;
  readonly bytes: number;
  /** The limits that were exceeded, with the heaviest folders (path, entries, bytes), heaviest first. */
  readonly exceeded: readonly LimitExcess[];
  /**
   * The time at which the scan began, in ns since the epoch, by the disk's clock. The time is cut to whole
   * milliseconds, so a file that was made just before the scan can have a later time. A path is racily clean if its
   * mtime or ctime is `startedAtNs` minus two seconds, or later. The stat of such a path may not reveal a later change.
   */
  readonly startedAtNs: bigint;
}

export interface LimitExcess {
  readonly limit: keyof CaptureLimits;
  readonly allowed: number;
  readonly found: number;
  readonly heaviest: readonly { readonly path: WorkspacePath; readonly entries: number; readonly bytes: number }[];
}

/** A content of any size, read in pieces. It has the same shape as a `BlobReader`. */
export interface ContentReader {
  readonly size: number;
  /** Reads the content from its beginning. This method can be called several times. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** The policy for a path that cannot be changed (see `ApplyRequest.onBlocked`). */
export type OnBlocked = "fail" | "skip" | "skip-changed";

export interface ApplyRequest {
  /**
   * Names the staging and trash folders of this `apply`, so that a later process can finish the `apply` or clean up
   * after it.
   */
  readonly token: string;
  /**
   * The changes, in any order. `apply` makes folders before their contents, and deletes at the end: contents first,
   * then their folders.
   */
  readonly changes: readonly Change[];
  /**
   * Yields the contents with these hashes, in an order that suits the store. Called first with the needed hashes whose
   * contents no worker thread reads. Called again with the hashes of the files that the worker threads did not stage.
   */
  readonly contents: (hashes: Iterable<Hash>) => AsyncIterable<readonly [Hash, ContentReader | undefined]>;
  /**
   * The policy for a path that cannot be changed (`BlockReason`).
   *
   * - `fail`: nothing is changed and `applied` is empty, except for changes that could not be undone.
   * - `skip`: the path stays as it is, and is listed in `blocked`.
   * - `skip-changed`: like `skip` for paths that were changed meanwhile, and like `fail` for every other reason.
   *
   * Under every policy, a folder to be removed stays if it still holds unknown files. Such a folder is listed in
   * `blocked`, but prevents no other change, because nothing is lost if the folder stays.
   */
  readonly onBlocked: OnBlocked;
  /**
   * Sets of paths that change together or not at all: the files of one SQLite database. If one path is blocked, the
   * other paths of its set are blocked, too. A path of a set may have equal `before` and `after`. Such a path is
   * checked once more, just before the other paths are put into place.
   */
  readonly together?: readonly (readonly WorkspacePath[])[];
  /**
   * Makes durable the intent and anything else that must be durable before the first visible change. Called once, after
   * all checks, unless a blocked path prevents all changes. New files may be staged before and during the call, but
   * nothing is put into place before `begin` resolves. If `begin` throws, its error is rethrown. If `begin` throws or
   * is never called, nothing was changed, except that a missing tracked folder may have been made.
   */
  readonly begin?: () => Promise<void>;
  /**
   * True to finish an interrupted apply. A path is then not blocked in a state that the interrupted apply may have
   * left: equal to `after`, absent, or a folder whose mode is not set yet.
   */
  readonly resume?: boolean;
  /** True to give files their recorded modification times instead of the present time. */
  readonly keepMtime?: boolean;
  /**
   * Mode bits that are never set on disk. A folder that already has such bits keeps them. Default: setuid, setgid and
   * sticky for files, and setuid for folders.
   */
  readonly maskMode?: number;
  /**
   * True to remove the files in the trash folders in the background, after `apply` has resolved. `cleanUp` waits until
   * they are removed. Default: `apply` removes them before it resolves.
   */
  readonly emptiesLater?: boolean;
  /**
   * Called from time to time with the number of changes that are done, and the number of all changes. While files are
   * staged, each staged file counts as done.
   */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * The reason why a path was not changed.
 *
 * - `changed`: the state of the path is not `before`, or somebody changed the path meanwhile.
 * - `no-folder`: the folder that should contain the path is missing, or something else is in its place, and no change
 *   of the request makes this folder.
 * - `not-empty`: a folder to be removed still holds something.
 * - `not-permitted`: the system does not permit the change, or refuses the name.
 * - `content-missing`: the new content is missing or damaged in the store.
 * - `outside`: there is a link, or something else than a folder, on the way to the path.
 * - `no-space`: the disk has too little space for the new contents.
 * - `busy`: the path is in use, or another file system is mounted there.
 * - `not-held`: the file system cannot hold the entry. The path stays as it is and is listed, whatever `onBlocked`
 *   says.
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
  /** Another file of the same database, if this path is blocked only because that file is blocked. */
  readonly with?: WorkspacePath;
}

export interface CheckRequest extends Pick<ApplyRequest, "changes" | "onBlocked" | "maskMode" | "together"> {
  /** True to check the permissions to write, too. Default: false. */
  readonly permissions?: boolean;
}

/** The paths that an `apply` would change, and those that would be blocked. */
export type CheckReport = Pick<ApplyReport, "applied" | "blocked">;

export interface ApplyReport {
  /**
   * Paths that now equal `after`, durably. The worktree remembers them. After a failed apply, these are the paths whose
   * changes could not be undone, and the worktree does not remember them.
   */
  readonly applied: readonly WorkspacePath[];
  readonly blocked: readonly BlockedPath[];
  /** Files that somebody wrote while `apply` replaced or removed them. The written file is kept at `keptAt`. */
  readonly conflicts: readonly { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
  /**
   * Applied folders whose mode differs from the requested mode, because the folder inherited bits or kept its own bits.
   */
  readonly inherited?: readonly Entry[];
  /**
   * Applied files whose owner or group differs from the owner or group of the replaced file, each with the owner of the
   * replaced file.
   */
  readonly lostOwners?: readonly ({ readonly path: WorkspacePath } & Owner)[];
  /** With `keepMtime`: applied files whose time differs from the wanted time, each with the difference in ns. */
  readonly inexactTimes?: readonly { readonly path: WorkspacePath; readonly offNs: bigint }[];
}

/**
 * A hint of possible changes at these paths. If `paths` is `undefined`, changes may be anywhere, so everything must be
 * scanned.
 */
export interface WatchHint {
  readonly paths: readonly WorkspacePath[] | undefined;
}

export interface WatchHandle {
  /**
   * True while hints may be missing (limits of the system, a shared file system), so that the caller should scan more
   * often.
   */
  readonly degraded: boolean;
  /**
   * Resolves to true once `onHint` was called for all changes that were made before this call. Resolves to false if
   * hints may have been lost, so that everything must be scanned.
   */
  settled(): Promise<boolean>;
  close(): Promise<void>;
}
