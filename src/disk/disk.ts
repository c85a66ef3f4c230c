/** An absolute path, as text or as bytes. */
export type DiskPath = string | Buffer;

/** The kind of a directory entry. `special` stands for a FIFO, a socket or a device. Chronicle never opens these. */
export type NodeKind = "file" | "symlink" | "dir" | "special";

export interface FileStat {
  readonly kind: NodeKind;
  /** Permission bits, 0..0o7777. */
  readonly mode: number;
  /** In bytes. */
  readonly size: number;
  /**
   * In ns since 1970. A time before 1677 or after 2262 does not fit 64 bits, and becomes the nearest time that does.
   */
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
  readonly dev: bigint;
  readonly nlink: number;
  readonly uid: number;
  /** `lstat` and `fstat` set this field. The remembered stat of a file lacks it. */
  readonly gid?: number;
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The ways to open a file. None follows a link in the last component; none blocks on a FIFO.
 * - `read`: an existing file, for reading.
 * - `folder`: an existing folder, as an anchor for `/proc/self/fd`.
 * - `create`: a new file, for reading and writing; `EEXIST` if the name is taken.
 * - `append`: for writing at the end; created if missing.
 * - `update`: for reading and writing at positions; created if missing.
 */
export type OpenHow = "read" | "folder" | "create" | "append" | "update";

export interface FolderItem {
  /** The exact bytes of the name. */
  readonly name: Buffer;
  readonly kind: NodeKind;
}

/** Free and total space, in bytes, of the file system that holds a path. */
export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface FileSystem {
  /** The kind of the file system, as the operating system names it. */
  readonly kind: string;
  /** True for a native file system of Linux, which supports all of POSIX. */
  readonly isLinux: boolean;
  /**
   * A text that identifies the mount and its options. For a native file system of Linux, the text is only its `kind`,
   * because the traits of this kind are known. Knowledge about the file system stays valid while this text does not
   * change.
   */
  readonly mount: string;
}

/**
 * The narrow port through which Chronicle reads and writes files, both the files of the store and the files of the
 * user. The port does not cover SQLite's databases, which SQLite opens itself.
 *
 * The port is synchronous, because bulk work runs in worker threads. Only slow operations that must not block their
 * thread are asynchronous.
 *
 * There are two backends. `NodeDisk` uses the operating system. `SimDisk` is in memory. `SimDisk` can forget or tear
 * data that was not synced, fail any operation with any errno, and stop at any operation.
 *
 * Contract
 * - Paths are absolute strings or bytes. `/proc/self/fd/<fd>` and `/proc/self/fd/<fd>/<name>` name an open folder and a
 *   child of it, also in the simulation. Confined access uses such paths.
 * - Failures throw an `Error` with the errno's name in `code` (`ENOENT`, `ENOSPC` …), as Node does.
 * - `write` can write fewer bytes than given, as in POSIX. Callers use `writeFully`.
 * - Bytes are durable after `sync(fd)`. A name that was created, renamed or removed is durable after `syncFolder` of
 *   the folder that contains it. A failed sync is never retried, because the success of a later sync would prove
 *   nothing.
 * - `rename` replaces a file atomically. A mode given at creation is not narrowed by the process's umask.
 * - New files and folders inherit from their folder what the system lets them inherit: the group, the setgid bit, and
 *   the default access control list, which may narrow the mode.
 */
export interface Disk {
  /** Opens a file. `mode` is used only if the file is created (default 0o600). Returns a descriptor. */
  open(path: DiskPath, how: OpenHow, mode?: number): number;
  close(fd: number): void;
  /**
   * Reads up to `into.length` bytes at `position` (null: the descriptor's own position). Returns the number of bytes,
   * which is 0 at the end of the file.
   */
  read(fd: number, into: Uint8Array, position: number | null): number;
  /** Writes bytes. Returns the number of bytes that were written. `position` is ignored for `append`. */
  write(fd: number, bytes: Uint8Array, position: number | null): number;
  /** Makes the file's bytes and length durable (`fdatasync`). */
  sync(fd: number): void;
  /** Like `sync`, but does not block this thread. The descriptor must stay open until the sync has ended. */
  syncBeside(fd: number): Promise<void>;
  /** Makes the names in a folder durable. */
  syncFolder(path: DiskPath): void;
  /** Like `syncFolder`, but does not block this thread. The path need not stay valid after this call has returned. */
  syncFolderBeside(path: DiskPath): Promise<void>;
  /** Makes everything on the file system of this path durable (`syncfs`). Returns false if the platform cannot. */
  syncAll(path: DiskPath): boolean;
  /** Like `syncAll`, but does not block this thread. */
  syncAllBeside(path: DiskPath): Promise<boolean>;
  truncate(fd: number, length: number): void;
  fstat(fd: number): FileStat;
  /** Returns `undefined` if nothing has that name (`ENOENT`, `ENOTDIR`). */
  lstat(path: DiskPath): FileStat | undefined;
  /** Lists the names in a folder, in any order. */
  list(path: DiskPath): FolderItem[];
  /** Returns some of the names in a folder, at most `most`. The cost does not grow with the size of the folder. */
  someNames(path: DiskPath, most: number): Buffer[];
  /** Makes a folder; `EEXIST` if the name is taken. Default mode: 0o700. */
  makeFolder(path: DiskPath, mode?: number): void;
  removeFolder(path: DiskPath): void;
  unlink(path: DiskPath): void;
  /**
   * Unlinks the paths, several at a time. Does not block this thread, because it takes time to free space. Folder
   * descriptors in the paths must stay open until the promise is settled. After a failure, waits for the removals that
   * are running, and rejects with the first failure. Some of the paths can then still exist.
   */
  unlinkAllBeside(paths: readonly DiskPath[]): Promise<void>;
  rename(from: DiskPath, to: DiskPath): void;
  link(from: DiskPath, to: DiskPath): void;
  symlink(target: Buffer, path: DiskPath): void;
  readlink(path: DiskPath): Buffer;
  chmod(fd: number, mode: number): void;
  /**
   * Makes a folder readable for its owner, even if this process has no permission to open it. Follows no link. Works
   * only on Linux.
   */
  letOwnerRead(path: DiskPath): void;
  /**
   * Gives an open file or an empty folder to `owner`. Sets only the group if this process is not permitted to change
   * the user. Returns false if the user or the group could not be set, or if the folder is not empty.
   */
  give(fd: number, owner: Owner): boolean;
  /**
   * Binds a folder (an absolute path) to a user. From now on, everything that is made beneath the folder, at a path
   * given as text, must belong to this user. If that is impossible, nothing is made (`EACCES`). Existing files of any
   * owner can still be written, if their permissions allow it.
   */
  keepTo(folder: string, uid: number): void;
  /**
   * True if files that this process makes in a folder of the user will belong to the user. The answer is a prediction.
   */
  makesFor(uid: number): boolean;
  /**
   * Returns the folders of `folders` (absolute paths) in which a new file gets the same group, access control list and
   * security label as in the folder `like`. A file for such a folder can be made in `like` and then renamed. Returns
   * `undefined` if the system gives no information about this.
   */
  makesAlike(folders: readonly string[], like: string): Promise<ReadonlySet<string> | undefined>;
  /**
   * Sets the modification time of an open file or folder, in nanoseconds since the epoch. The stored time is as exact
   * as the file system and this machine allow. A later `fstat` shows the time that was set.
   */
  setMtime(fd: number, mtimeNs: bigint): void;
  /**
   * Clones `from` into the new file `to`, so that both share their blocks. Returns false if the file system cannot
   * clone, or if the new file must belong to another user. In both cases, the caller copies the contents instead.
   */
  clone(from: DiskPath, to: DiskPath): boolean;
  space(path: DiskPath): DiskSpace;
  /** Returns the file system of a path, which must exist. */
  fileSystemOf(path: DiskPath): FileSystem;
  /**
   * Throws the system's error if this process is not permitted to write a file, or to change the names in a folder:
   * `EACCES` (permissions), `EROFS` (a read-only file system) or `EPERM` (immutable). A later write can still fail for
   * other reasons. A link is followed.
   */
  checkWrite(path: DiskPath): void;
  /**
   * Returns the birth time of the file or folder with this name, as an opaque text. A different text means another file
   * or folder, even if it has the same inode. Returns `undefined` if nothing has that name, or if this file system does
   * not store birth times reliably.
   */
  birthOf(path: DiskPath): string | undefined;
  /** Returns the path with every link resolved. */
  realpath(path: string): string;
  /**
   * Reports every event on the names in one folder as soon as it happens. Events of several folders come in the order
   * in which they happened. Returns `undefined` if this disk cannot watch (the simulation; platforms that do not keep
   * this order). The system silently drops events if there are too many at once (see `watchLosses`). Writes through a
   * memory map or another hard link are not reported.
   */
  watchFolder(path: DiskPath, onEvent: OnFolderEvent): DiskWatch | undefined;
  /**
   * Returns a counter that rises whenever the system may have dropped events of any watch of this process. No event of
   * a period was dropped if an event after the period has been reported, and the counter has not changed since the
   * beginning of the period.
   */
  watchLosses(): number;
  /** Calls `onLoss` soon after the system may have dropped events, until the result is disposed of. */
  onWatchLoss(onLoss: () => void): Disposable;
  /** Returns the number of open watches of this process, and the maximum number that it should have. */
  watchUse(): WatchUse;
}

/**
 * The watches of a process. `most` is half of what the system allows a user (`Infinity` if that is unknown), because
 * editors and other programs of the same user need watches, too. A single large folder may need more watches than
 * `most`.
 */
export interface WatchUse {
  readonly open: number;
  readonly most: number;
}

/**
 * Receives an event on a name in a folder. `name` is `undefined` if unknown. `listed`: true if the name was added,
 * removed or replaced; false if its content or mode was changed.
 */
export type OnFolderEvent = (name: Buffer | undefined, listed: boolean) => void;

export interface DiskWatch {
  close(): void;
}
