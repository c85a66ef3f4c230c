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

/** Reads a file of the kernel, whose size is not known in advance. Returns `undefined` if the file cannot be read. */
export function readProcFile(disk: Disk, path: string): string | undefined {
  try {
    const fd = disk.open(path, "read");
    try {
      const pieces: Buffer[] = [];
      for (;;) {
        const piece = Buffer.alloc(64 * 1024);
        const count = disk.read(fd, piece, null);
        if (count === 0) return Buffer.concat(pieces).toString("utf8");
        pieces.push(piece.subarray(0, count));
      }
    } finally {
      disk.close(fd);
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
