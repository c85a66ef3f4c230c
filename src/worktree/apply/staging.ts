import { type WorkspacePath, childOf, decodeName, ROOT, splitRoot } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import type { OpenRoot } from "../scan/scan.ts";
import { NOT_EMPTY } from "../../core/values/errno.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { folderOf } from "../../disk/write-fully.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { FolderPlaces } from "../files/folder-places.ts";
import { removeTree } from "../files/remove-staged.ts";
import { STAGING_FOLDER } from "../../core/tree/staging-folder.ts";
import type { RestoreWorkers } from "./restore-workers.ts";
import type { TrackedRoot } from "../worktree.ts";

interface StagingNames {
  readonly prefix: string;
  readonly root: string;
  readonly own: string;
}

const TOKEN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/**
 * The staging folder of one apply, on the device of the root. The folder holds the apply's new files (`new/<n>`) and
 * the old files that the apply set aside (`old/<n>`). The staging folder lies in the store if the store is on the
 * device of the root; else in `<root>/.chronicle-tmp/`. New files that must be made in a particular folder are staged
 * in that folder itself (`places`).
 */
export class Staging {
  /**
   * `fresh` and `trash` are two views of the same folder, so that alternating between new and old files does not reopen
   * folders.
   */
  readonly fresh: ConfinedFs;
  readonly trash: ConfinedFs;
  readonly places: FolderPlaces;
  readonly #disk: Disk;
  readonly #base: string;
  readonly #prefix: WorkspacePath;
  readonly #inRoot: boolean;
  #hasLinks: boolean | undefined;

