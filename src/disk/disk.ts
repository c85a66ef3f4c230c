/**
 * The narrow port under every file that Chronicle reads or writes: the store's and the user's.
 *
 * Synchronous, but for what may take long and is waited for beside other work: bulk work runs in workers. Backends: `NodeDisk` (the operating system) and `SimDisk` (in memory; it
 * forgets or tears what was not synced, fails any operation with any errno, stops at any operation).
 *
 * Contract
 * - Paths are absolute strings or bytes. `/proc/self/fd/<fd>` and `/proc/self/fd/<fd>/<name>` name an open folder and a
 *   child of it, also in the simulation: that is how confined access works.
 * - Failures throw an `Error` with the errno's name in `code` (`ENOENT`, `ENOSPC` …), as Node does.
 * - `write` may be short, as in POSIX: callers use `writeFully`.
 * - Bytes are durable after `sync(fd)`; a name (created, renamed, removed) after `syncFolder` of the folder that holds it.
 *   A sync that failed once says nothing about what is on the disk: it is never repeated.
 * - `rename` replaces a file atomically. A mode given at creation is not narrowed by the process's umask.
 * - What is made in a folder is made as the system makes it there: with the folder's group and setgid bit, and its default access
 *   control list, which may narrow the mode.
 */

/** An absolute path, as text or as bytes. */
export type DiskPath = string | Buffer;

/** What a name stands for. `special`: FIFO, socket, device: never opened. */
export type NodeKind = "file" | "symlink" | "dir" | "special";

/** What `lstat` and `fstat` tell. */
export interface FileStat {
  readonly kind: NodeKind;
  /** Permission bits, 0..0o7777. */
  readonly mode: number;
  readonly size: number;
  /** Since 1970, in 64 bits: one before 1677 or after 2262 is the nearest that those can say. */
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
  readonly dev: bigint;
  readonly nlink: number;
  readonly uid: number;
  /** `lstat` and `fstat` tell it; what is remembered of a file does not. */
  readonly gid?: number;
}

/** The user and the group to whom a file belongs. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * How a file is opened. No way follows a link in the last component; none blocks on a FIFO.
 * - `read`: an existing file, for reading.
 * - `folder`: an existing folder, as an anchor for `/proc/self/fd`.
 * - `create`: a new file, for reading and writing; `EEXIST` if the name is taken.
 * - `append`: for writing at the end; created if missing.
 * - `update`: for reading and writing at positions; created if missing.
 */
export type OpenHow = "read" | "folder" | "create" | "append" | "update";

/** One name in a folder. */
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

/** The file system that holds a path. */
export interface FileSystem {
  /** As the system calls it. */
  readonly kind: string;
  /** One of Linux's own: it holds all that POSIX asks for. */
  readonly isLinux: boolean;
  /** Its device, and how it is mounted: what was found out about it holds for as long as this is the same. */
  readonly mount: string;
}

