import { ChronicleError } from "./errors.ts";
import type { Json, RecordBody } from "./event.ts";
import { isHash, type Hash } from "./hash.ts";

// Strict readers of a record's fields. A missing field, or a field of another type, is damage (`LOG_DAMAGED`). No
// default value replaces such a field.

/** Throws `LOG_DAMAGED`, with a message about `what`. */
export function damaged(what: string): never {
  throw new ChronicleError("LOG_DAMAGED", `a record is not what it should be: ${what}`);
}

/**
 * Calls `read` to read a path from a record. If `read` throws `PATH_INVALID`, throws `LOG_DAMAGED` with that error as
 * its cause. The invalid path comes from the log, and not from a caller.
 */
export function recordedPath<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isRefusedPath(cause)) throw cause;
    throw new ChronicleError("LOG_DAMAGED", `a record is not what it should be: ${cause.message}`, { cause });
  }
}

/** Returns true for a `PATH_INVALID` error, and for a `LOG_DAMAGED` error that has such an error as its cause. */
export function isRefusedPath(error: unknown): error is ChronicleError {
  if (!(error instanceof ChronicleError)) return false;
  return error.code === "PATH_INVALID" || (error.code === "LOG_DAMAGED" && isRefusedPath(error.cause));
}

export function text(body: RecordBody, key: string): string {
  const value = body[key];
  return typeof value === "string" ? value : damaged(`${key} is not text`);
}

/** Returns the text in a field, or `undefined` if the field is missing. Any other value is damage. */
export function optionalText(body: RecordBody, key: string): string | undefined {
  return body[key] === undefined ? undefined : text(body, key);
}

export function whole(body: RecordBody, key: string): number {
  const value = body[key];
  return typeof value === "number" && Number.isSafeInteger(value) ? value : damaged(`${key} is not a whole number`);
}

export function oneOf<T extends string>(body: RecordBody, key: string, words: ReadonlySet<T>): T {
  const value = text(body, key);
  return (words as ReadonlySet<string>).has(value) ? (value as T) : damaged(`${key} is ${JSON.stringify(value)}`);
}

/** Returns `null` if the field is null; otherwise the result of `read`. */
export function orNull<T>(body: RecordBody, key: string, read: (body: RecordBody, key: string) => T): T | null {
  return body[key] === null ? null : read(body, key);
}

export function flag(body: RecordBody, key: string): boolean {
  const value = body[key];
  return typeof value === "boolean" ? value : damaged(`${key} is not true or false`);
}

export function hashOf(body: RecordBody, key: string): Hash {
  const value = text(body, key);
  return isHash(value) ? value : damaged(`${key} is not a hash`);
}

export function list(body: RecordBody, key: string): readonly Json[] {
  const value = body[key];
  return Array.isArray(value) ? (value as readonly Json[]) : damaged(`${key} is not a list`);
}

export function texts(body: RecordBody, key: string): readonly string[] {
  return list(body, key).map((item) =>
    typeof item === "string" ? item : damaged(`${key} holds something other than text`),
  );
}

export function object(value: Json | undefined, what: string): RecordBody {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return damaged(`${what} is not an object`);
  return value as RecordBody;
}

/** Parses a text as JSON. Throws `LOG_DAMAGED` if it is not JSON. */
export function jsonOf(value: string, key: string): Json {
  try {
    return JSON.parse(value) as Json;
  } catch {
    return damaged(`${key} holds a text that is not JSON`);
  }
}
