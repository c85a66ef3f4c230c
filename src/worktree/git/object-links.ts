import { errnoOf } from "../../core/values/errors.ts";
import { childOf, decodeName, nameOf, parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { isRacy } from "../files/same-stat.ts";
import { dropFile } from "./new-file.ts";

/** The maximum number of object files that are kept of one repository. */
const MOST_FILES = 50_000;
/** The maximum number of bytes of one repository's objects that are copied because they cannot be linked. */
const MOST_COPIED_BYTES = 64 * 1024 ** 2;
/** The size, in bytes, of the pieces in which a file is copied. */
const PIECE_BYTES = 1024 ** 2;

/**
 * The errnos of `link` after which the file is copied instead. Their causes: the store is on another file system, the
 * file has another owner or too many links, or the file system has no hard links.
 */
const NO_LINK: ReadonlySet<string> = new Set(["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP"]);

/** Matches the names of files whose content never changes, because the name is a hash of the content. */
const IS_NAMED_BY_HASH = /^(?:[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.(?:pack|idx|rev))$/;

/** The maximum number of packs, and of loose objects, whose names are noted as a sample. */
const SAMPLE = 4;
/**
 * Match the folders with the packs and loose objects of the repository itself (not those of its submodules), and the
 * names of these files.
 */
const HAS_OBJECTS = /^objects\/(?:pack|[0-9a-f]{2})$/;
const IS_OBJECT = /^(?:[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.pack)$/;

/** Matches the names of temporary files, which are still being written, and of locks. */
const IS_PASSING = /^(?:tmp_|\.tmp-)|\.lock$/;

/** A folder of objects as it was when all of its files were kept. */
export interface SeenFolder {
  readonly mark: string;
  readonly folders: readonly string[];
  readonly files: number;
  /** The names of some packs or loose objects. Notes that older versions wrote lack these names. */
  readonly sample?: readonly string[];
}

/**
 * A failure to keep objects. Within `RETRY_NS` after the failure, the next attempt is made only if a folder in `marks`
 * has changed.
 */
export interface SeenFailure {
  readonly problem: string;
  /**
   * Maps each folder to its mark (see `markOf`), or to "absent". The mark is empty if the folder may change and keep
   * its mark.
   */
  readonly marks: Readonly<Record<string, string>>;
  /** The time of the failure, in nanoseconds since the epoch, as decimal digits. */
  readonly at: string;
  /** True if links are left that earlier work may need. */
  readonly isLeft: boolean;
}

/** The time, in nanoseconds, after which keeping objects is tried again after a failure. */
const RETRY_NS = 3_600_000_000_000n;

/** Maps the path of each folder of objects, beneath the git folder, to the state in which it was seen. */
export type SeenFolders = Readonly<Record<string, SeenFolder>>;

export interface LinkedObjects {
  readonly seen: SeenFolders;
  /** The names of some packs and some loose objects in the git folder. */
  readonly sample?: readonly string[];
  /** The reason, for people, why objects are not kept. Absent if all objects are kept. */
  readonly problem?: string;
  /** Set if the reason lies in the repository itself. In that case, none of its objects are kept. */
  readonly failed?: SeenFailure;
  /** True if nothing is left to do as long as the folders of objects stay as they are. */
  readonly isSettled: boolean;
}

interface LinkParts {
  readonly disk: Disk;
  readonly from: ConfinedFs;
  /** The folder for the links. The folder must exist. */
  readonly into: ConfinedFs;
  readonly nowNs: bigint;
  /** Returns true if no work is in progress that may need files that the repository no longer has. */
  readonly isIdle: () => Promise<boolean>;
}

/** The error if not all objects can be kept. The message says why, for people. */
class UnkeptObjects extends Error {}

/**
 * Keeps the objects of a repository as hard links, so that they survive if the git folder is removed. Git never writes
 * into an existing object file, so a link costs no space as long as the repository has the file. If links are
 * impossible, copies the files, provided that their total size is small.
 *
 * Follows no link of the repository, and keeps only regular files. If the stat of a folder is the same as the last
 * time, the folder is not listed again. The stat is enough, because git makes and removes object files, but does not
 * change them.
 */
export class ObjectLinks {
  readonly #parts: LinkParts;
  readonly #seen: SeenFolders;
  readonly #now: Record<string, SeenFolder> = {};
  #folders: readonly string[] = [];
  /** The folder that was looked at last. */
  #at = "";
  readonly #sample: string[] = [];
  #files = 0;
  #leftToCopy: number | undefined;
  #isIdle: boolean | undefined;
  #isSettled = true;

  constructor(parts: LinkParts, seen: SeenFolders) {
    this.#parts = parts;
    this.#seen = seen;
  }

  /**
   * Keeps all files in these folders of the git folder, and removes kept files that the folders no longer have. If
   * something in the repository prevents this, keeps none of its files. `failed`: the failure of the previous attempt.
   */
  async keep(folders: readonly string[], failed?: SeenFailure): Promise<LinkedObjects> {
    this.#folders = folders;
    try {
      if (failed !== undefined && this.#isStill(failed)) return await this.#without(failed);
      for (const folder of folders) await this.#keepFolder(folder as WorkspacePath);
      return { seen: this.#now, sample: this.#sample, isSettled: this.#isSettled };
    } catch (error) {
      if (error instanceof UnkeptObjects) return this.#without(this.#failure(error.message));
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      return { seen: this.#now, problem: `its objects cannot be kept (${errno})`, isSettled: false };
    }
  }

  /** Removes everything that was kept, unless earlier work may need it. Keeps nothing new. */
  async none(): Promise<void> {
    if (await this.#mayDrop()) this.#dropAll();
  }

  #failure(problem: string): SeenFailure {
    const { nowNs } = this.#parts;
    const names = this.#folders.flatMap((folder) => [folder, `${folder}/pack`]);
    const marks = Object.fromEntries([...names, this.#at].map((name) => [name, this.#markNow(name)]));
    return { problem, marks, at: `${nowNs}`, isLeft: true };
  }

  #isStill({ at, marks }: SeenFailure): boolean {
    const age = this.#parts.nowNs - BigInt(at);
    if (age < 0n || age > RETRY_NS) return false;
    return Object.entries(marks).every(([name, mark]) => mark !== "" && mark === this.#markNow(name));
  }

  #markNow(folder: string): string {
    const stat = this.#parts.from.lstat(folder as WorkspacePath);
    if (stat === undefined) return "absent";
    return isRacy(stat, this.#parts.nowNs) ? "" : markOf(stat);
  }

  /** Gives up all links, unless earlier work may need them. */
  async #without(failed: SeenFailure): Promise<LinkedObjects> {
    const isLeft = failed.isLeft && !((await this.#mayDrop()) && this.#dropAll());
    return { seen: {}, problem: failed.problem, failed: { ...failed, isLeft }, isSettled: false };
  }

  /** Returns false if links are left, because another process is at work in the same folder. */
  #dropAll(): boolean {
    const { into } = this.#parts;
    try {
      for (const { name, kind } of into.list(ROOT)) this.#drop(childOf(ROOT, decodeName(name)), kind === "dir");
      return true;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }

  async #keepFolder(folder: WorkspacePath): Promise<void> {
    const { from, nowNs } = this.#parts;
    this.#at = folder;
    const known = this.#seen[folder];
    const seen = known === undefined ? undefined : from.peek(folder);
    // If the mark is the known mark, the path is still the same folder, and was not replaced by a link.
    const stat = seen !== undefined && markOf(seen) === known?.mark ? seen : from.lstat(folder);
    if (stat?.kind === "symlink") throw new UnkeptObjects(`${folder} in its git folder is a link`);
    if (stat?.kind !== "dir") return;
    const mark = markOf(stat);
    const { isWhole, ...now } =
      known?.mark === mark && known.sample !== undefined
        ? { ...known, isWhole: true }
        : await this.#keepFiles(folder, mark);
    this.#files += now.files;
    if (HAS_OBJECTS.test(folder)) for (const name of now.sample ?? []) this.#addToSample(childOf(folder, name));
    if (this.#files > MOST_FILES) throw new UnkeptObjects(`it has more than ${MOST_FILES} files of objects`);
    if (isWhole && !isRacy(stat, nowNs)) this.#now[folder] = now;
    else this.#isSettled = false;
    for (const name of now.folders) await this.#keepFolder(childOf(folder, name));
  }

  /**
   * Keeps the files of one folder. `isWhole` in the result: false if kept files remain that the repository no longer
   * has.
   */
  async #keepFiles(folder: WorkspacePath, mark: string): Promise<SeenFolder & { readonly isWhole: boolean }> {
    const { from, into } = this.#parts;
    const folders: string[] = [];
    const files: string[] = [];
    for (const { name: bytes, kind } of from.list(folder)) {
      const name = decodeName(bytes);
      if (kind === "dir") folders.push(name);
      else if (!IS_PASSING.test(name)) files.push(name);
    }
    if (files.length > MOST_FILES) throw new UnkeptObjects(`it has more than ${MOST_FILES} files of objects`);
    makeFolders(into, folder);
    const kept = new Map(into.list(folder).map(({ name, kind }) => [decodeName(name), kind]));
    let isOld = false;
    for (const name of files) {
      if (!kept.has(name)) this.#keepFile(childOf(folder, name));
      else if (!(await this.#keepAgain(childOf(folder, name)))) isOld = true;
    }
    const there = new Set([...files, ...folders]);
    const gone = [...kept].filter(([name]) => !there.has(name));
    const isWhole = (gone.length === 0 && !isOld) || (await this.#mayDrop());
    if (isWhole) for (const [name, kind] of gone) this.#drop(childOf(folder, name), kind === "dir");
    const sample = files.filter((name) => IS_OBJECT.test(name)).slice(0, SAMPLE);
    return { mark, folders, files: files.length, sample, isWhole };
  }

  #addToSample(path: WorkspacePath): void {
    const isPack = path.endsWith(".pack");
    if (this.#sample.filter((one) => one.endsWith(".pack") === isPack).length < SAMPLE) this.#sample.push(path);
  }

  async #mayDrop(): Promise<boolean> {
    return (this.#isIdle ??= await this.#parts.isIdle());
  }

  #drop(path: WorkspacePath, isFolder: boolean): void {
    const { into } = this.#parts;
    if (!isFolder) return dropFile(into, path);
    for (const { name, kind } of into.list(path)) this.#drop(childOf(path, decodeName(name)), kind === "dir");
    into.removeFolder(path);
  }

  #keepFile(path: WorkspacePath): void {
    const stat = this.#stat(path);
    if (stat !== undefined && !this.#link(path, path)) this.#copy(path, stat);
  }

  /** Returns the stat of a file; `undefined` if it is gone. */
  #stat(path: WorkspacePath): FileStat | undefined {
    const stat = this.#parts.from.lstat(path);
    if (stat === undefined || stat.kind === "file") return stat;
    throw new UnkeptObjects(`${path} in its git folder is no regular file`);
  }

  /**
   * Keeps a file under a name under which a file is kept already. If the kept file is not the same file as the new one,
   * replaces the kept file. Returns false if the kept file must stay, because its name is a hash of its content and
   * earlier work may need that content.
   */
  async #keepAgain(path: WorkspacePath): Promise<boolean> {
    const { into } = this.#parts;
    const [stat, old] = [this.#stat(path), into.lstat(path)];
    if (stat === undefined || (old?.ino === stat.ino && old.dev === stat.dev)) return true;
    const isNamedByHash = IS_NAMED_BY_HASH.test(nameOf(path));
    const isCopy = isNamedByHash && old?.size === stat.size;
    if (isCopy && old.dev !== stat.dev) return true;
    if (isNamedByHash && old !== undefined && !(await this.#mayDrop())) return false;
    const fresh = freshOf(path);
    dropFile(into, fresh);
    if (this.#link(path, fresh)) {
      if (into.lstat(fresh) !== undefined) into.renameFile(fresh, path);
    } else if (!isCopy) this.#copy(path, stat);
    return true;
  }

  /** Makes a hard link. Returns false if links are impossible here. */
  #link(path: WorkspacePath, to: WorkspacePath): boolean {
    const { from, into } = this.#parts;
    if (this.#leftToCopy !== undefined) return false;
    try {
      from.link(path, to, into);
    } catch (error) {
      const errno = errnoOf(error) ?? "";
      // Git has removed the file meanwhile, or another process has kept it.
      if (errno === "ENOENT" || errno === "EEXIST") return true;
      if (!NO_LINK.has(errno)) throw error;
      return false;
    }
    // The file may have been replaced since its stat was read, for example by a symbolic link. In that case, the hard
    // link is a second name of the symbolic link itself.
    if (into.lstat(to)?.kind === "file") return true;
    dropFile(into, to);
    throw new UnkeptObjects(`${path} in its git folder is no regular file`);
  }

  #copy(path: WorkspacePath, { size, mode }: FileStat): void {
    const { disk, from, into } = this.#parts;
    this.#leftToCopy ??= this.#mayCopyAll() ? MOST_COPIED_BYTES : 0;
    if (this.#leftToCopy < size) throw new UnkeptObjects(TOO_LARGE_TO_COPY);
    using file = from.openRead(path);
    if (from.fstat(file).kind !== "file") throw new UnkeptObjects(`${path} in its git folder is no regular file`);
    const fresh = freshOf(path);
    dropFile(into, fresh);
    using copy = into.create(fresh, mode);
    const piece = Buffer.alloc(Math.min(size, PIECE_BYTES));
    let done = 0;
    for (let count = 1; count > 0 && done < size; done += count) {
      count = from.read(file, piece.subarray(0, size - done), done);
      writeFully(disk, copy.fd, piece.subarray(0, count), null);
    }
    this.#leftToCopy -= done;
    into.renameFile(fresh, path);
  }

  /** True if all object files together are small enough to be copied. Stops counting at the limit. */
  #mayCopyAll(): boolean {
    using fs = new ConfinedFs(this.#parts.disk, this.#parts.from.root);
    let left = MOST_COPIED_BYTES;
    const waiting = this.#folders.map((folder) => folder as WorkspacePath);
    for (let folder = waiting.pop(); folder !== undefined && left >= 0; folder = waiting.pop()) {
      for (const { name: bytes, kind } of fs.list(folder)) {
        const path = childOf(folder, decodeName(bytes));
        if (kind === "dir") waiting.push(path);
        else left -= fs.lstat(path)?.size ?? 0;
      }
    }
    return left >= 0;
  }
}

/** The kept files of a repository that its git folder does not have. Follows no link. */
export class UnusedObjects {
  readonly #from: ConfinedFs;
  readonly #into: ConfinedFs;
  readonly #files: WorkspacePath[] = [];
  /** The folders of the kept files, each folder before the folders in it. */
  readonly #folders: WorkspacePath[] = [];
  readonly #since: bigint;

  /** Files in a folder that has changed after `since` (ns since the epoch) stay, because new work may rely on them. */
  constructor(
    disk: Disk,
    { gitDir, kept, since }: { readonly gitDir: string; readonly kept: string; readonly since: bigint },
  ) {
    this.#from = new ConfinedFs(disk, gitDir);
    this.#into = new ConfinedFs(disk, kept);
    this.#since = since;
    try {
      if (disk.lstat(kept)?.kind === "dir") this.#look(ROOT);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  get isSome(): boolean {
    return this.#files.length > 0;
  }

  #look(folder: WorkspacePath): void {
    const isSettled = (this.#into.lstat(folder)?.mtimeNs ?? this.#since) <= this.#since;
    const here = new Set(this.#from.lstat(folder)?.kind === "dir" ? this.#namesIn(folder) : []);
    for (const { name: bytes, kind } of this.#into.list(folder)) {
      const name = decodeName(bytes);
      const path = childOf(folder, name);
      // Another process may still be writing this file.
      if (IS_PASSING.test(name)) continue;
      if (kind === "dir") {
        this.#folders.push(path);
        this.#look(path);
      } else if (isSettled && !here.has(name)) this.#files.push(path);
    }
  }

  #namesIn(folder: WorkspacePath): string[] {
    return this.#from.list(folder).map(({ name }) => decodeName(name));
  }

  /** Removes the files, and the folders that become empty. Returns the bytes that were freed. */
  drop(): number {
    let bytes = 0;
    for (const path of this.#files) {
      // The git folder may have got the same object again.
      if (this.#from.lstat(path) !== undefined) continue;
      const stat = this.#into.lstat(path);
      if (stat?.nlink === 1) bytes += stat.size;
      dropFile(this.#into, path);
    }
    for (const folder of this.#files.length === 0 ? [] : this.#folders.toReversed()) {
      if (this.#from.lstat(folder) === undefined && this.#into.list(folder).length === 0)
        this.#into.removeFolder(folder);
    }
    return bytes;
  }

  release(): void {
    this.#from.release();
    this.#into.release();
  }
}

const TOO_LARGE_TO_COPY =
  "its objects are on another file system than Chronicle's store, and are too large to be copied (more than 64 MiB)";

/** Returns a text that identifies the state of a file or folder. The text differs after each change. */
export function markOf({ ino, dev, size, mode, mtimeNs, ctimeNs }: FileStat): string {
  return [ino, dev, size, mode, mtimeNs, ctimeNs].map((one) => one.toString(36)).join(" ");
}

/** Returns the temporary name under which a file is written until it is complete. */
function freshOf(path: WorkspacePath): WorkspacePath {
  return childOf(parentOf(path), `tmp_${nameOf(path)}`);
}

function makeFolders(fs: ConfinedFs, folder: WorkspacePath): void {
  if (folder === ROOT || fs.lstat(folder)?.kind === "dir") return;
  makeFolders(fs, parentOf(folder));
  try {
    fs.makeFolder(folder, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
