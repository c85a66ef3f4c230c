import { join } from "node:path";
import type { Entry } from "../../core/values/entry.ts";
import { HOLDS_ALL, type FolderTraits } from "../../core/tree/folder-traits.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk } from "../../disk/disk.ts";
import { type ApplyContext, TrashBin } from "../apply/apply-ready.ts";
import { type OpenRoot, type ScanContext, scanRoots } from "../scan/scan.ts";
import type {
  ApplyReport,
  ApplyRequest,
  CheckReport,
  CheckRequest,
  Explanation,
  JudgedPath,
  KnownPath,
  OnChanged,
  PathStat,
  ScanReport,
  ScanRequest,
  TrackedRoot,
  WatchHandle,
  WatchHint,
  Worktree,
} from "../worktree.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { childOf, comparePaths, pathInRoot, splitRoot } from "../../core/values/path.ts";
import { applyChanges, checkChanges, cleanUpApply } from "../apply/apply.ts";
import { areStill, unchangedAmong } from "../scan/are-still.ts";
import { dropSharedMemory, liveDatabases, type LiveDatabase, type PlacedFile } from "../live-databases.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import type { UnappliedRules } from "../../core/records/coverage.ts";
import { GitFiles } from "../git/git-files.ts";
import { GitFolders, GitsOwn } from "../git/git-folders.ts";
import type { GitNow } from "../git/git-repository.ts";
import type { GitUser } from "../git/git-settings.ts";
import { EXCLUDE_FILE, gitOf } from "../scan/root-filter.ts";
import { trackedOf } from "../git/root-git.ts";
import { EarlyStage } from "../apply/early-stage.ts";
import { PlainFolders } from "../apply/plain-folders.ts";
import { type GitOfRoot, type Judge, judgeOnDisk, leftOutOnDisk, unreadableNow } from "../scan/explain-on-disk.ts";
import { inspectPath, readPath } from "../files/inspect.ts";
import { holdsPlaces, sweepMet, sweepPlaces, sweepStaging } from "../apply/staging.ts";
import { discardStatCache, loadStatCache, saveStatCache } from "../scan/stat-cache-file.ts";
import type { CacheFile } from "../scan/stat-cache-file.ts";
import type { RestoreWorkers } from "../apply/restore-workers.ts";
import { StatCache } from "../scan/stat-cache.ts";
import { mountsBeneath } from "./mounts-beneath.ts";
import { type RootsWatchHandle, watchRoots } from "./watch.ts";
import { optional } from "../../util/optional.ts";

export interface DiskWorktreeOptions {
  readonly disk: Disk;
  readonly roots: readonly TrackedRoot[];
  /** The file that keeps the stat cache for the next process. The loss of this file does no harm. */
  readonly cacheFile: string;
  /**
   * A folder in the store for staging. The folder is made when it is needed, and is used for the roots on its device.
   */
  readonly staging: string | undefined;
  /** Folders of the store. They are never captured, even if they lie in a tracked folder. */
  readonly storeFolders: readonly string[];
  /** The workspace's id, for the hint of the error about a missing tracked folder. */
  readonly workspace?: string;
  /**
   * Returns the time in milliseconds since the epoch. Must be the clock from which the disk takes the times of files.
   */
  readonly clock: () => number;
  /**
   * The user whose git configuration and ignore files apply. Default: no user. The configuration and ignore files of a
   * repository always apply.
   */
  readonly git?: GitUser | undefined;
  readonly workers?: RestoreWorkers | undefined;
  /** Returns the traits of a folder. Default: the folder can hold everything. */
  readonly traitsOf?: ((folder: string) => FolderTraits) | undefined;
  /**
   * Returns the seq of the last recorded event, for the hint of the error about a missing tracked folder. Default: the
   * hint names no seq.
   */
  readonly recordedSeq?: (() => Promise<number>) | undefined;
  /**
   * The open worktrees of this process, of any workspace. This worktree adds itself. Default: there are no other
   * worktrees.
   *
   * Worktrees with the same `cacheFile` have the same folders. After an apply, the stats of the files that were put
   * into place also enter the stat caches of these worktrees, provided that the stats are certain (`isCertain`). These
   * worktrees then need not read the files.
   */
  readonly openHere?: Set<DiskWorktree> | undefined;
}

