import { lstatSync, statfsSync, type PathLike, existsSync, readFileSync, realpathSync, type Dirent } from "node:fs";
import { spawn, spawnSync, execFile } from "node:child_process";
import type {
  FileSystem,
  Disk,
  DiskPath,
  DiskSpace,
  DiskWatch,
  WatchUse,
  FileStat,
  FolderItem,
  NodeKind,
  OnFolderEvent,
  OpenHow,
  Owner,
} from "./disk.ts";
import { addAll } from "../util/long-lists.ts";
import { errnoOf } from "../core/values/errors.ts";
import { fileStat } from "./file-stat.ts";
import {
  giveAsPermitted,
  giveFolderTo,
  giveTo,
  makeForFolderOwner,
  makesFor,
  type KeptOwner,
  KeptOwners,
  mustBelongTo,
} from "./kept-owners.ts";
import { watchCount } from "./watch-count.ts";
import { watchQueue } from "./watch-queue.ts";
import * as fs from "node:fs";

const C = fs.constants;

/**
 * With these flags, an open never follows a link, and never waits for the other end of a FIFO. libuv adds `O_CLOEXEC`
 * to every open.
 */
const CAREFUL = C.O_NOFOLLOW | C.O_NONBLOCK;

const FLAGS: Readonly<Record<OpenHow, number>> = {
  read: CAREFUL | C.O_RDONLY,
  folder: CAREFUL | C.O_RDONLY | C.O_DIRECTORY,
  create: CAREFUL | C.O_RDWR | C.O_CREAT | C.O_EXCL,
  append: CAREFUL | C.O_WRONLY | C.O_CREAT | C.O_APPEND,
  update: CAREFUL | C.O_RDWR | C.O_CREAT,
};

/**
 * Linux's `O_PATH`, which Node does not name. A descriptor with this flag only stands for the file, so the file's mode
 * does not matter.
 */
const PATH_ONLY = 0o10000000;

const OWNER_READS = 0o400;
const SETGID = 0o2000;

const STAT = { bigint: true } as const;
const STAT_OR_NOTHING = { bigint: true, throwIfNoEntry: false } as const;
const LIST = { encoding: "buffer", withFileTypes: true } as const;

/** The maximum number of bytes that Linux moves in one call. Node refuses a longer request instead of shortening it. */
const MOST_BYTES = 0x7ffff000;

/**
 * The number of files that are unlinked at the same time. Node has four threads for such work. One of them is left for
 * syncs.
 */
const UNLINKING = 3;

/** The errors of a file system that cannot share blocks between two files. */
const NO_CLONES: ReadonlySet<string> = new Set(["ENOTSUP", "EOPNOTSUPP", "EXDEV", "EINVAL", "ENOSYS", "ENOTTY"]);

/**
 * The operating system's disk: `node:fs`, synchronously. Errors are Node's own, unchanged.
 *
 * Gaps of the platform:
 * - Node has no `syncfs`, so `syncAll` runs a program.
 * - Node takes a time as a double of seconds, so `setMtime` runs a program for times that a double cannot hold. Without
 *   that program, the stored time is up to a microsecond later than requested. The stored time is never earlier, so
 *   whole milliseconds are read back as given.
 * - A clone has the mode of its source.
 *
 * Files and folders that root makes in a folder of another user belong to that user: see `makeForFolderOwner`. Symbolic
 * links stay root's, because they could be given away only by name. Their owner does not matter, and the owner of the
 * folder can remove them.
 */
export class NodeDisk implements Disk {
  #umask: number | undefined;
  readonly #kept = new KeptOwners();

