import { errnoOf } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";

/** Removes an SQLite database with its log and shared memory. No connection of this process may have it open. */
export function discardSqliteFiles(disk: Disk, path: string): void {
  // The log goes first: left alone, it would be applied to the next database of that name.
  for (const suffix of ["-wal", "-shm", "-journal", ""]) {
    try {
      disk.unlink(`${path}${suffix}`);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
  }
}
