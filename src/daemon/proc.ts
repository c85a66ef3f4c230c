import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";

/** Most files of /proc are shorter. */
const PIECE_BYTES = 4 * 1024;

/** Reads a file of /proc, whose size is unknown, as text; `undefined` if there is none, or it is not ours to read. */
export function procText(disk: Disk, path: string): string | undefined {
  return orNothing(() => {
    const fd = disk.open(path, "read");
    try {
      const pieces: Buffer[] = [];
      for (;;) {
        const piece = Buffer.allocUnsafe(PIECE_BYTES);
        const count = disk.read(fd, piece, null);
        if (count === 0) return Buffer.concat(pieces).toString("utf8");
        pieces.push(piece.subarray(0, count));
      }
    } finally {
      disk.close(fd);
    }
  });
}

/** Processes may end while they are read, and those of others cannot be read: then returns `undefined`. */
export function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