export interface Disk {
  /** Opens; `mode` counts only when the file is created (default 0o600). Returns a descriptor. */
  open(path: DiskPath, how: OpenHow, mode?: number): number;
  close(fd: number): void;
  /** Reads up to `into.length` bytes at `position` (null: the descriptor's own). Returns the count, 0 at the end. */
  read(fd: number, into: Uint8Array, position: number | null): number;
  /** Writes; returns how many bytes were taken. `position` is ignored for `append`. */
  write(fd: number, bytes: Uint8Array, position: number | null): number;
  /** Makes the file's bytes and length durable (`fdatasync`). */
  sync(fd: number): void;
  /** As `sync`, beside what else this thread does. The descriptor must stay open until it has ended. */
  syncBeside(fd: number): Promise<void>;
  /** Makes the names in a folder durable. */
  syncFolder(path: DiskPath): void;
  /** Makes everything on the file system of this path durable (`syncfs`), where the platform can; false where it cannot. */
  syncAll(path: DiskPath): boolean;
  /** As `syncAll`, beside what else this thread does. */
  syncAllBeside(path: DiskPath): Promise<boolean>;
  truncate(fd: number, length: number): void;
  fstat(fd: number): FileStat;
  /** `undefined` when nothing has that name (`ENOENT`, `ENOTDIR`). */
  lstat(path: DiskPath): FileStat | undefined;
  list(path: DiskPath): FolderItem[];
  /** Some of the names in a folder, at most so many: as cheap for a large folder as for a small one. */
  someNames(path: DiskPath, most: number): Buffer[];
  makeFolder(path: DiskPath, mode?: number): void;
  removeFolder(path: DiskPath): void;
  unlink(path: DiskPath): void;
  /**
   * As `unlink` of each, in this order, beside what else this thread does. Folders that stand for paths must stay open until
   * it has ended. Rejects with the first failure: what comes after it is left.
   */
  unlinkAllBeside(paths: readonly DiskPath[]): Promise<void>;
  rename(from: DiskPath, to: DiskPath): void;
  link(from: DiskPath, to: DiskPath): void;
  symlink(target: Buffer, path: DiskPath): void;
  readlink(path: DiskPath): Buffer;
  /** Sets permission bits of an open file or folder. */
  chmod(fd: number, mode: number): void;
  /**
   * Gives an open file, or an empty folder, to its owner: as far as that is permitted, so the group alone where the user may not be
   * changed. False: not all of it was permitted.
   */
  give(fd: number, owner: Owner): boolean;
  /**
   * From here on, what is made in this folder (absolute) or beneath it belongs to this user, or is not made (`EACCES`). What is there
   * may be written whoever it belongs to, as far as its permissions let it.
   */
  keepTo(folder: string, uid: number): void;
  /** Does what this process makes in a folder of this user's belong to that user, as far as can be told beforehand? */
  makesFor(uid: number): boolean;
  /**
   * Those of the folders (absolute) in which a new file gets the same group, access control list and security label as in the folder
   * `like`, so that it can be made there and renamed. `undefined`: that cannot be told here.
   */
  makesAlike(folders: readonly string[], like: string): Promise<ReadonlySet<string> | undefined>;
  /** Sets the modification time of an open file or folder, in milliseconds. */
  setMtime(fd: number, mtimeMs: number): void;
  /** Clones `from` into the new file `to` sharing its blocks; false where the file system cannot. */
  clone(from: DiskPath, to: DiskPath): boolean;
  space(path: DiskPath): DiskSpace;
  /** The file system that holds a path, which must be there. */
  fileSystemOf(path: DiskPath): FileSystem;
  /**
   * May this process write a file, or change the names in a folder, as far as the system tells beforehand? Throws what it says where
   * not: `EACCES` (permissions), `EROFS` (a read-only file system), `EPERM` (nobody may change it). A link is followed.
   */
  checkWrite(path: DiskPath): void;
  /**
   * When what has this name was made, as a text of its own: what differs is another file or folder, also where it has got the
   * same inode since. `undefined`: nothing has that name, or this file system does not keep that reliably.
   */
  birthOf(path: DiskPath): string | undefined;
  /** The path with every link resolved. */
  realpath(path: string): string;
  /**
   * Tells of every event on the names in one folder, at once; events of several folders come in the order in which things
   * happened. `undefined`: this disk cannot (the simulation; platforms whose order is not certain). The system drops events
   * when there are too many at once, without a word. Writes through a memory map or another hard link are not told of.
   */
  watchFolder(path: DiskPath, onEvent: OnFolderEvent): DiskWatch | undefined;
}

/** `name` undefined: not known. `listed`: the name came, went or was replaced; else its content or mode changed. */
export type OnFolderEvent = (name: Buffer | undefined, listed: boolean) => void;

/** A folder being watched. */
export interface DiskWatch {
  close(): void;
}
