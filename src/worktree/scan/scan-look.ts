import type { Omission, OmissionReason } from "../../core/records/coverage.ts";
import type { FolderTraits } from "../../core/tree/folder-traits.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import { unitDatabaseOf } from "../../core/tree/sqlite-unit.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { isDatabaseFile } from "../files/read-sqlite.ts";
import type { FolderRules, RuleReader } from "./folder-rules.ts";
import { type GitFolders, isTakenIn } from "../git/git-folders.ts";
import type { ScanTally, Weight } from "./scan-tally.ts";
import type { KnownChild, StatCache } from "./stat-cache.ts";
import type { LinkedFile, ScannedPath, TrackedRoot } from "../worktree.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { childOf, MAX_PATH_BYTES } from "../../core/values/path.ts";
import { NO_ROW } from "./stat-table.ts";

export interface RootScanParts {
  readonly root: TrackedRoot;
  readonly fs: ConfinedFs;
  readonly traits: FolderTraits;
  readonly cache: StatCache;
  readonly rules: RuleReader;
  readonly tally: ScanTally;
  readonly startedAtNs: bigint;
  readonly paranoid: boolean;
  /** True if the rules decide about the contents of a named folder (see `ScanRequest.alone`). */
  readonly alone: boolean;
  /**
   * True if only some paths are scanned. In that case, the tally starts with the remembered totals, and only the
   * differences from them are counted.
   */
  readonly partial: boolean;
  /** The stats of the store's own folders. */
  readonly store: readonly FileStat[];
  readonly stat: FileStat;
  readonly gitFolders: GitFolders;
}

/** A folder to be scanned, or a folder above a folder to be scanned. */
export interface FolderWork {
  readonly path: WorkspacePath;
  /** The path beneath the root. */
  readonly inner: WorkspacePath;
  readonly stat: FileStat;
  /** The folder's row in the table of the stat cache, or `NO_ROW`. */
  readonly row: number;
  readonly above: FolderWork | undefined;
  readonly weight: Weight;
  /** The rules for the folder's own children. */
  readonly rules: FolderRules;
  /** False while the folder itself is not tracked, and is walked only because some of its contents may be tracked. */
  tracked: boolean;
  /**
   * True if a request names the folder. Then, no rules apply, and everything in the folder except git's own state is
   * recorded.
   */
  readonly named: boolean;
  /** True if children may change without a change of the folder's times, so that the next scan must list the folder. */
  unsettled: boolean;
  /** The number of new paths in the folder that the limits leave out. */
  overLimit: number;
}

/** A name in a folder, with the data that the stat cache has for the name. */
export interface Found {
  readonly name: string;
  readonly path: WorkspacePath;
  readonly inner: WorkspacePath;
  readonly child: KnownChild | undefined;
  /** True if the path was asked for by name, so that no rule leaves it out. */
  readonly named?: boolean;
  /** True if the folder was held back (see `ScanLook.held`). */
  readonly isHeld?: boolean;
  /** The reason to leave out the path, unless it forms one unit with a database (see `ScannedPath.unlessInUnit`). */
  readonly unlessInUnit?: string;
}

/** The names that exist in every git folder. */
const GIT_NAMES: readonly string[] = ["HEAD", "objects", "refs"];

/** The detail of an omitted git folder, for people. */
export const GITS_DETAIL = "git: a repository's own state";

export type Entering = Pick<FolderWork, "tracked" | "named">;

/**
 * Looks at single names, and collects the results of the scan of a root: changed, gone and omitted paths, and folders
 * to walk.
 */
export class ScanLook {
  readonly #p: RootScanParts;
  readonly folders: FolderWork[] = [];
  /**
   * Folders that look like git folders. These folders are walked last, because the rest of the scan may find a
   * repository that keeps its own state in one of them.
   */
  readonly held: { readonly work: FolderWork; readonly found: Found }[] = [];
  /** Files with several hard links. */
  readonly linked: LinkedFile[] = [];
  readonly gone: WorkspacePath[] = [];
  /** Folders in which an apply stages files or has left staged files. */
  readonly staging: WorkspacePath[] = [];
  readonly omitted: Omission[] = [];
  changed: ScannedPath[] = [];
  looked = 0;

