import { errnoOf } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";

/**
 * Removes an SQLite database with its WAL, shared memory and rollback journal. This process must not have the database
 * open.
 */
export function discardSqliteFiles(disk: Disk, path: string): void {
  // The WAL is removed first, because SQLite would apply a WAL without its database to the next database of that name.
  for (const suffix of ["-wal", "-shm", "-journal", ""]) {
    try {
      disk.unlink(`${path}${suffix}`);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
  }
}
