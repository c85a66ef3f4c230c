import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";
import { readFully } from "./write-fully.ts";

/** Reads a small file. Returns `undefined` if it does not exist. Throws the disk's error. */
export function readDiskFile(disk: Disk, path: string): Buffer | undefined {
  let fd: number;
  try {
    fd = disk.open(path, "read");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(disk.fstat(fd).size);
    return bytes.subarray(0, readFully(disk, fd, bytes, 0));
  } finally {
    disk.close(fd);
  }
}