/** The stat cache and the state of its file. `seq`: the last event that the saved cache covers. */
interface Loaded {
  readonly cache: StatCache;
  readonly seq: number | undefined;
  readonly file: CacheFile | undefined;
}

/** The folders of a workspace on a disk: see `Worktree`. Loads the stat cache when it is first needed. */
export class DiskWorktree implements Worktree {
  readonly #options: DiskWorktreeOptions;
  #open: readonly OpenRoot[];
  readonly #watches = new Set<RootsWatchHandle>();
  /** The tokens of the applies that have left no files in staging. */
  readonly #clean = new Set<string>();
  readonly #bin = new TrashBin();
  readonly #plain: PlainFolders;
  readonly #git: { readonly files: GitFiles; readonly user: GitUser };
  /** The rules that were not applied in the last full scan. */
  #unapplied: readonly UnappliedRules[] = [];
  #early: EarlyStage | undefined;
  #loaded: Loaded | undefined;
  /** True if the stat cache was loaded from its file, was saved, or was filled by `remember`. */
  #remembered = false;
  /** True once an apply of this object has removed the files that interrupted applies left. */
  #isSwept = false;
  /** The stats of the exclude files (`.git/info/exclude`) of the tracked folders at the last full scan. */
  #excludes: string | undefined;
  /** The mounts in the tracked folders at the last call of `haveMountsMoved`. */
  #mounts: string | undefined;
  /** The folders of the repositories that scans of only some paths have found since the last full scan. */
  readonly #repositoriesMet = new Set<WorkspacePath>();
  /** The staging folders that scans have found. A running apply uses them, or an earlier apply has left them. */
  readonly #stagingMet = new Set<WorkspacePath>();
  /** True once it is known that the store lists no files of interrupted applies in the tracked folders. */
  #holdsNoPlaces = false;
  /** The start of the last scan. Without a time, `remember` assumes that every path was read after that start. */
  #readFloorNs: bigint | undefined;

  constructor(options: DiskWorktreeOptions) {
    this.#options = options;
    this.#plain = new PlainFolders(options.disk);
    this.#git = { files: new GitFiles(options.disk, options.clock), user: options.git ?? {} };
    this.#open = options.roots.map((root) => this.#opened(root, new ConfinedFs(options.disk, root.folder)));
    options.openHere?.add(this);
  }

  get roots(): readonly TrackedRoot[] {
    return this.#open.map(({ root }) => root);
  }

  configure(roots: readonly TrackedRoot[]): void {
    this.#open = this.#open.map(({ root, fs }) => this.#opened(roots.find((one) => one.id === root.id) ?? root, fs));
  }

  traitsOf(path: WorkspacePath): FolderTraits {
    return this.#rootOf(path).open.traits;
  }

  get rememberedSeq(): number | undefined {
    return this.#load().seq;
  }

