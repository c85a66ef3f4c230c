import type { Disk, DiskPath } from "./disk.ts";
import { errnoOf } from "../core/values/errors.ts";
import { newUlid } from "../util/ulid.ts";

/**
 * Writes all of `bytes`, in as many writes as the disk needs. `position`: a byte offset, or null for the descriptor's
 * own position (the end, for `append`). Throws the disk's error. In this case, some of the bytes may have been written.
 */
export function writeFully(disk: Disk, fd: number, bytes: Uint8Array, position: number | null): void {
  let written = 0;
  while (written < bytes.length) {
    const rest = written === 0 ? bytes : bytes.subarray(written);
    const count = disk.write(fd, rest, position === null ? null : position + written);
    if (count <= 0) throw Object.assign(new Error("EIO: the disk took no bytes, write"), { code: "EIO" });
    written += count;
  }
}

/**
 * Fills `into` from `position` (null: the descriptor's own position), in as many reads as needed. Returns the count,
 * which is less than `into.length` only at the end of the file.
 */
export function readFully(disk: Disk, fd: number, into: Uint8Array, position: number | null): number {
  let filled = 0;
  while (filled < into.length) {
    const rest = filled === 0 ? into : into.subarray(filled);
    const count = disk.read(fd, rest, position === null ? null : position + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

/**
 * Writes a whole file at `path` (absolute), durably and atomically: readers find the old content or the new one, also
 * after a crash at any moment. The bytes are first written to `<path><mark>.new`. A file that a crash left there is
 * replaced. Two concurrent writers of one path need a lock, or different marks (`uniqueMark`): with the same mark, one
 * of them would put the unfinished file of the other into place. `mode` is exact, and defaults to 0o600.
 */
export function writeFileDurably(
  disk: Disk,
  path: DiskPath,
  bytes: Uint8Array,
  { mode = 0o600, mark = "" }: { readonly mode?: number; readonly mark?: string } = {},
): void {
  const fresh = withSuffix(path, `${mark}.new`);
  const fd = createAnew(disk, fresh, mode);
  try {
    try {
      writeFully(disk, fd, bytes, 0);
      disk.sync(fd);
    } finally {
      disk.close(fd);
    }
    disk.rename(fresh, path);
  } catch (error) {
    removeLeftover(disk, fresh);
    throw error;
  }
  disk.syncFolder(folderOf(path));
}

/**
 * Returns a new mark for `writeFileDurably` and `createFileDurably`, for a file that several processes may write at the
 * same time without a lock. A file that a crash has left stays, so files that are written often need a lock instead.
 */
export function uniqueMark(): string {
  return `.${newUlid()}`;
}

/**
 * Like `writeFileDurably`, but for a file that is made only once: if the file exists, it stays as it is. Returns true
 * if this call has made the file. Of several processes that make the file at the same time, exactly one gets true. The
 * file is durable in any case. `mark` must be unique among these processes. The disk must support hard links.
 */
export function createFileDurably(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  { mode = 0o600, mark }: { readonly mode?: number; readonly mark: string },
): boolean {
  const own = `${path}${mark}.new`;
  const fd = createAnew(disk, own, mode);
  try {
    try {
      writeFully(disk, fd, bytes, 0);
      disk.sync(fd);
    } finally {
      disk.close(fd);
    }
    const isMade = linkIfFree(disk, own, path);
    // The process that has made the file has possibly not synced its name yet.
    disk.syncFolder(folderOf(path));
    return isMade;
  } finally {
    removeLeftover(disk, own);
  }
}

function linkIfFree(disk: Disk, from: string, to: string): boolean {
  try {
    disk.link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    return false;
  }
}

/** Returns the path of the folder that contains an absolute path. */
export function folderOf(path: DiskPath): DiskPath {
  if (typeof path === "string") return path.slice(0, Math.max(1, path.lastIndexOf("/")));
  return path.subarray(0, Math.max(1, path.lastIndexOf(0x2f)));
}

function createAnew(disk: Disk, path: DiskPath, mode: number): number {
  try {
    return disk.open(path, "create", mode);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  disk.unlink(path);
  return disk.open(path, "create", mode);
}

function removeLeftover(disk: Disk, path: DiskPath): void {
  try {
    disk.unlink(path);
  } catch {
    // The caller reports the first failure. The next write replaces the leftover.
  }
}

function withSuffix(path: DiskPath, suffix: string): DiskPath {
  return typeof path === "string" ? path + suffix : Buffer.concat([path, Buffer.from(suffix)]);
}