  open(path: DiskPath, how: OpenHow, mode = 0o600): number {
    if (how === "read") return fs.openSync(path, FLAGS.read);
    if (how === "folder") return fs.openSync(anchored(path), FLAGS.folder);
    const kept = this.#kept.otherOwnerOf(path);
    return makeForFolderOwner(path, (at, owner) => {
      if (owner === undefined && kept === undefined && !this.#narrows(mode)) return fs.openSync(at, FLAGS[how], mode);
      return this.#openWithExactMode(at, how, { mode, owner, kept });
    });
  }

  close(fd: number): void {
    fs.closeSync(fd);
  }

  read(fd: number, into: Uint8Array, position: number | null): number {
    return fs.readSync(fd, into, 0, Math.min(into.length, MOST_BYTES), position);
  }

  write(fd: number, bytes: Uint8Array, position: number | null): number {
    return fs.writeSync(fd, bytes, 0, Math.min(bytes.length, MOST_BYTES), position);
  }

  sync(fd: number): void {
    fs.fdatasyncSync(fd);
  }

  syncBeside(fd: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  syncFolder(path: DiskPath): void {
    const fd = fs.openSync(anchored(path), FLAGS.folder);
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  }

  async syncFolderBeside(path: DiskPath): Promise<void> {
    const fd = fs.openSync(anchored(path), FLAGS.folder);
    try {
      await new Promise<void>((resolve, reject) => {
        fs.fsync(fd, (error) => (error === null ? resolve() : reject(error)));
      });
    } finally {
      fs.closeSync(fd);
    }
  }

  syncAll(path: DiskPath): boolean {
    const fd = fs.openSync(anchored(path), FLAGS.folder);
    try {
      return syncFileSystem(fd);
    } finally {
      fs.closeSync(fd);
    }
  }

  async syncAllBeside(path: DiskPath): Promise<boolean> {
    const fd = fs.openSync(anchored(path), FLAGS.folder);
    try {
      return await syncFileSystemBeside(fd);
    } finally {
      fs.closeSync(fd);
    }
  }

  truncate(fd: number, length: number): void {
    fs.ftruncateSync(fd, length);
  }

  fstat(fd: number): FileStat {
    return fileStat(fs.fstatSync(fd, STAT));
  }

  lstat(path: DiskPath): FileStat | undefined {
    try {
      const stats = fs.lstatSync(path, STAT_OR_NOTHING);
      return stats === undefined ? undefined : fileStat(stats);
    } catch (error) {
      if (errnoOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
  }

  list(path: DiskPath): FolderItem[] {
    // If the file system does not report kinds, Node itself stats each name.
    const found = fs.readdirSync(path, LIST);
    const items: FolderItem[] = [];
    for (const item of found) items.push({ name: item.name, kind: kindOfItem(item) });
    return items;
  }

  someNames(path: DiskPath, most: number): Buffer[] {
    const names: Buffer[] = [];
    // Node cannot yield the names of a folder one by one as buffers. Decoded as latin1, the names keep their exact
    // bytes.
    const folder = fs.opendirSync(path, { encoding: "latin1", bufferSize: Math.max(1, most) });
    try {
      for (let item = folder.readSync(); item !== null && names.length < most; item = folder.readSync())
        names.push(Buffer.from(item.name, "latin1"));
    } finally {
      folder.closeSync();
    }
    return names;
  }

  makeFolder(path: DiskPath, mode = 0o700): void {
    // mkdir(2) drops the set-id bits in addition to the bits of the umask.
    const isPlain = !this.#narrows(mode) && (mode & 0o6000) === 0;
    const kept = this.#kept.otherOwnerOf(path);
    makeForFolderOwner(path, (at, owner) => {
      fs.mkdirSync(at, isPlain ? mode : (mode & 0o1777) | 0o700);
      if (isPlain && owner === undefined && kept === undefined) return;
      if (this.#narrows(OWNER_READS) && process.platform === "linux") this.letOwnerRead(at);
      const fd = fs.openSync(at, FLAGS.folder);
      try {
        if (owner !== undefined) giveFolderTo(fd, owner);
        if (kept !== undefined) mustBelongTo(kept, fd, () => fs.rmdirSync(at));
        // A folder within a setgid folder is setgid, too.
        if (!isPlain) fs.fchmodSync(fd, mode | (fs.fstatSync(fd).mode & SETGID));
      } finally {
        fs.closeSync(fd);
      }
    });
  }

  removeFolder(path: DiskPath): void {
    fs.rmdirSync(path);
  }

  unlink(path: DiskPath): void {
    fs.unlinkSync(path);
  }

  unlinkAllBeside(paths: readonly DiskPath[]): Promise<void> {
    return new Promise((resolve, reject) => {
      let [at, lanes] = [0, UNLINKING];
      let failure: Error | undefined;
      const next = (error: Error | null): void => {
        failure ??= error ?? undefined;
        const path = failure === undefined ? paths[at] : undefined;
        at += 1;
        if (path !== undefined) return fs.unlink(path, next);
        lanes -= 1;
        if (lanes > 0) return;
        if (failure === undefined) resolve();
        else reject(failure);
      };
      for (let lane = UNLINKING; lane > 0; lane -= 1) next(null);
    });
  }

  rename(from: DiskPath, to: DiskPath): void {
    fs.renameSync(from, to);
  }

  link(from: DiskPath, to: DiskPath): void {
    fs.linkSync(from, to);
  }

  symlink(target: Buffer, path: DiskPath): void {
    fs.symlinkSync(target, path);
  }

  readlink(path: DiskPath): Buffer {
    return fs.readlinkSync(path, "buffer");
  }

  chmod(fd: number, mode: number): void {
    fs.fchmodSync(fd, mode);
  }

  letOwnerRead(path: DiskPath): void {
    const fd = fs.openSync(path, PATH_ONLY | C.O_NOFOLLOW | C.O_DIRECTORY);
    try {
      // `fchmod` refuses such a descriptor. The descriptor's name in /proc always leads to this folder, even if the
      // original path now leads to another folder.
      fs.chmodSync(`/proc/self/fd/${fd}`, (fs.fstatSync(fd).mode & 0o7777) | OWNER_READS);
    } finally {
      fs.closeSync(fd);
    }
  }

  give(fd: number, owner: Owner): boolean {
    return giveAsPermitted(fd, owner);
  }

  keepTo(folder: string, uid: number): void {
    this.#kept.keep(folder, uid);
  }

  makesFor(uid: number): boolean {
    return makesFor(uid);
  }

  makesAlike(folders: readonly string[], like: string): Promise<ReadonlySet<string> | undefined> {
    return foldersAlike(folders, like);
  }

  setMtime(fd: number, mtimeNs: bigint): void {
    setTime(fd, mtimeNs);
  }

  clone(from: DiskPath, to: DiskPath): boolean {
    const kept = this.#kept.otherOwnerOf(to);
    try {
      return makeForFolderOwner(to, (at, owner) => {
        // A clone is made by name, so it cannot be given away safely. The caller then copies the contents into a file
        // that can be given away.
        if (owner !== undefined || kept !== undefined) return false;
        fs.copyFileSync(from, at, C.COPYFILE_FICLONE_FORCE | C.COPYFILE_EXCL);
        return true;
      });
    } catch (error) {
      if (NO_CLONES.has(errnoOf(error) ?? "")) return false;
      throw error;
    }
  }

  space(path: DiskPath): DiskSpace {
    const found = fs.statfsSync(path);
    return { freeBytes: found.bavail * found.bsize, totalBytes: found.blocks * found.bsize };
  }

  fileSystemOf(path: DiskPath): FileSystem {
    return fileSystemOf(path);
  }

  checkWrite(path: DiskPath): void {
    fs.accessSync(path, C.W_OK);
  }

  birthOf(path: DiskPath): string | undefined {
    return birthTime(path);
  }

  realpath(path: string): string {
    return fs.realpathSync.native(path);
  }

  watchFolder(path: DiskPath, onEvent: OnFolderEvent): DiskWatch | undefined {
    // Only inotify, with one instance for the whole process, keeps the order of events in several folders.
    if (process.platform !== "linux") return undefined;
    const watcher = fs.watch(path, { encoding: "buffer", persistent: false }, (event, name) => {
      watchQueue.noteEvent();
      onEvent(name ?? undefined, event === "rename");
    });
    watcher.on("error", () => onEvent(undefined, true));
    watchCount.open();
    let isOpen = true;
    const close = (): void => {
      if (isOpen) watchCount.close();
      isOpen = false;
      watchQueue.noteEnd();
      watcher.close();
    };
    return { close };
  }

  watchUse(): WatchUse {
    return watchCount.use;
  }

  watchLosses(): number {
    return watchQueue.losses;
  }

  onWatchLoss(onLoss: () => void): Disposable {
    return watchQueue.lost.listen(onLoss);
  }

  #narrows(mode: number): boolean {
    this.#umask ??= process.umask();
    return (mode & 0o777 & this.#umask) !== 0;
  }

  /**
   * Opens a file with exactly this mode. Only the creator of a file may set its mode and give it away, so this method
   * creates a new file and opens an existing one in separate steps.
   */
  #openWithExactMode(path: DiskPath, how: "create" | "append" | "update", { mode, owner, kept }: MadeHow): number {
    let fd: number;
    try {
      fd = fs.openSync(path, FLAGS[how] | C.O_EXCL, mode);
    } catch (error) {
      if (how === "create" || errnoOf(error) !== "EEXIST") throw error;
      return fs.openSync(path, FLAGS[how] & ~C.O_CREAT);
    }
    try {
      if (owner !== undefined) giveTo(fd, owner);
      if (kept !== undefined) mustBelongTo(kept, fd, () => fs.unlinkSync(path));
      fs.fchmodSync(fd, mode);
      return fd;
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }
}

interface MadeHow {
  readonly mode: number;
  /** The user to whom the file is given. */
  readonly owner: Owner | undefined;
  /** The user to whom the file must belong in the end. */
  readonly kept: KeptOwner | undefined;
}

/**
 * Appends `/.` to `/proc/self/fd/<fd>`, which is itself a link and would be refused. The result names the same folder,
 * and is no link.
 */
function anchored(path: DiskPath): DiskPath {
  if (typeof path === "string") return /^\/proc\/self\/fd\/\d+$/.test(path) ? `${path}/.` : path;
  return /^\/proc\/self\/fd\/\d+$/.test(path.toString("latin1")) ? Buffer.concat([path, Buffer.from("/.")]) : path;
}

function kindOfItem(item: Dirent<Buffer>): NodeKind {
  if (item.isFile()) return "file";
  if (item.isDirectory()) return "dir";
  return item.isSymbolicLink() ? "symlink" : "special";
}

/**
 * File systems that give each folder its birth time and never change it: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs
 * (the `f_type` of statfs(2)). Overlays are left out, because an overlay makes a file anew when it copies the file up.
 */
const KEEPS_BIRTHS: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994]);

/** True if the kernel reports birth times. This is determined only once. */
let reportsBirths: boolean | undefined;

/**
 * Returns the birth time of the file or folder with this name, in nanoseconds since 1970. Returns `undefined` if
 * nothing has that name, or if the file system does not store birth times reliably. Throws if the birth time cannot be
 * read.
 */
export function birthTime(path: PathLike): string | undefined {
  if (process.platform !== "linux") return undefined;
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined || stat.birthtimeNs <= 0n) return undefined;
  reportsBirths ??= ["/", process.execPath].some(hasOwnBirth);
  return reportsBirths && KEEPS_BIRTHS.has(statfsSync(path).type) ? String(stat.birthtimeNs) : undefined;
}

/**
 * True if Node reports a birth time for this path. Without statx(2) (an old kernel, or a sandbox that forbids it), Node
 * returns the time of the last change instead.
 */
function hasOwnBirth(path: string): boolean {
  const { birthtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
  return birthtimeNs > 0n && birthtimeNs !== ctimeNs;
}

/**
 * The folders in which programs are looked for. They are absolute, because the programs that run here must not depend
 * on anybody's PATH.
 */
const PROGRAM_FOLDERS = ["/usr/bin", "/bin"];

/** The arguments with which `sync` syncs the file system of its standard input. */
const OPERANDS = ["-f", "/proc/self/fd/0"];

/**
 * The program that can sync one file system. This program is searched for only once. `path` is `undefined` if there is
 * none.
 */
let program: { readonly path: string | undefined } | undefined;
/**
 * GNU's `touch`, which can set exact times. This program is searched for only once. `path` is `undefined` if there is
 * none.
 */
let touch: { readonly path: string | undefined } | undefined;

/**
 * Sets the modification time of an open file or folder. Node passes a time as a double of seconds, whose error is up to
 * 240 ns today. Therefore, GNU's `touch` sets the times that a double cannot hold. Each call of `touch` takes 2 ms.
 * `touch` gets the open descriptor as its output, which `-` names. Therefore, `touch` changes this file even if the
 * file's name now leads to another file.
 */
function setTime(fd: number, mtimeNs: bigint): void {
  const seconds = Number(mtimeNs) / 1e9;
  // The time is given as text, because Node takes a negative number for "now".
  fs.futimesSync(fd, String(seconds), String(seconds));
  const off = offBy(fd, mtimeNs);
  if (off === 0n) return;
  // A larger difference comes from the file system, which stores only coarser times. `touch` cannot refine these times.
  if (off < DOUBLE_NS && touched(fd, mtimeNs)) return;
  // The stored time must not be in an earlier millisecond than the recorded time. The added amount exceeds the rounding
  // error.
  const nudged = String(seconds + Math.max(Math.abs(seconds), 2 ** 31) * 2 ** -52);
  fs.futimesSync(fd, nudged, nudged);
}

/** Before 2262, two neighbouring doubles of seconds are at most 2 µs apart. */
const DOUBLE_NS = 2_000n;

const NS_PER_S = 1_000_000_000n;

function offBy(fd: number, mtimeNs: bigint): bigint {
  const off = fs.fstatSync(fd, { bigint: true }).mtimeNs - mtimeNs;
  return off < 0n ? -off : off;
}

/** Sets the time with `touch`. Returns false if there is no such program, or the time is not exact afterwards. */
function touched(fd: number, mtimeNs: bigint): boolean {
  touch ??= { path: findProgram("touch", isTouch) };
  if (touch.path === undefined) return false;
  const [sign, size] = mtimeNs < 0n ? ["-", -mtimeNs] : ["", mtimeNs];
  const time = `@${sign}${size / NS_PER_S}.${String(size % NS_PER_S).padStart(9, "0")}`;
  const run = spawnSync(touch.path, ["-c", "-m", "-d", time, "-"], {
    stdio: ["ignore", fd, "ignore"],
    cwd: "/",
    env: {},
  });
  return run.error === undefined && run.status === 0 && offBy(fd, mtimeNs) === 0n;
}

/** True for coreutils. Other programs (busybox) know no fractions of a second, or no `-`. */
function isTouch(path: string): boolean {
  return /^touch \([^)]*coreutils\)/.test(spawnSync(path, ["--version"], { encoding: "utf8", env: {} }).stdout);
}

/**
 * Makes everything durable on the file system of an open folder (`syncfs`). Returns false if this system cannot do
 * that. Throws `EIO` if the sync fails. As after every failed sync, it is then unknown what is durable.
 *
 * Node has no `syncfs`, but GNU coreutils (8.24 and later) have the command `sync -f`. The folder is passed as an open
 * descriptor, so that this folder is synced even if its name now leads to another folder. Since Linux 5.8 `syncfs`
 * reports earlier failed writes.
 */
export function syncFileSystem(fd: number): boolean {
  program ??= { path: findProgram("sync", isSync) };
  if (program.path === undefined) return false;
  const run = spawnSync(program.path, OPERANDS, { stdio: [fd, "ignore", "ignore"], env: {} });
  return run.error === undefined && isSynced(run.status);
}

/** Like `syncFileSystem`, but does not block this thread. The descriptor must stay open until the sync has ended. */
export async function syncFileSystemBeside(fd: number): Promise<boolean> {
  program ??= { path: findProgram("sync", isSync) };
  if (program.path === undefined) return false;
  const run = spawn(program.path, OPERANDS, { stdio: [fd, "ignore", "ignore"], env: {} });
  const ended = Promise.withResolvers<number | null | undefined>();
  run.on("error", () => ended.resolve(undefined));
  run.on("exit", (status) => ended.resolve(status));
  const status = await ended.promise;
  return status !== undefined && isSynced(status);
}

function isSynced(status: number | null): true {
  if (status === 0) return true;
  throw Object.assign(new Error("EIO: the file system could not be synced, syncfs"), {
    code: "EIO",
    syscall: "syncfs",
  });
}

function findProgram(name: string, isCapable: (path: string) => boolean): string | undefined {
  if (process.platform !== "linux" || !existsSync("/proc/self/fd")) return undefined;
  return PROGRAM_FOLDERS.map((folder) => `${folder}/${name}`).find((path) => existsSync(path) && isCapable(path));
}

/** True for GNU coreutils. Other programs (busybox) may ignore `-f` or give it another meaning. */
function isSync(path: string): boolean {
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8", env: {} });
  const [, major = "0", minor = "0"] = /^sync \(GNU coreutils\) (\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 8 || (Number(major) === 8 && Number(minor) >= 24);
}

/** The `f_type` of statfs(2) of Linux's own file systems, whose traits are known without probing. */
const OWN: ReadonlyMap<number, string> = new Map([
  [0xef53, "ext4"],
  [0x58465342, "xfs"],
  [0x9123683e, "btrfs"],
  [0x01021994, "tmpfs"],
  [0x794c7630, "overlay"],
  [0xf2f52010, "f2fs"],
  [0x2fc12fc1, "zfs"],
  [0xca451a4e, "bcachefs"],
]);

function fileSystemOf(path: PathLike): FileSystem {
  const { type } = statfsSync(path);
  const own = process.platform === "linux" ? OWN.get(type) : undefined;
  if (own !== undefined) return { kind: own, isLinux: true, mount: own };
  return mountedAt(path) ?? { kind: `0x${type.toString(16)}`, isLinux: false, mount: `${process.platform} ${type}` };
}

/** Returns the mount that contains the path, from proc(5); `undefined` without `/proc`. */
function mountedAt(path: PathLike): FileSystem | undefined {
  if (process.platform !== "linux") return undefined;
  let found: FileSystem | undefined;
  let length = -1;
  const place = `${realpathSync.native(path)}/`;
  for (const line of mountLines()) {
    const [first = "", second = ""] = line.split(" - ");
    const [, , device = "", root = "", point = "", options = ""] = first.split(" ");
    const [kind = "", source = "", superOptions = ""] = second.split(" ");
    const folder = unescaped(point);
    // The last of several mounts on the same folder is the visible one.
    if (!place.startsWith(folder.endsWith("/") ? folder : `${folder}/`) || folder.length < length) continue;
    length = folder.length;
    found = { kind, isLinux: false, mount: [device, root, kind, source, options, superOptions].join(" ") };
  }
  return found;
}

function mountLines(): string[] {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  } catch {
    // Without /proc, the kind is the number from statfs.
    return [];
  }
}

/** Decodes spaces, tabs, line ends and backslashes, which are written as octal numbers. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

const LS_PROGRAMS = ["/usr/bin/ls", "/bin/ls"];

/**
 * With these options, `ls` prints one line for each folder, in the given order: permissions with a mark, links, owner,
 * group, label.
 */
const OPTIONS = ["-ldnbUZ", "--"];

/** The maximum number of folders per call. Their paths must fit into a program's arguments. */
const AT_ONCE = 200;
const MOST_LISTED_BYTES = 64 * 1024 * 1024;

/**
 * Matches such a line. Groups: the setgid bit; a mark (`+`: an access control list); the group; the label (`?` if the
 * system has none).
 */
const LINE = /^d[r-][w-][x-][r-][w-]([xsS-])[r-][w-][xtT-]([.+@]?) +\d+ \d+ +(\d+) +(\S+) /;

/** The properties that a new file inherits from its folder. */
interface Makes {
  readonly isPlain: boolean;
  readonly group: string;
  readonly label: string;
}

/**
 * See `Disk.makesAlike`. Node reads no extended attributes, but GNU `ls` shows whether a folder has an access control
 * list, and its label. Returns `undefined` if there is no such program, or if its output for a folder is unexpected.
 */
async function foldersAlike(folders: readonly string[], like: string): Promise<ReadonlySet<string> | undefined> {
  const program = process.platform === "linux" ? LS_PROGRAMS.find((path) => existsSync(path)) : undefined;
  if (program === undefined) return undefined;
  const [model] = (await askAll(program, [like])) ?? [];
  const found = await askAll(program, folders);
  if (model === undefined || found === undefined) return undefined;
  const isAlike = ({ isPlain, group, label }: Makes): boolean =>
    isPlain && group === model.group && label === model.label;
  return new Set(folders.filter((_, i) => model.isPlain && found[i] !== undefined && isAlike(found[i])));
}

async function askAll(program: string, folders: readonly string[]): Promise<readonly Makes[] | undefined> {
  const found: Makes[] = [];
  for (let at = 0; at < folders.length; at += AT_ONCE) {
    const some = folders.slice(at, at + AT_ONCE);
    const told = linesOf(await run(program, [...OPTIONS, ...some]));
    if (told?.length !== some.length) return undefined;
    addAll(found, told);
  }
  return found;
}

function linesOf(text: string | undefined): Makes[] | undefined {
  const lines = (text ?? "").split("\n").filter((line) => line !== "");
  const found = lines.flatMap((line): Makes[] => {
    const [, bit = "", mark = "", group = "", label = ""] = LINE.exec(line) ?? [];
    return group === "" ? [] : [{ isPlain: !/[sS]/.test(bit) && mark !== "+" && mark !== "@", group, label }];
  });
  return found.length === lines.length ? found : undefined;
}

function run(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { env: { LC_ALL: "C" }, maxBuffer: MOST_LISTED_BYTES };
    execFile(program, args, options, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
}