  async scan(request: ScanRequest, onChanged: OnChanged): Promise<ScanReport> {
    const { disk, storeFolders, workspace, recordedSeq } = this.#options;
    const { cache } = this.#load();
    const startedAtNs = this.#nowNs();
    this.#readFloorNs = startedAtNs;
    const remembered = this.#remembered;
    const known = { cache, remembered, recordedSeq };
    const given = { disk, roots: this.#open, storeFolders, workspace };
    const context = { ...given, ...known, startedAtNs, ...this.#scanned() };
    const excludes = this.#excludesNow();
    const report = await scanRoots(context, request, onChanged);
    if (request.only === undefined) {
      this.#excludes = excludes;
      this.#unapplied = report.unapplied;
      this.#repositoriesMet.clear();
      // Only a full scan finds out which folders the rules leave out. Folders that the rules no longer leave out must
      // be watched from now on.
      for (const watch of this.#watches) watch.looked();
    }
    return { ...report, unapplied: this.#unapplied };
  }

  /** Returns the folders in which repositories began at the last full scan, or at a scan of some paths since then. */
  repositories(): readonly WorkspacePath[] {
    return [...new Set([...this.#load().cache.git.keys(), ...this.#repositoriesMet])];
  }

  haveRulesMoved(): boolean {
    return this.#git.files.moved() || (this.#excludes !== undefined && this.#excludes !== this.#excludesNow());
  }

  /**
   * Returns a text that changes when an exclude file (`.git/info/exclude`) changes. Callers compare two such texts,
   * because the watcher does not watch git folders.
   */
  #excludesNow(): string {
    const stats = this.roots.map(({ folder }) => this.#git.files.peek(join(folder, EXCLUDE_FILE)));
    return stats.map((stat) => [stat?.ino, stat?.size, stat?.mtimeNs, stat?.ctimeNs].join(" ")).join("\n");
  }

  haveMountsMoved(): boolean {
    const folders = this.roots.map(({ folder }) => folder);
    const before = this.#mounts;
    this.#mounts = mountsBeneath(this.#options.disk, folders);
    return before !== undefined && before !== this.#mounts;
  }

  remember(known: Iterable<KnownPath>, readFromNs?: bigint): void {
    const { cache } = this.#load();
    // Before the first scan, the default time is 0, so that a stat from an unknown time is never trusted.
    cache.putAll(known, readFromNs ?? this.#readFloorNs ?? 0n);
    this.#remembered = true;
  }

  forget(paths: readonly WorkspacePath[]): void {
    const { cache } = this.#load();
    for (const path of paths) cache.remove(path);
  }

  forgetAll(): void {
    const cache = new StatCache();
    // The known git folders are kept, because they do not come from the history. Each folder is checked at its next
    // use.
    for (const folder of this.#load().cache.gitFolders.keys()) cache.gitFolders.set(folder, true);
    this.#loaded = { cache, seq: undefined, file: undefined };
    this.#remembered = false;
    discardStatCache(this.#options.disk, this.#options.cacheFile);
  }

  recall(path: WorkspacePath): KnownPath | undefined {
    const known = this.#load().cache.get(path);
    return known === undefined ? undefined : { entry: known.entry, stat: known.stat };
  }

  async areStill(entries: readonly Entry[]): Promise<boolean> {
    const { cache } = this.#load();
    return areStill({ cache, roots: this.#open, rootOf: (path) => this.#rootOf(path) }, entries);
  }

  unchangedAmong(paths: readonly WorkspacePath[]): readonly WorkspacePath[] {
    const { cache } = this.#load();
    return unchangedAmong({ cache, roots: this.#open, rootOf: (path) => this.#rootOf(path) }, paths);
  }

  databases(paths: readonly WorkspacePath[]): readonly LiveDatabase[] {
    const placed = paths.map((path) => this.#placed(path));
    try {
      return liveDatabases(this.#options.disk, placed);
    } finally {
      for (const { fs } of this.#open) fs.release();
    }
  }

  dropDerived(databases: readonly WorkspacePath[]): void {
    try {
      for (const path of databases) dropSharedMemory(this.#placed(path));
    } finally {
      for (const { fs } of this.#open) fs.release();
    }
  }

  #placed(path: WorkspacePath): PlacedFile {
    const { open, inner } = this.#rootOf(path);
    return { path, fs: open.fs, inner };
  }

  async stats(paths: readonly WorkspacePath[]): Promise<readonly PathStat[]> {
    const found: PathStat[] = [];
    try {
      for (const path of paths) {
        const { open, inner } = this.#rootOf(path);
        found.push(statOf(open.fs, inner));
      }
    } finally {
      for (const { fs } of this.#open) fs.release();
    }
    return found;
  }

  /** Saves the stat cache. A failure to write it is ignored, because the next process can read the files again. */
  async save(seq: number): Promise<void> {
    const { cache, file } = this.#load();
    this.#loaded = { cache, seq, file };
    try {
      this.#loaded = {
        cache,
        seq,
        file: saveStatCache(this.#options.disk, this.#options.cacheFile, { cache, seq, file }),
      };
      this.#remembered = true;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }

  async inspect(path: WorkspacePath): Promise<Entry | undefined> {
    const { open, inner } = this.#rootOf(path);
    using fs = open.fs;
    return inspectPath(fs, path, inner)?.entry;
  }

  async read(path: WorkspacePath): Promise<Buffer | undefined> {
    const { open, inner } = this.#rootOf(path);
    using fs = open.fs;
    return readPath(fs, inner);
  }

  async explain(path: WorkspacePath): Promise<Explanation> {
    const { open, inner } = this.#rootOf(path);
    using fs = open.fs;
    const unreadable = unreadableNow(fs, inner);
    const judge = judgeOnDisk(fs, open.root, this.#gitOf(open));
    return { ...judge(inner, statOf(fs, inner)), ...optional({ unreadable }) };
  }

  async judgeAll(paths: readonly WorkspacePath[]): Promise<readonly JudgedPath[]> {
    const judges = new Map<OpenRoot, Judge>();
    const judgeOf = (open: OpenRoot): Judge => {
      const judge = judges.get(open) ?? judgeOnDisk(open.fs, open.root, this.#gitOf(open));
      judges.set(open, judge);
      return judge;
    };
    try {
      return paths.map((path) => {
        const { open, inner } = this.#rootOf(path);
        const stat = statOf(open.fs, inner);
        return { ...judgeOf(open)(inner, stat), stat };
      });
    } finally {
      for (const { fs } of this.#open) fs.release();
    }
  }

  gitTops(): (path: WorkspacePath) => WorkspacePath | undefined {
    const git = this.#gitNow();
    const owns = new Map(this.#open.map((open) => [open.root.id, this.#gitOf(open, git).own]));
    return (path) => {
      const { root, path: inner } = splitRoot(path);
      const top = owns.get(root)?.topOf(inner);
      return top === undefined ? undefined : pathInRoot(root, top);
    };
  }

  async leftOut(paths: readonly WorkspacePath[]): Promise<readonly WorkspacePath[]> {
    const left: WorkspacePath[] = [];
    for (const [, ofRoot] of Map.groupBy(paths, (path) => splitRoot(path).root)) {
      const [first] = ofRoot;
      if (first === undefined) continue;
      const { open } = this.#rootOf(first);
      using fs = open.fs;
      const judge = leftOutOnDisk(fs, open.root, this.#gitOf(open));
      for (const path of ofRoot) if (judge(splitRoot(path).path)) left.push(path);
    }
    return left.sort(comparePaths);
  }

  async check(request: CheckRequest): Promise<CheckReport> {
    return checkChanges(this.#applyContext(), request);
  }

  async apply(request: ApplyRequest): Promise<ApplyReport> {
    // A resumed apply stages its files anew, because the early-staged files may belong to another state.
    const early = request.resume === true ? undefined : this.#early?.take();
    // The system reports a failed sync only once. If this apply does not take the early-staged files, no apply awaits
    // the sync that the early stage has started. Therefore, that sync must end before this apply syncs.
    if (early === undefined) await this.#early?.quiet();
    if (request.begin !== undefined) this.sweepLeft();
    const report = await applyChanges({ ...this.#applyContext(), early }, request);
    if (request.begin !== undefined) this.#sweepOnce();
    // An apply cleans up after itself, so that `cleanUp` has nothing to do. There are two exceptions. The earlier run
    // of a resumed apply may have left files in another place. With `emptiesLater`, the set-aside files are still being
    // removed.
    if (request.resume === true || request.emptiesLater === true) this.#clean.delete(request.token);
    else this.#clean.add(request.token);
    return report;
  }

  mayHoldLeft(): boolean {
    if (this.#isSwept || this.#holdsNoPlaces) return false;
    this.#holdsNoPlaces = !holdsPlaces(this.#options.disk, this.roots, this.#options.staging);
    return !this.#holdsNoPlaces;
  }

  sweepLeft(): void {
    if (this.#isSwept) return;
    sweepPlaces(this.#options.disk, this.roots, this.#options.staging);
    this.#holdsNoPlaces = true;
  }

  #sweepOnce(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    const { disk, staging: candidate } = this.#options;
    sweepStaging(disk, { roots: this.roots, candidate });
    sweepMet(disk, this.roots, { met: this.#stagingMet, nowNs: this.#nowNs() });
    this.#stagingMet.clear();
  }

  /**
   * Returns the early stage of the first root, which stages files before an apply asks for them. Returns `undefined` if
   * that root has an id or is a single file.
   */
  get early(): EarlyStage | undefined {
    const [open] = this.#open;
    if (open === undefined || open.root.id !== undefined || open.root.only !== undefined) return undefined;
    const { disk, staging: candidate } = this.#options;
    return (this.#early ??= new EarlyStage({ disk, open, candidate }));
  }

  async cleanUp(token: string): Promise<void> {
    if (this.#clean.delete(token) || (await this.#bin.emptied(token))) return;
    cleanUpApply(this.#applyContext(), token);
  }

  async watch(onHint: (hint: WatchHint) => void): Promise<WatchHandle> {
    const ignored = (root: TrackedRoot): string[] => this.#unwatched(root);
    const { disk, cacheFile } = this.#options;
    const barrierFolder = `${cacheFile}.watch`;
    const handle = await watchRoots({ disk, barrierFolder, roots: this.roots, ignored, onHint });
    this.#watches.add(handle);
    return handle;
  }

  async close(): Promise<void> {
    this.#options.openHere?.delete(this);
    for (const { fs } of this.#open) fs.release();
    await this.#bin.end();
    for (const handle of this.#watches) await handle.close();
    this.#watches.clear();
  }

  /**
   * Returns the absolute paths of the folders that need no watch. These are the store's folders, and the folders that
   * the last scan excluded and in which git tracks no path.
   */
  #unwatched(root: TrackedRoot): string[] {
    const folders: string[] = this.#options.storeFolders.filter((folder) => folder.startsWith(`${root.folder}/`));
    const { cache } = this.#load();
    const tracked = trackedOf(gitOf(cache, root).map(([, known]) => known));
    for (const [path, names] of cache.excluded) {
      const { root: id, path: inner } = splitRoot(path);
      if (id !== root.id) continue;
      for (const { name, isFolder } of names) {
        const folder = childOf(inner, name);
        if (isFolder && !tracked.hasBeneath(folder)) folders.push(`${root.folder}/${folder}`);
      }
    }
    return folders;
  }

  #applyContext(): ApplyContext {
    const { disk, staging, workers } = this.#options;
    const bin = this.#bin;
    const plain = this.#plain;
    const { cache } = this.#load();
    const nowNs = (): bigint => this.#nowNs();
    return { disk, roots: this.#open, cache, others: this.#othersCaches(), staging, nowNs, workers, plain, bin };
  }

  /**
   * Returns the stat caches of the other open worktrees with the same folders. Leaves out caches that are not loaded or
   * have no remembered state.
   */
  #othersCaches(): readonly StatCache[] {
    const { openHere = [], cacheFile } = this.#options;
    return [...openHere].flatMap((one) => {
      const isOther = one !== this && one.#options.cacheFile === cacheFile && one.#remembered;
      return isOther && one.#loaded !== undefined ? [one.#loaded.cache] : [];
    });
  }

  #nowNs(): bigint {
    return BigInt(Math.floor(this.#options.clock())) * 1_000_000n;
  }

  /**
   * Returns a root with its access to the disk. The traits are read at each use, because another disk may have been
   * mounted since the last use.
   */
  #opened(root: TrackedRoot, fs: ConfinedFs): OpenRoot {
    const { traitsOf = () => HOLDS_ALL } = this.#options;
    return {
      root,
      fs,
      get traits() {
        return traitsOf(root.folder);
      },
    };
  }

  #scanned(): Pick<ScanContext, "git" | "onStaging" | "onRepository"> {
    return {
      git: this.#gitNow(),
      onStaging: (path) => void this.#stagingMet.add(path),
      onRepository: (folder) => void this.#repositoriesMet.add(folder),
    };
  }

  /** Returns the access to git's rules, with the git folders that are on disk now. */
  #gitNow(): GitNow {
    return { ...this.#git, folders: new GitFolders(this.#git.files, this.#load().cache.gitFolders) };
  }

  #gitOf({ root, fs }: OpenRoot, git = this.#gitNow()): GitOfRoot {
    const { cache } = this.#load();
    const isRecorded = (inner: WorkspacePath): boolean => cache.get(pathInRoot(root.id, inner)) !== undefined;
    return { ...git, own: new GitsOwn({ fs, folders: git.folders, isRecorded }) };
  }

  #rootOf(path: WorkspacePath): { readonly open: OpenRoot; readonly inner: WorkspacePath } {
    const { root: id, path: inner } = splitRoot(path);
    const open = this.#open.find(({ root }) => root.id === id);
    if (open === undefined) throw new ChronicleError("PATH_INVALID", `no tracked folder ${JSON.stringify(id)}`);
    return { open, inner };
  }

  #load(): Loaded {
    if (this.#loaded === undefined) {
      const kept = loadStatCache(this.#options.disk, this.#options.cacheFile);
      this.#remembered = kept !== undefined;
      this.#loaded = kept ?? { cache: new StatCache(), seq: undefined, file: undefined };
    }
    return this.#loaded;
  }
}

function statOf(fs: ConfinedFs, inner: WorkspacePath): PathStat {
  try {
    return fs.lstat(inner);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return "unknown";
  }
}