  /** `root`: the tracked folder, absolute; `own`: the name of this apply's staging. */
  constructor(disk: Disk, base: string, { prefix, root, own }: StagingNames) {
    this.fresh = new ConfinedFs(disk, base);
    this.trash = new ConfinedFs(disk, base);
    this.#disk = disk;
    this.#base = base;
    this.#prefix = prefix as WorkspacePath;
    const noteFolder = childOf(this.#prefix, "places");
    this.places = new FolderPlaces({ disk, root, own, notes: this.fresh, noteFolder });
    this.#inRoot = prefix.startsWith(`${STAGING_FOLDER}/`);
  }

  newPath(name: string): WorkspacePath {
    return `${this.#prefix}/new/${name}` as WorkspacePath;
  }

  oldPath(name: string): WorkspacePath {
    return `${this.#prefix}/old/${name}` as WorkspacePath;
  }

  /** The file that notes temporarily loosened modes. */
  get notePath(): WorkspacePath {
    return `${this.#prefix}/modes` as WorkspacePath;
  }

  /**
   * Makes the folders, and empties `new`. `keepsOld`: true for a resumed apply, which needs the old files of the
   * interrupted run. Without `keepsOld`, `prepare` also empties `old`. Nothing is lost, because no apply with this
   * token has changed anything yet: `old` has only second names (hard links) of files that are still in place.
   */
  prepare(keepsOld: boolean): void {
    this.places.clear();
    for (const name of keepsOld ? ["new"] : ["new", "old"]) removeTree(this.fresh, childOf(this.#prefix, name));
    this.#makeFolders();
  }

  #makeFolders(): void {
    let folder = ROOT;
    for (const name of this.#prefix.split("/")) {
      folder = childOf(folder, name);
      makeIfMissing(this.fresh, folder);
    }
    makeIfMissing(this.fresh, childOf(this.#prefix, "new"));
    makeIfMissing(this.fresh, childOf(this.#prefix, "old"));
  }

  /** True if the staging folder exists, made by this apply or an interrupted one. */
  exists(): boolean {
    return this.fresh.lstat(this.#prefix) !== undefined;
  }

  /**
   * True if the file system has hard links. Makes a hard link to a file of its own to find out. The errno of any other
   * refused link is ambiguous: `EPERM` can mean that the file system has no hard links, or that only this link is not
   * permitted.
   */
  hasLinks(): boolean {
    this.#hasLinks ??= this.#tryLink();
    return this.#hasLinks;
  }

  /** Returns the names of the set-aside files that still exist: `<index>` or `<index>.r`. */
  leftAside(): string[] {
    const folder = childOf(this.#prefix, "old");
    if (this.trash.lstat(folder) === undefined) return [];
    return this.trash.list(folder).map(({ name }) => decodeName(name));
  }

  /** Removes the staging folder, and the files that are staged in other folders (`places`). */
  purge(): void {
    this.release();
    this.places.clear();
    if (!this.#purgeKnown()) removeTree(this.fresh, this.#prefix);
    if (this.#inRoot) removeIfEmpty(this.fresh, STAGING_FOLDER as WorkspacePath);
    this.release();
  }

  /**
   * Like `purge`, but unlinks old files without blocking this thread, because freeing their space takes time. The
   * workers, if they are running, unlink the files if there are many.
   */
  async purgeBeside(workers: RestoreWorkers | undefined): Promise<void> {
    const old = childOf(this.#prefix, "old");
    using bin = new ConfinedFs(this.#disk, this.#base);
    try {
      const paths = bin.list(old).map(({ name }) => childOf(old, decodeName(name)));
      const isDone = (await workers?.remove(this.#base, paths)) === true;
      if (!isDone) await this.#disk.unlinkAllBeside(paths.map((path) => bin.at(path)));
    } catch (error) {
      // `purge` removes the files that are left (for example, if the workers failed halfway), or throws the same error.
      if (errnoOf(error) === undefined) throw error;
    }
    this.purge();
  }

  /**
   * Removes only the files and folders that a successful apply leaves. Returns false if the folders hold anything else.
   */
  #purgeKnown(): boolean {
    const old = childOf(this.#prefix, "old");
    try {
      for (const { name } of this.trash.list(old)) this.trash.unlink(childOf(old, decodeName(name)));
      this.trash.removeFolder(old);
      this.trash.removeFolder(childOf(this.#prefix, "new"));
      this.trash.removeFolder(this.#prefix);
      return true;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }

  #tryLink(): boolean {
    this.#makeFolders();
    const [a, b] = [this.oldPath("probe-a"), this.oldPath("probe-b")];
    this.trash.create(a, 0o600)[Symbol.dispose]();
    try {
      this.trash.link(a, b);
      this.trash.unlink(b);
      return true;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    } finally {
      this.trash.unlink(a);
    }
  }

  release(): void {
    this.fresh.release();
    this.trash.release();
    this.places.release();
  }
}

/** Returns every staging folder that an apply with this token may have left for a root. */
export function stagingPlaces({ root }: Pick<OpenRoot, "root">, options: StagingOptions): Staging[] {
  const { disk, candidate } = options;
  const own = ownName(root.id, options.token);
  const inRoot = stagingInRoot({ root }, disk, own);
  if (candidate === undefined || disk.lstat(candidate)?.kind !== "dir") return [inRoot];
  return [stagingIn(candidate, { root }, disk, own), inRoot];
}

function isToken(text: string): boolean {
  return TOKEN.test(text);
}

function ownName(rootId: string | undefined, token: string): string {
  if (!isToken(token)) throw new ChronicleError("USAGE", `not a token: ${JSON.stringify(token)}`);
  return rootId === undefined ? token : `${token}.${rootId}`;
}

interface StagingOptions {
  readonly disk: Disk;
  /** A folder in the store, created when it is needed. */
  readonly candidate: string | undefined;
  readonly token: string;
  /** True if the candidate must be tested again, because the mounts may have changed since the last test. */
  readonly probesAgain?: boolean;
}

/**
 * Returns the staging of a token in a root. Every call returns the same folder, as long as the root and the candidate
 * stay on the same devices.
 */
export function stagingFor({ root, fs }: OpenRoot, options: StagingOptions): Staging {
  const { disk, candidate } = options;
  const own = ownName(root.id, options.token);
  if (options.probesAgain === true) reachable.delete(fs);
  if (candidate !== undefined && isReachable(fs, disk, candidate)) return stagingIn(candidate, { root }, disk, own);
  return stagingInRoot({ root }, disk, own);
}

/** Returns staging inside the root. Makes no folder yet. */
export function stagingInRoot({ root }: Pick<OpenRoot, "root">, disk: Disk, own: string): Staging {
  return new Staging(disk, root.folder, { prefix: `${STAGING_FOLDER}/${own}`, root: root.folder, own });
}

function stagingIn(candidate: string, { root }: Pick<OpenRoot, "root">, disk: Disk, own: string): Staging {
  return new Staging(disk, candidate, { prefix: own, root: root.folder, own });
}

/**
 * Maps the access to a root to a text that names two folders, the store's staging folder and the root. A rename between
 * these two folders was found to work.
 */
const reachable = new WeakMap<ConfinedFs, string>();

/** True if a file can be renamed from the staging folder into the root. Makes the staging folder if it is missing. */
function isReachable(fs: ConfinedFs, disk: Disk, folder: string): boolean {
  try {
    if (disk.lstat(folder) === undefined) {
      disk.makeFolder(folder, 0o700);
      disk.syncFolder(folderOf(folder));
    }
    const [there, here] = [disk.lstat(folder), fs.lstat(ROOT)];
    if (there?.kind !== "dir" || there.dev !== here?.dev) return false;
    const pair = `${there.dev} ${there.ino} ${here.ino} ${folder}`;
    if (reachable.get(fs) === pair) return true;
    const found = canRename(fs, disk, folder);
    if (found) reachable.set(fs, pair);
    return found;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

function canRename(fs: ConfinedFs, disk: Disk, folder: string): boolean {
  const name = ".chronicle-no-such-name" as WorkspacePath;
  using target = new ConfinedFs(disk, folder);
  try {
    // A device can be mounted twice. The kernel refuses a rename between two mounts before it looks up the name. If the
    // kernel has looked up the name (`ENOENT`), a rename is possible.
    fs.renameFile(name, name, target);
    return false;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return errnoOf(error) === "ENOENT" && disk.lstat(folder) !== undefined;
  }
}

function makeIfMissing(fs: ConfinedFs, folder: WorkspacePath): void {
  try {
    fs.makeFolder(folder, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

function removeIfEmpty(fs: ConfinedFs, folder: WorkspacePath): void {
  try {
    fs.removeFolder(folder);
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    if (!NOT_EMPTY.has(errno) && errno !== "ENOENT") throw error;
  }
}

/**
 * The age in ns from which a staging folder is removed as abandoned. No staging lasts that long. `sweep` compares the
 * time of a staging folder with the last change of the folder that holds it, because both times come from the disk's
 * own clock.
 */
const LONG_AGO_NS = 24n * 3600n * 1_000_000_000n;

interface StagingFolders {
  readonly roots: readonly TrackedRoot[];
  readonly candidate: string | undefined;
}

/**
 * Removes staging folders that are older than `LONG_AGO_NS`. Each of these folders belongs to an apply that was
 * interrupted before the log mentioned the apply, so no later process resumes it. The old files in the folders are
 * second names (hard links) of files that are still in place, and the new files were never put into place. Called after
 * an apply, when no interrupted operation is open.
 */
export function sweepStaging(disk: Disk, { roots, candidate }: StagingFolders): void {
  for (const root of roots) {
    const clear = (own: string): void => clearPlaces(stagingInRoot({ root }, disk, own));
    sweep(disk, { base: root.folder, folder: STAGING_FOLDER as WorkspacePath, clear });
  }
  if (candidate !== undefined) sweep(disk, { base: candidate, folder: ROOT });
}

/**
 * Removes the staging folders that scans have found, if they have not changed for `LONG_AGO_NS`. The store's staging
 * folder may lack the note of such a folder, because some file systems (btrfs) do not persist the note before the
 * folder.
 */
export function sweepMet(
  disk: Disk,
  roots: readonly TrackedRoot[],
  { met, nowNs }: { readonly met: Iterable<WorkspacePath>; readonly nowNs: bigint },
): void {
  for (const path of met) {
    const { root: id, path: inner } = splitRoot(path);
    const root = roots.find((one) => one.id === id);
    if (root === undefined) continue;
    using fs = new ConfinedFs(disk, root.folder);
    try {
      const stat = fs.lstat(inner);
      if (stat?.kind === "dir" && nowNs - stat.ctimeNs >= LONG_AGO_NS) removeTree(fs, inner);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/**
 * Removes the staged files that interrupted applies left in the folders that receive files. The store's staging folder
 * notes these folders. A workspace runs one operation at a time, so no other operation needs these files when the
 * caller begins.
 */
export function sweepPlaces(disk: Disk, roots: readonly TrackedRoot[], candidate: string | undefined): void {
  for (const staging of stagingsOf(disk, roots, candidate)) clearPlaces(staging);
}

/** True if the store's staging folder notes a place (see `FolderPlaces`) of a current or interrupted apply. */
export function holdsPlaces(disk: Disk, roots: readonly TrackedRoot[], candidate: string | undefined): boolean {
  for (const staging of stagingsOf(disk, roots, candidate)) {
    try {
      if (staging.places.isAnyNoted) return true;
    } finally {
      staging.release();
    }
  }
  return false;
}

function* stagingsOf(disk: Disk, roots: readonly TrackedRoot[], candidate: string | undefined): Generator<Staging> {
  if (candidate === undefined || disk.lstat(candidate)?.kind !== "dir") return;
  for (const { name, kind } of disk.list(candidate)) {
    const [token = "", id] = decodeName(name).split(".", 2);
    const root = roots.find((one) => one.id === id);
    if (kind !== "dir" || root === undefined || !isToken(token)) continue;
    const [staging] = stagingPlaces({ root }, { disk, candidate, token });
    if (staging !== undefined) yield staging;
  }
}

function clearPlaces(staging: Staging): void {
  try {
    staging.places.clear();
  } finally {
    staging.release();
  }
}

interface Place {
  readonly base: string;
  readonly folder: WorkspacePath;
  /** Called before a staging folder is removed. Removes the files of the same apply in other places. */
  readonly clear?: (own: string) => void;
}

/**
 * Removes the old staging folders in `folder`. If the removal of a staging folder fails, that folder and the folders
 * after it are left for the next sweep.
 */
function sweep(disk: Disk, { base, folder, clear }: Place): void {
  if (disk.lstat(base)?.kind !== "dir") return;
  using fs = new ConfinedFs(disk, base);
  try {
    const place = fs.lstat(folder);
    if (place?.kind !== "dir") return;
    for (const { name, kind } of fs.list(folder)) {
      const left = childOf(folder, decodeName(name));
      if (kind !== "dir" || place.mtimeNs - (fs.lstat(left)?.mtimeNs ?? place.mtimeNs) < LONG_AGO_NS) continue;
      // This folder has the note of the modes that an apply has loosened. The folder stays until these modes are
      // restored.
      if (fs.lstat(childOf(left, "modes")) !== undefined) continue;
      clear?.(decodeName(name));
      removeTree(fs, left);
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Errnos of a file system that keeps no modes. */
const KEEPS_NONE: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** True if the owner of a file with this mode may open it for reading. */
export function isReadableMode(mode: number): boolean {
  return (mode & 0o400) !== 0;
}

/** The permission bits. A folder's default access control list may clear some of them in new files. */
const PLAIN = 0o777;

/**
 * Sets the permission bits of an open file. Does nothing if the file has them already, or if the file system keeps no
 * modes. Returns the new stat.
 */
export function withMode(disk: Disk, { fd }: { readonly fd: number }, mode: number, stat = disk.fstat(fd)): FileStat {
  if (((stat.mode ^ mode) & PLAIN) === 0) return stat;
  try {
    disk.chmod(fd, (mode & PLAIN) | (stat.mode & ~PLAIN));
  } catch (error) {
    if (!KEEPS_NONE.has(errnoOf(error) ?? "")) throw error;
  }
  return disk.fstat(fd);
}
