import type { WorkspacePath } from "../values/path.ts";

/**
 * An SQLite database and the files that belong to it. `-wal` holds what was committed and is not in the database yet,
 * `-journal` what an unfinished transaction has overwritten: without them the database is not whole. `-shm` is derived from
 * `-wal`: SQLite makes it anew.
 */

/** The files beside a database that are one unit with it. */
export const UNIT_SUFFIXES = ["-wal", "-journal"] as const;
export type UnitSuffix = (typeof UNIT_SUFFIXES)[number];

/** The file beside a database that is derived from the others. */
export const SHARED_MEMORY_SUFFIX = "-shm";

const MAGIC = Buffer.from("SQLite format 3\0", "latin1");

/** Do the first bytes of a file say that it is an SQLite database? */
export function isSqliteDatabase(start: Uint8Array): boolean {
  return start.length >= MAGIC.length && MAGIC.equals(start.subarray(0, MAGIC.length));
}

/** The database that a file would belong to by its name; `undefined`: none. */
export function databaseOf(path: WorkspacePath): WorkspacePath | undefined {
  const suffix = [...UNIT_SUFFIXES, SHARED_MEMORY_SUFFIX].find((one) => path.endsWith(one));
  if (suffix === undefined) return undefined;
  const base = path.slice(0, -suffix.length);
  return base === "" || base.endsWith("/") ? undefined : (base as WorkspacePath);
}

/** The file with this suffix beside a database. */
export function besideDatabase(
  database: WorkspacePath,
  suffix: UnitSuffix | typeof SHARED_MEMORY_SUFFIX,
): WorkspacePath {
  return `${database}${suffix}` as WorkspacePath;
}
