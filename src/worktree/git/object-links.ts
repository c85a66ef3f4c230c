import { errnoOf } from "../../core/values/errors.ts";
import { childOf, decodeName, nameOf, parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { isRacy } from "../files/same-stat.ts";
import { dropFile } from "./new-file.ts";

/** The most files of objects that are kept of one repository. */
const MOST_FILES = 50_000;
/** The most bytes that are copied of one repository if its objects cannot be linked. */
const MOST_COPIED_BYTES = 64 * 1024 ** 2;
/** The size of the pieces in which a file is copied. */
const PIECE_BYTES = 1024 ** 2;

/** The errors for which a file is copied: another file system, another owner, too many links, or no links at all. */
const NO_LINK: ReadonlySet<string> = new Set(["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP"]);

/** The names of files whose content never changes, because the name is the hash of their content. */
const IS_NAMED_BY_HASH = /^(?:[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.(?:pack|idx|rev))$/;

/** The most packs and the most loose objects of which the names are noted. */
const SAMPLE = 4;
/** The folders with the packs and loose objects of a repository itself, and the names of these files. */
const HAS_OBJECTS = /^objects\/(?:pack|[0-9a-f]{2})$/;
const IS_OBJECT = /^(?:[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.pack)$/;

/** A file that git is writing, or a lock. */
const IS_PASSING = /^(?:tmp_|\.tmp-)|\.lock$/;

/** A folder of objects as it was when all of its files were kept. */
export interface SeenFolder {
  readonly mark: string;
  readonly folders: readonly string[];
  readonly files: number;
  /** The names of some packs or loose objects. Notes of older versions lack them. */
  readonly sample?: readonly string[];
}

/** Objects that could not be kept. They are not tried again while these folders stay the same, for a while. */
export interface SeenFailure {
  readonly problem: string;
  /** By folder, `markOf` it, or "absent". Empty if the folder may change without another mark. */
  readonly marks: Readonly<Record<string, string>>;
  /** When it was found, in nanoseconds, as digits. */
  readonly at: string;
  /** True if links are left that earlier work may need. */
  readonly isLeft: boolean;
}

/** The time after which objects that could not be kept are tried again, in nanoseconds. */
const RETRY_NS = 3_600_000_000_000n;

/** The folders of objects of a repository, by name in the git folder. */
export type SeenFolders = Readonly<Record<string, SeenFolder>>;

export interface LinkedObjects {
  readonly seen: SeenFolders;
  /** The names of some packs and some loose objects in the git folder. */
  readonly sample?: readonly string[];
  /** The reason why objects are not kept, for people; absent if all are. */
  readonly problem?: string;
  /** Set if the reason lies in the repository. Then no objects of it are kept. */
  readonly failed?: SeenFailure;
}

interface LinkParts {
  readonly disk: Disk;
  readonly from: ConfinedFs;
  /** The folder for the links, which exists. */
  readonly into: ConfinedFs;
  readonly nowNs: bigint;
  /** True if no work is going on that may need the files that the repository no longer has. */
  readonly isIdle: () => Promise<boolean>;
}

/** The error if not all objects can be kept. The message is the reason, for people. */
class UnkeptObjects extends Error {}

/**
 * Keeps the objects of a repository as hard links, so that they survive if the git folder is removed. Git never writes
 * into a file of objects that exists, so a link costs no space while the repository has the file. Where no link can be
 * made, copies the files if they are small together.
 *
 * Follows no link of the repository, and keeps only regular files. A folder whose stat is the same as the last time is
 * not listed again, because git makes and removes files of objects, but does not change them.
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

  constructor(parts: LinkParts, seen: SeenFolders) {
    this.#parts = parts;
    this.#seen = seen;
  }

  /**
   * Keeps everything in these folders of the git folder, and drops what they no longer have. If not everything can be
   * kept, keeps nothing. `failed`: the failure of the last time.
   */
  async keep(folders: readonly string[], failed?: SeenFailure): Promise<LinkedObjects> {
    this.#folders = folders;
    try {
      if (failed !== undefined && this.#isStill(failed)) return await this.#without(failed);
      for (const folder of folders) await this.#keepFolder(folder as WorkspacePath);
      return { seen: this.#now, sample: this.#sample };
    } catch (error) {
      if (error instanceof UnkeptObjects) return this.#without(this.#failure(error.message));
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      return { seen: this.#now, problem: `its objects cannot be kept (${errno})` };
    }
  }

  /** Keeps nothing, and drops what was kept, unless earlier work may need it. */
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
    return { seen: {}, problem: failed.problem, failed: { ...failed, isLeft } };
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
    // A known folder that has not changed is still a folder, and no link was put in its place.
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
    for (const name of now.folders) await this.#keepFolder(childOf(folder, name));
  }

  /** Keeps the files of one folder. `isWhole`: false if files are left that the repository no longer has. */
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
   * Keeps a file of which a file is kept already, if it is another one. Returns false if the other one stays, because
   * its name stands for its content, and earlier work may need it.
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

  /** Returns false if no link can be made here. */
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
    // Something else may have come into this place since its stat was read. A link to a link does not follow it.
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

  /** True if all files of objects are small enough together to be copied. Counts no further than to the limit. */
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
  /** The folders of the kept files, each before those within it. */
  readonly #folders: WorkspacePath[] = [];

  constructor(disk: Disk, gitDir: string, kept: string) {
    this.#from = new ConfinedFs(disk, gitDir);
    this.#into = new ConfinedFs(disk, kept);
    if (disk.lstat(kept)?.kind === "dir") this.#look(ROOT);
  }

  get isSome(): boolean {
    return this.#files.length > 0;
  }

  #look(folder: WorkspacePath): void {
    const here = new Set(this.#from.lstat(folder)?.kind === "dir" ? this.#namesIn(folder) : []);
    for (const { name: bytes, kind } of this.#into.list(folder)) {
      const name = decodeName(bytes);
      const path = childOf(folder, name);
      // Another process may be writing such a file.
      if (IS_PASSING.test(name)) continue;
      if (kind === "dir") {
        this.#folders.push(path);
        this.#look(path);
      } else if (!here.has(name)) this.#files.push(path);
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

/** Identifies the state of a file or folder: the text is another one after each change. */
export function markOf({ ino, dev, size, mode, mtimeNs, ctimeNs }: FileStat): string {
  return [ino, dev, size, mode, mtimeNs, ctimeNs].map((one) => one.toString(36)).join(" ");
}

/** Returns the name of a file that is being kept, until it is whole. */
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