  constructor(parts: RootScanParts) {
    this.#p = parts;
  }

  /** True if the cache remembers an entry of this name, and not only entries beneath it. */
  isKnown(found: Found): boolean {
    return found.child !== undefined && this.#p.cache.kindOf(found.child) !== undefined;
  }

  omit(path: WorkspacePath, reason: OmissionReason, detail: string): void {
    this.omitted.push(detail === "" ? { path, reason } : { path, reason, detail });
  }

  /**
   * True if the file with this name forms one unit with a remembered database, as its `-wal` does. Such a file may have
   * the only copy of committed data, while the database itself is unchanged.
   */
  isOfUnit(work: FolderWork, name: string): boolean {
    const database = unitDatabaseOf(name as WorkspacePath);
    if (database === undefined) return false;
    const { inner, child } = foundIn(work, database, this.#p.cache.child(childOf(work.path, database)));
    if (child === undefined || this.#p.cache.kindOf(child) !== "file") return false;
    try {
      return isDatabaseFile(this.#p.fs, inner);
    } catch (error) {
      // The scan of the database itself reports that the database cannot be read.
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }

  /**
   * Looks at a tracked name. `byPath`: true if the cache knows the name, so that a `peek` is enough unless something
   * has changed.
   */
  look(work: FolderWork, found: Found, byPath: boolean): void {
    this.looked += 1;
    let stat = this.statOf(work, found, byPath);
    if (byPath && typeof stat === "object" && !this.#isAsKnown(found, stat)) stat = this.statOf(work, found, false);
    if (stat === "omitted") return;
    if (stat === undefined) this.missing(work, found.child);
    else if (stat.kind === "dir") this.#lookAtFolder(work, found, stat);
    else this.#lookAtLeaf(work, found, stat);
  }

  /**
   * Returns the stat of a path. If the path is too long or the stat cannot be read, notes an omission and returns
   * `omitted`.
   */
  statOf(work: FolderWork, found: Found, byPath: boolean): FileStat | undefined | "omitted" {
    const { fs } = this.#p;
    try {
      if (byPath) return fs.peek(found.inner);
      if (isTooLong(found.inner)) return this.#skip(work, found, "name-too-long", "");
      return fs.lstat(found.inner);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      return this.#skip(work, found, "unreadable", errno);
    }
  }

  /** Reports a name that the cache knows, and everything beneath it, as gone. */
  missing(work: FolderWork, child: KnownChild | undefined): void {
    if (child === undefined) return;
    this.#goneBeneath(work, child);
    if (this.#p.cache.kindOf(child) === undefined) return;
    this.gone.push(child.path);
    if (this.#p.partial) this.#p.tally.count(work.weight, -1, -this.#p.cache.bytesOf(child));
  }

  enter(above: FolderWork, found: Found, stat: FileStat, how: Entering): void {
    const { tally, rules } = this.#p;
    const { tracked, named } = how;
    this.folders.push({
      path: found.path,
      inner: found.inner,
      stat,
      row: found.child?.row ?? NO_ROW,
      above,
      weight: tally.weigh(found.path, above.weight),
      rules: above.rules.enter(found.inner, rules.read(found.inner, this.#mayHoldGit(found, stat))),
      tracked,
      named,
      unsettled: false,
      overLimit: 0,
    });
  }

  /**
   * True if the folder may hold a `.git`. If the folder is unchanged since it was last listed, the cache has the
   * answer.
   */
  #mayHoldGit({ path, child }: Found, { mtimeNs, ctimeNs, ino, dev }: FileStat): boolean {
    const { cache } = this.#p;
    const listing = cache.listing(path, child?.row ?? NO_ROW);
    const isSame =
      listing !== undefined &&
      !listing.racy &&
      listing.mtimeNs === mtimeNs &&
      listing.ctimeNs === ctimeNs &&
      listing.ino === ino &&
      listing.dev === dev;
    if (!isSame || this.#p.paranoid) return true;
    const isLeftOut = cache.excluded.get(path)?.some(({ name }) => name === ".git") === true;
    return isLeftOut || cache.child(childOf(path, ".git")) !== undefined;
  }

  #lookAtFolder(work: FolderWork, found: Found, stat: FileStat): void {
    if (this.#isNoFolderOfOurs(work, found, stat) || this.#isHeld(work, found)) return;
    const fits = this.isKnown(found) || this.#admit(work, 0);
    if (fits) this.#p.tally.count(work.weight, ...this.#difference(found, 0));
    if (fits && !this.#isAsKnown(found, stat)) this.#report(work, { path: found.path, stat });
    const named = work.named || (found.named === true && !this.#p.alone);
    this.enter(work, found, stat, { tracked: true, named });
  }

  /**
   * True for a folder of the store, for a folder on another device, and for a git folder that is not recorded. Notes
   * such a folder as omitted.
   */
  #isNoFolderOfOurs(work: FolderWork, found: Found, stat: FileStat): boolean {
    const { store, stat: root } = this.#p;
    if (store.some((own) => own.ino === stat.ino && own.dev === stat.dev)) {
      this.#skip(work, found, "store", "Chronicle's own store");
    } else if (stat.dev !== root.dev) this.#skip(work, found, "other-device", `device ${stat.dev}`);
    else if (!this.isKnown(found) && this.isGits(work, found, stat)) this.#skip(work, found, "excluded", GITS_DETAIL);
    else return false;
    return true;
  }

  /**
   * True if the folder is a git folder, whatever its name. False if a rule includes the folder by its name, or if the
   * folder lies in another git folder.
   */
  isGits(work: FolderWork, { name, path }: Found, stat: FileStat): boolean {
    const { gitFolders } = this.#p;
    if (!gitFolders.has(stat) || isTakenIn(path, work.rules.scope.judge(name, true))) return false;
    for (let above: FolderWork | undefined = work; above !== undefined; above = above.above)
      if (gitFolders.has(above.stat)) return false;
    return true;
  }

  /** Holds back a new folder that looks like a git folder. Returns true if the folder was held back. */
  #isHeld(work: FolderWork, found: Found): boolean {
    if (found.isHeld === true || found.named === true || work.named || this.isKnown(found)) return false;
    if (!GIT_NAMES.every((name) => this.#isThere(childOf(found.inner, name)))) return false;
    work.unsettled = true;
    this.held.push({ work, found: { ...found, isHeld: true } });
    return true;
  }

  /**
   * Looks at a folder that was held back. If a working tree anywhere is linked to the folder, git uses the folder, so
   * it counts as a git folder.
   */
  lookAtHeld({ work, found }: { readonly work: FolderWork; readonly found: Found }): void {
    const { root, gitFolders } = this.#p;
    if (this.#hasNames(childOf(found.inner, "worktrees"))) gitFolders.add(`${root.folder}/${found.inner}`);
    this.look(work, found, false);
  }

  #hasNames(folder: WorkspacePath): boolean {
    try {
      return this.#p.fs.list(folder).length > 0;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }

  #isThere(path: WorkspacePath): boolean {
    try {
      return this.#p.fs.peek(path) !== undefined;
    } catch (error) {
      // If the folder allows no access, the walk will report its contents as unreadable.
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }

  #lookAtLeaf(work: FolderWork, found: Found, stat: FileStat): void {
    const { cache, tally, paranoid } = this.#p;
    const { child } = found;
    const kind = child === undefined ? undefined : cache.kindOf(child);
    const bytes = stat.kind === "file" ? stat.size : 0;
    if (stat.kind === "file" && stat.nlink > 1)
      this.linked.push({ path: found.path, inode: `${stat.dev}:${stat.ino}` });
    if (child !== undefined && kind === stat.kind && !paranoid && cache.isUnchanged(child, stat)) {
      tally.count(work.weight, ...this.#difference(found, bytes));
      return;
    }
    if (stat.kind === "special") {
      this.#skip(work, found, "special", "a pipe, a socket or a device: listed, never opened");
      this.missing(work, child);
      return;
    }
    // Even a file may have remembered paths beneath it. An interrupted capture may have recorded that a folder became a
    // file, but not that the folder's contents are gone.
    if (child !== undefined) this.#goneBeneath(work, child);
    this.#lookAtChanged(work, found, stat);
  }

  #lookAtChanged(work: FolderWork, found: Found, stat: FileStat): void {
    const { maxFileSize } = this.#p.root.limits;
    const bytes = stat.kind === "file" ? stat.size : 0;
    if (maxFileSize > 0 && bytes > maxFileSize) {
      this.#skip(work, found, "too-large", `${bytes} bytes; the limit is ${maxFileSize}`);
      return;
    }
    // A file that forms one unit with a database is always admitted, because the database is incomplete without it.
    const isAdmitted = this.isKnown(found) || this.isOfUnit(work, found.name) || this.#admit(work, bytes);
    if (!isAdmitted) return;
    const scanned = stat.kind === "symlink" ? this.#withTarget(work, found, stat) : scannedFile(found, stat);
    if (scanned === undefined) return;
    this.#p.tally.count(work.weight, ...this.#difference(found, bytes));
    this.#report(work, scanned);
  }

  #withTarget(work: FolderWork, found: Found, stat: FileStat): ScannedPath | undefined {
    try {
      return { path: found.path, stat, target: this.#p.fs.readlink(found.inner) };
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      // The link was replaced after its stat was read. The next scan looks at the path again.
      this.#skip(work, found, "unstable", errno);
      return undefined;
    }
  }

  /** True if the stat proves that a path is as the cache knows it. */
  #isAsKnown(found: Found, stat: FileStat): boolean {
    const { cache } = this.#p;
    const { child } = found;
    if (child === undefined || cache.kindOf(child) !== stat.kind) return false;
    if (stat.kind !== "dir") return cache.isUnchanged(child, stat);
    return !this.#p.traits.modes || cache.modeOf(child) === stat.mode;
  }

  /** True if the limits have room for a new path. Otherwise, counts the path as over the limit. */
  #admit(work: FolderWork, bytes: number): boolean {
    if (this.#p.tally.admits(bytes)) return true;
    work.overLimit += 1;
    this.#p.tally.count(work.weight, 1, bytes);
    return false;
  }

  #report(work: FolderWork, scanned: ScannedPath): void {
    this.track(work);
    this.changed.push(scanned);
  }

  /** Makes a folder and the folders above it tracked, because something in the folder is tracked. */
  track(work: FolderWork): void {
    if (work.tracked) return;
    work.tracked = true;
    if (work.above !== undefined) this.track(work.above);
    this.changed.push({ path: work.path, stat: work.stat });
    this.#p.tally.count(work.weight, 1, 0);
  }

  #goneBeneath(work: FolderWork, child: KnownChild): void {
    const { cache, partial, tally } = this.#p;
    for (const path of cache.beneath(child.path, child.row)) {
      this.gone.push(path);
      const inner = partial ? cache.child(path) : undefined;
      if (inner !== undefined) tally.count(work.weight, -1, -cache.bytesOf(inner));
    }
  }

  #difference(found: Found, bytes: number): [number, number] {
    const { child } = found;
    if (!this.#p.partial || child === undefined || !this.isKnown(found)) return [1, bytes];
    return [0, bytes - this.#p.cache.bytesOf(child)];
  }

  #skip(work: FolderWork, found: Found, reason: OmissionReason, detail: string): "omitted" {
    work.unsettled = true;
    this.omit(found.path, reason, detail);
    return "omitted";
  }
}

export function foundIn(work: FolderWork, name: string, child: KnownChild | undefined): Found {
  const path = child?.path ?? childOf(work.path, name);
  return { name, path, inner: work.path === work.inner ? path : childOf(work.inner, name), child };
}

function scannedFile({ path, unlessInUnit }: Found, stat: FileStat): ScannedPath {
  if (unlessInUnit === undefined) return { path, stat };
  return { path, stat, unlessInUnit: { path, reason: "excluded", detail: unlessInUnit } };
}

function isTooLong(path: WorkspacePath): boolean {
  return path.length * 3 > MAX_PATH_BYTES && Buffer.byteLength(path) > MAX_PATH_BYTES;
}
