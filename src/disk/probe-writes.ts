import { threadId } from "node:worker_threads";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";
import { writeFully } from "./write-fully.ts";

/** The size of the probe, in bytes. A disk with room for only a few bytes counts as full. */
const PROBE_BYTES = 64 * 1024;

/**
 * Tests whether a folder takes writes: makes, syncs and removes a small file there. Throws the disk's error. The test
 * costs as much as a sync, so it is not made before each write.
 */
function probeWrites(disk: Disk, folder: string): void {
  const path = `${folder}/.probe-${process.pid}-${threadId}`;
  const fd = disk.open(path, "update");
  try {
    try {
      writeFully(disk, fd, new Uint8Array(PROBE_BYTES), 0);
      disk.sync(fd);
    } finally {
      disk.close(fd);
    }
  } finally {
    disk.unlink(path);
  }
}

/**
 * Returns the errno with which the system refuses writes to a file; `undefined` if writes are allowed or the file does
 * not exist.
 */
export function refusedWrite(disk: Disk, path: string): string | undefined {
  try {
    if (disk.lstat(path) !== undefined) disk.checkWrite(path);
    return undefined;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}

/** Returns the errno with which a test write in a folder fails; `undefined` if the folder takes writes now. */
export function whyNotWritable(disk: Disk, folder: string): string | undefined {
  try {
    probeWrites(disk, folder);
    return undefined;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}
