import { ChronicleError } from "../../core/errors.ts";

const GENERIC = 1;
const BUSY = 5;
const CORRUPT = 11;
const CONSTRAINT = 19;
const NOT_A_DATABASE = 26;

/** The primary result code of an error that SQLite raised, or `undefined` for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** Is it held by another connection? */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/**
 * The same trouble as a `ChronicleError`: `INTEGRITY_VIOLATION` when the file is not a sound database, lacks a table, or
 * a row breaks its table's rules, `LOCKED` when another connection holds it, else `IO`.
 */
export function fromSqlite(error: unknown, path: string): unknown {
  const code = sqliteCode(error);
  if (code === undefined || !(error instanceof Error)) return error;
  const details = { cause: error, data: { path, sqlite: code } };
  const foreign = code === GENERIC && /^no such (?:table|column)/.test(error.message);
  if (foreign || code === CORRUPT || code === NOT_A_DATABASE || code === CONSTRAINT) {
    return new ChronicleError("INTEGRITY_VIOLATION", `${path}: ${error.message}`, details);
  }
  return new ChronicleError(code === BUSY ? "LOCKED" : "IO", `${path}: ${error.message}`, details);
}
