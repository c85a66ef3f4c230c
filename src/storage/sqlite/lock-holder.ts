import type { Disk } from "../../disk/disk.ts";

/** A process that holds a lock. */
export interface LockHolder {
  readonly pid: number;
  /** True if a signal has stopped it: it will not release the lock before it is continued or ended. */
  readonly stopped: boolean;
}

/** SQLite locks bytes from here on, whatever the file's length (its `PENDING_BYTE`). */
const FIRST_LOCK_BYTE = 0x40000000;
const LINE = /^\d+: POSIX +\S+ +(?:READ|WRITE) +(\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) (\d+) /;

function readText(disk: Disk, path: string): string {
  const fd = disk.open(path, "read");
  try {
    const pieces: Buffer[] = [];
    for (;;) {
      const piece = Buffer.allocUnsafe(65_536);
      const count = disk.read(fd, piece, null);
      if (count === 0) return Buffer.concat(pieces).toString("latin1");
      pieces.push(piece.subarray(0, count));
    }
  } finally {
    disk.close(fd);
  }
}

function isStopped(disk: Disk, pid: number): boolean {
  try {
    return /\) [Tt] /.test(readText(disk, `/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

/**
 * Returns the process that holds an SQLite lock on this file, from `/proc/locks`. Returns `undefined` if the platform
 * does not tell (no `/proc`, a holder in another container). Costs the holder nothing, unlike a note that it would have
 * to write.
 */
export function findLockHolder(disk: Disk, path: string): LockHolder | undefined {
  try {
    const ino = disk.lstat(path)?.ino.toString();
    for (const line of readText(disk, "/proc/locks").split("\n")) {
      const [, pid, inode, start] = LINE.exec(line) ?? [];
      if (inode !== ino || Number(start) < FIRST_LOCK_BYTE || Number(pid) <= 0) continue;
      return { pid: Number(pid), stopped: isStopped(disk, Number(pid)) };
    }
  } catch {
    // Only the wording of an error depends on it.
  }
  return undefined;
}
