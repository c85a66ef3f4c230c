import { threadId } from "node:worker_threads";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";
import { writeFully } from "./write-fully.ts";

/** A disk that has room for a few bytes only has none. */
const PROBE_BYTES = 64 * 1024;

/**
 * Asks the disk whether a folder takes writes: a small file is made there, synced, and removed. Throws what the disk says. It is for a
 * disk that has refused something already: it costs as much as a sync.
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

/** Why this user may not write a file: the name of the system's error; `undefined`: it may, or the file is not there. */
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

/** Why a folder takes no writes now: the name of the system's error; `undefined`: it takes them. */
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
