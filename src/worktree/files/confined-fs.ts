import type { Disk, DiskPath, FileStat, FolderItem } from "../../disk/disk.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { decodeName, nameOf, parentOf, pathToBytes } from "../../core/values/path.ts";
import { writeFully } from "../../disk/write-fully.ts";

/** The maximum number of folders that stay open, so that deep trees do not use up the process's descriptors. */
const KEPT_OPEN = 32;

/**
 * The maximum length, in UTF-16 units, of a path that `peek` passes to the system in one piece. `PATH_MAX` is 4096
 * bytes, and a unit takes at most three bytes in UTF-8.
 */
const PLAIN_CHARS = 1300;

/** Errnos that mean that a parent of the path is missing or is no folder. */
const NO_FOLDER: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/** The maximum length of a name, in bytes (`NAME_MAX`). No file system has a longer name. */
const LONGEST_NAME = 255;

/**
 * The disks that are known to resolve names from open folders. The result holds for all folders of a disk, because it
 * depends on the system, not on the folder.
 */
const provenDisks = new WeakSet<Disk>();

/**
 * True if a name in the path is too long to exist. If all names are short enough, the path can exist, even if the whole
 * path is too long for one look-up.
 */
function hasLongName(path: WorkspacePath): boolean {
  return path.split("/").some((name) => pathToBytes(name).length > LONGEST_NAME);
}

/** An open file that closes itself: `using file = fs.openRead(path)`. */
export interface OpenedFile extends Disposable {
  readonly fd: number;
}

interface OpenFolder {
  readonly name: string;
  /** The descriptor; -1 once the folder was closed to save descriptors. */
  fd: number;
}

/**
 * Accesses the files beneath one folder, and nothing else. Captures and applies open files only through this class; as
 * an exception, `GitFiles` reads git's files by plain paths. Opens every folder above a path by its name in the open
 * parent folder (`/proc/self/fd/<fd>/<name>`), and follows no link. The class can therefore also use paths longer than
 * 4096 bytes and names that are not UTF-8. Only `peek` may follow links.
 *
 * Some platforms have no `/proc/self/fd` (`confined` is false). On these platforms, the class checks each folder above
 * a path by opening it, and then uses a plain path. Such an access is not safe, because somebody may replace a folder
 * by a link between the check and the access.
 *
 * The folders above the last used path stay open until another path is used, or until `release`. The caller must call
 * `release` before other tasks run. Otherwise, if a task moves such a folder away, its old path would still lead to the
 * moved folder. Throws the errors of the disk: `ENOTDIR` or `ELOOP` if something above the path is a link.
 */
