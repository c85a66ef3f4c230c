import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";

/** Most files of /proc are shorter. */
const PIECE_BYTES = 4 * 1024;

/** A file of /proc as text, which tells no size; `undefined` where there is none, or it is not ours to read. */
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

/** Processes come and go while they are looked at, and others' cannot be. */
export function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
