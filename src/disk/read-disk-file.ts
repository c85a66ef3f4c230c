import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";
import { readFully } from "./write-fully.ts";

/** All bytes of a small file, or `undefined` where there is none. Throws the disk's error. */
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