export class ConfinedFs implements Disposable {
  /** Absolute path of the folder. */
  readonly root: string;
  readonly #disk: Disk;
  readonly #chain: OpenFolder[] = [];
  #here: string | undefined;
  #confined: boolean | undefined;
  /**
   * The folder that `isNamedSo` has listed last, with its names. The names are forgotten by `release`, and when this
   * object adds or removes a name in the folder.
   */
  #listed: { readonly folder: string; readonly names: ReadonlySet<string> } | undefined;

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.root = root;
  }

  /**
   * True if paths are resolved from open folders, so that nobody can replace a folder above the path by a link. See the
   * class.
   */
  get confined(): boolean {
    this.#confined ??= provenDisks.has(this.#disk) || this.#probe();
    if (this.#confined) provenDisks.add(this.#disk);
    return this.#confined;
  }

  /**
   * Like `lstat`, but faster, because it lets the system follow links in the folders above the path. Use it only to
   * compare a known path with its remembered stat.
   */
  peek(path: WorkspacePath): FileStat | undefined {
    if (this.root.length + path.length > PLAIN_CHARS || !path.isWellFormed()) return this.lstat(path);
    return this.#disk.lstat(path === "" ? this.root : `${this.root}/${path}`);
  }

  /**
   * Returns the stat of a path, without following links. Returns `undefined` if the path does not exist, if a name is
   * too long, or if the path's folder is missing or is no real folder.
   */
  lstat(path: WorkspacePath): FileStat | undefined {
    try {
      return path === "" ? this.#disk.fstat(this.#enter(path)) : this.#disk.lstat(this.at(path));
    } catch (error) {
      const errno = errnoOf(error) ?? "";
      if (NO_FOLDER.has(errno) || (errno === "ENAMETOOLONG" && hasLongName(path))) return undefined;
      throw error;
    }
  }

  /**
   * Returns false if the folder lists the entry of this name only in another spelling. Some disks accept several
   * spellings of one name. Returns true if the folder lists exactly this name, if no entry has the name, or if the
   * folder cannot be listed.
   */
  isNamedSo(path: WorkspacePath): boolean {
    if (path === "") return true;
    try {
      if (this.lstat(path) === undefined) return true;
      const folder = parentOf(path);
      if (this.#listed?.folder !== folder) {
        this.#listed = { folder, names: new Set(this.list(folder).map(({ name }) => decodeName(name))) };
      }
      return this.#listed.names.has(nameOf(path));
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return true;
    }
  }

  /** Lists the names in a folder, unordered. */
  list(folder: WorkspacePath): FolderItem[] {
    if (this.confined) return this.#disk.list(`/proc/self/fd/${this.#enter(folder)}`);
    this.#enter(folder);
    return this.#disk.list(plain(this.root, folder));
  }

  /** Throws the system's error if this process may not change the names in a folder: see `Disk.checkWrite`. */
  checkWrite(folder: WorkspacePath): void {
    const fd = this.#enter(folder);
    this.#disk.checkWrite(this.confined ? `/proc/self/fd/${fd}` : plain(this.root, folder));
  }

  openRead(path: WorkspacePath): OpenedFile {
    return this.#opened(this.#disk.open(this.at(path), "read"));
  }

  /** Returns the number of bytes read; 0 at the end of the file. */
  read(file: OpenedFile, into: Uint8Array, at: number): number {
    return this.#disk.read(file.fd, into, at);
  }

  sync(file: OpenedFile): void {
    this.#disk.sync(file.fd);
  }

  fstat(file: OpenedFile): FileStat {
    return this.#disk.fstat(file.fd);
  }

  /** Opens a folder itself, to change its mode or owner. */
  openFolder(path: WorkspacePath): OpenedFile {
    const address: DiskPath = path === "" ? this.root : this.at(path);
    return this.#opened(this.#disk.open(address, "folder"));
  }

  readlink(path: WorkspacePath): Buffer {
    return this.#disk.readlink(this.at(path));
  }

  /** Creates a file that must not exist yet. */
  create(path: WorkspacePath, mode: number): OpenedFile {
    this.#changes(path);
    return this.#opened(this.#disk.open(this.at(path), "create", mode));
  }

  write(file: OpenedFile, bytes: Uint8Array): void {
    writeFully(this.#disk, file.fd, bytes, null);
  }

  makeFolder(path: WorkspacePath, mode: number): void {
    this.#changes(path);
    this.#disk.makeFolder(this.at(path), mode);
  }

  removeFolder(path: WorkspacePath): void {
    if (this.#here !== undefined && isOn(this.#here, path)) this.release();
    this.#changes(path);
    this.#disk.removeFolder(this.at(path));
  }

  unlink(path: WorkspacePath): void {
    this.#changes(path);
    this.#disk.unlink(this.at(path));
  }

  symlink(target: Buffer, path: WorkspacePath): void {
    this.#changes(path);
    this.#disk.symlink(target, this.at(path));
  }

  rename(from: WorkspacePath, to: WorkspacePath, into: ConfinedFs = this): void {
    this.#both(from, to, into, (a, b) => this.#disk.rename(a, b));
    // The open folders may have other names now.
    this.#here = undefined;
    this.release();
  }

  /** Renames a file or link. Open folders stay valid. */
  renameFile(from: WorkspacePath, to: WorkspacePath, into: ConfinedFs = this): void {
    this.#both(from, to, into, (a, b) => this.#disk.rename(a, b));
  }

  link(from: WorkspacePath, to: WorkspacePath, into: ConfinedFs = this): void {
    this.#both(from, to, into, (a, b) => this.#disk.link(a, b));
  }

  /** Sets the mode of a file or folder through its descriptor, and syncs the file or folder. */
  chmod(path: WorkspacePath, mode: number, kind: "file" | "dir"): void {
    using opened = kind === "dir" ? this.#openUnread(path) : this.openRead(path);
    this.#disk.chmod(opened.fd, mode);
    this.#disk.sync(opened.fd);
  }

  syncFolder(path: WorkspacePath): void {
    const fd = this.#enter(path);
    this.#disk.syncFolder(this.confined ? `/proc/self/fd/${fd}` : plain(this.root, path));
  }

  /** Like `syncFolder`, but does not block this thread. Other paths may be used before the sync has ended. */
  async syncFolderBeside(path: WorkspacePath): Promise<void> {
    const fd = this.#enter(path);
    await this.#disk.syncFolderBeside(this.confined ? `/proc/self/fd/${fd}` : plain(this.root, path));
  }

  /**
   * Returns the address of a path for the disk. The address is valid until this object is used for another path. Throws
   * if anything above the path is no real folder.
   */
  at(path: WorkspacePath): DiskPath {
    const fd = this.#enter(parentOf(path));
    if (!this.confined) return plain(this.root, path);
    return childAddress(fd, nameOf(path));
  }

  /** Closes the open folders. The object stays usable. */
  release(): void {
    this.#here = undefined;
    this.#listed = undefined;
    for (const folder of this.#chain.splice(0)) this.#close(folder);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /**
   * Opens a folder. If the mode denies the owner to read the folder, first makes the folder readable (only on Linux),
   * because opening and syncing require that.
   */
  #openUnread(path: WorkspacePath): OpenedFile {
    try {
      return this.openFolder(path);
    } catch (error) {
      if (errnoOf(error) !== "EACCES" || !this.confined) throw error;
      this.#disk.letOwnerRead(path === "" ? this.root : this.at(path));
      return this.openFolder(path);
    }
  }

  #opened(fd: number): OpenedFile {
    const disk = this.#disk;
    return { fd, [Symbol.dispose]: () => disk.close(fd) };
  }

  /** Forgets the listed names of the folder of a path. Must be called before the path is made or removed. */
  #changes(path: WorkspacePath): void {
    if (this.#listed?.folder === parentOf(path)) this.#listed = undefined;
  }

  #both(from: WorkspacePath, to: WorkspacePath, into: ConfinedFs, act: (a: DiskPath, b: DiskPath) => void): void {
    this.#changes(from);
    into.#changes(to);
    if (into !== this || parentOf(from) === parentOf(to)) {
      act(this.at(from), into.at(to));
      return;
    }
    using other = new ConfinedFs(this.#disk, this.root);
    act(this.at(from), other.at(to));
  }

  /** Opens a folder, unless it is open already. Returns the descriptor, which this object closes. */
  #enter(folder: string): number {
    const last = this.#chain.at(-1);
    if (last !== undefined && this.#here === folder && last.fd >= 0) return last.fd;
    this.#here = undefined;
    const parts = folder === "" ? [] : folder.split("/");
    this.#leave(parts);
    for (let depth = this.#chain.length - 1; depth < parts.length; depth += 1) this.#descend(parts[depth] ?? "");
    this.#here = folder;
    return this.#chain.at(-1)?.fd ?? -1;
  }

  /**
   * Removes from `#chain`, and closes, the folders that are neither the folder with these `parts` nor above it. If the
   * last of the other folders was closed to save descriptors, removes all folders but the root. Opens the root if
   * `#chain` is empty. Afterwards, the last folder of `#chain` is open.
   */
  #leave(parts: readonly string[]): void {
    if (this.#chain.length === 0) this.#chain.push({ name: "", fd: this.#disk.open(this.root, "folder") });
    let shared = 0;
    while (shared < parts.length && this.#chain[shared + 1]?.name === parts[shared]) shared += 1;
    while (shared > 0 && (this.#chain[shared]?.fd ?? -1) < 0) shared = 0;
    for (const folder of this.#chain.splice(shared + 1)) this.#close(folder);
  }

  #descend(name: string): void {
    const above = this.#chain.at(-1);
    const address = this.confined
      ? childAddress(above?.fd ?? -1, name)
      : plain(this.root, [...this.#chain.slice(1).map((f) => f.name), name].join("/"));
    this.#chain.push({ name, fd: this.#disk.open(address, "folder") });
    const spare = this.#chain[this.#chain.length - 1 - KEPT_OPEN];
    if (spare !== undefined && spare !== this.#chain[0]) this.#close(spare);
  }

  #close(folder: OpenFolder): void {
    if (folder.fd >= 0) this.#disk.close(folder.fd);
    folder.fd = -1;
  }

  #probe(): boolean {
    const fd = this.#disk.open(this.root, "folder");
    try {
      const self = this.#disk.fstat(fd);
      const seen = this.#disk.lstat(`/proc/self/fd/${fd}/.`);
      return seen !== undefined && seen.ino === self.ino && seen.dev === self.dev;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    } finally {
      this.#disk.close(fd);
    }
  }
}

/** True if `path` is the open folder `here` or a folder above it. */
function isOn(here: string, path: string): boolean {
  return path === "" || here === path || here.startsWith(`${path}/`);
}

function childAddress(fd: number, name: string): DiskPath {
  if (name === "" || name === "." || name === ".." || name.includes("\0")) {
    throw new ChronicleError("PATH_INVALID", `not a name in a folder: ${JSON.stringify(name)}`);
  }
  const anchor = `/proc/self/fd/${fd}/`;
  return name.isWellFormed() ? anchor + name : Buffer.concat([Buffer.from(anchor), pathToBytes(name)]);
}

function plain(root: string, path: string): DiskPath {
  if (path === "") return root;
  const whole = `${root}/${path}`;
  return path.isWellFormed() ? whole : Buffer.concat([Buffer.from(`${root}/`), pathToBytes(path)]);
}
