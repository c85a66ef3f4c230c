import { displayPath, nameOf, type WorkspacePath } from "../values/path.ts";

/**
 * An SQLite database and its companion files. `-wal` has the committed data that is not yet in the database. `-journal`
 * has the data that an unfinished transaction has overwritten. Without its `-wal` or `-journal`, the database is
 * incomplete. `-shm` is derived from `-wal`, and SQLite recreates it.
 */

/** The companion files that form one unit with a database. */
export const UNIT_SUFFIXES = ["-wal", "-journal"] as const;
export type UnitSuffix = (typeof UNIT_SUFFIXES)[number];

/** The companion file that SQLite derives from `-wal`. */
export const SHARED_MEMORY_SUFFIX = "-shm";

const MAGIC = Buffer.from("SQLite format 3\0", "latin1");

export function isSqliteDatabase(start: Uint8Array): boolean {
  return start.length >= MAGIC.length && MAGIC.equals(start.subarray(0, MAGIC.length));
}

/**
 * Returns the path of the database to which a companion file belongs, by the file's name; `undefined` for any other
 * file.
 */
export function databaseOf(path: WorkspacePath): WorkspacePath | undefined {
  const suffix = [...UNIT_SUFFIXES, SHARED_MEMORY_SUFFIX].find((one) => path.endsWith(one));
  if (suffix === undefined) return undefined;
  const base = path.slice(0, -suffix.length);
  return base === "" || base.endsWith("/") ? undefined : (base as WorkspacePath);
}

/** Like `databaseOf`, but returns `undefined` for `-shm`, which is not a part of the unit. */
export function unitDatabaseOf(path: WorkspacePath): WorkspacePath | undefined {
  return path.endsWith(SHARED_MEMORY_SUFFIX) ? undefined : databaseOf(path);
}

export function unitOf(database: WorkspacePath): WorkspacePath[] {
  return [database, ...UNIT_SUFFIXES.map((suffix) => besideDatabase(database, suffix))];
}

/**
 * Returns the reason for leaving a file of a unit alone. Another file of the unit, `cause`, must be left alone for the
 * reason `why`.
 */
export function oneUnitWith(cause: WorkspacePath, why: string): string {
  return `its database is one unit with ${displayPath(nameOf(cause) as WorkspacePath)}: ${why}`;
}

export function besideDatabase(
  database: WorkspacePath,
  suffix: UnitSuffix | typeof SHARED_MEMORY_SUFFIX,
): WorkspacePath {
  return `${database}${suffix}` as WorkspacePath;
}
