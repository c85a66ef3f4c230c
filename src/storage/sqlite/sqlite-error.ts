import { hintOfErrno } from "../../core/values/errno.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { refusedWrite, whyNotWritable } from "../../disk/probe-writes.ts";
import { optional } from "../../util/optional.ts";

const GENERIC = 1;
const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const NOT_A_DATABASE = 26;

/** The names of the extended result codes that tell which system call failed (sqlite.org/rescode.html). */
const CALLS: Readonly<Record<number, string>> = {
  266: "SQLITE_IOERR_READ",
  522: "SQLITE_IOERR_SHORT_READ",
  778: "SQLITE_IOERR_WRITE",
  1034: "SQLITE_IOERR_FSYNC",
  1290: "SQLITE_IOERR_DIR_FSYNC",
  1546: "SQLITE_IOERR_TRUNCATE",
  1802: "SQLITE_IOERR_FSTAT",
  2058: "SQLITE_IOERR_UNLOCK",
  2314: "SQLITE_IOERR_RDLOCK",
  2570: "SQLITE_IOERR_DELETE",
  3338: "SQLITE_IOERR_ACCESS",
  3850: "SQLITE_IOERR_LOCK",
  4106: "SQLITE_IOERR_CLOSE",
  4618: "SQLITE_IOERR_SHMOPEN",
  4874: "SQLITE_IOERR_SHMSIZE",
  5130: "SQLITE_IOERR_SHMLOCK",
  5386: "SQLITE_IOERR_SHMMAP",
  6154: "SQLITE_IOERR_MMAP",
  8458: "SQLITE_IOERR_CORRUPTFS",
};

const NAMES: Readonly<Record<number, string>> = {
  [BUSY]: "SQLITE_BUSY",
  [READONLY]: "SQLITE_READONLY",
  [IOERR]: "SQLITE_IOERR",
  [FULL]: "SQLITE_FULL",
  [CANTOPEN]: "SQLITE_CANTOPEN",
};

const OF_THE_DISK: ReadonlySet<number> = new Set([READONLY, IOERR, FULL, CANTOPEN]);

/** Returns the primary result code; `undefined` for an error that SQLite did not report. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** True if SQLite reports that the disk refuses to read or write this database. */
export function isOfTheDisk(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && OF_THE_DISK.has(code);
}

export interface DatabasePlace {
  readonly disk: Disk;
  readonly path: string;
  /** Set if everything in the database can be rebuilt from elsewhere. */
  readonly isDerived?: true;
}

/**
 * Converts an SQLite error to a `ChronicleError`. Returns any other error unchanged. SQLite does not pass on the
 * system's error. After a disk error, a test write to the disk therefore finds the errno.
 * - `INTEGRITY_VIOLATION`: the file is not a sound database, has a format that SQLite does not know, lacks a table or a
 *   column, or has a row that breaks the rules of its table.
 * - `LOCKED`: another connection has locked the database.
 * - `IO`: everything else.
 */
export function fromSqlite(error: unknown, place: DatabasePlace): unknown {
  const code = sqliteCode(error);
  if (code === undefined || !(error instanceof Error)) return error;
  const { path } = place;
  const data = { path, sqlite: code };
  const foreign = code === GENERIC && /^(?:no such (?:table|column)|unsupported file format)/.test(error.message);
  if (foreign || code === CORRUPT || code === NOT_A_DATABASE || code === CONSTRAINT) {
    return new ChronicleError("INTEGRITY_VIOLATION", `${path}: ${error.message}`, { cause: error, data });
  }
  if (OF_THE_DISK.has(code)) return diskError(error, code, place);
  return new ChronicleError(code === BUSY ? "LOCKED" : "IO", `${path}: ${error.message}`, { cause: error, data });
}

function diskError(error: Error, code: number, { disk, path, isDerived }: DatabasePlace): ChronicleError {
  const said = CALLS[extendedCode(error) ?? code] ?? NAMES[code] ?? `SQLite's error ${code}`;
  // A temporary database has no path to probe.
  const errno =
    path === ""
      ? undefined
      : (refusedWrite(disk, path) ?? whyNotWritable(disk, path.slice(0, Math.max(1, path.lastIndexOf("/")))));
  const known = code === FULL ? (errno ?? "ENOSPC") : errno;
  const why = known === undefined ? said : `${said}: ${known}`;
  const succeeded = path === "" ? undefined : PASSING;
  const next = known === undefined ? succeeded : hintOfErrno(known);
  const derived = isDerived === true ? DERIVED : "";
  const name = path === "" ? "a temporary database" : path;
  return new ChronicleError("IO", `${name}: ${error.message} (${why})`, {
    cause: error,
    hint: `${derived}${next ?? "check the disk, and try again"}`,
    data: { path, sqlite: code, ...optional({ errno: known }) },
  });
}

const PASSING =
  "a test write there succeeded, so try again; if it fails again, check the disk (`dmesg` lists its errors)";
const DERIVED = "nothing is lost: this file is derived, and Chronicle rebuilds it by itself; ";
