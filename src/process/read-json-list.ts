import { resolve } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import { readWholeFile } from "./user-files.ts";
import { usageError } from "./usage-error.ts";

/** Returns the JSON array in a file. Throws `USAGE` if the file cannot be read or does not contain a JSON array. */
export function readJsonList(file: string, cwd: string): readonly unknown[] {
  const text = readUserFile(file, cwd);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(`${file} is not JSON: ${why}`, "the file must hold a JSON array of events");
  }
  if (!Array.isArray(value))
    throw usageError(`${file} holds no JSON array`, "the file must hold a JSON array of events");
  return value;
}

/** Like `readUserBytes`, but returns the content as UTF-8 text. Bytes that are not UTF-8 become U+FFFD. */
export function readUserFile(file: string, cwd: string, option?: string): string {
  return readUserBytes(file, cwd, option).toString("utf8");
}

/**
 * Reads a file. A relative path is relative to `cwd`. `option`, if given, is the option that named the file, for the
 * error message. Throws `USAGE` if the file cannot be read.
 */
export function readUserBytes(file: string, cwd: string, option?: string): Buffer {
  try {
    return readWholeFile(resolve(cwd, file));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    throw usageError(
      `cannot read ${option === undefined ? "" : `${option} `}${file}: ${errno}`,
      "name a file that can be read",
    );
  }
}
