import { ChronicleError } from "../../core/values/errors.ts";
import { displayPath, pathToBytes, splitRoot, type WorkspacePath } from "../../core/values/path.ts";

/**
 * The maximum length, in bytes, of a path that a file system accepts. A longer path could be recorded, but not made on
 * disk.
 */
const MAX_PATH_BYTES = 4_095;
/** The maximum length, in bytes, of a name that a file system accepts. */
const MAX_NAME_BYTES = 255;
/**
 * The maximum number of names in a path that can be written. Without this limit, one write could record any number of
 * new folders.
 */
const MAX_DEPTH = 256;

/** Returns the reason why a path is too long or too deep to be written; `undefined` if the path can be written. */
export function tooLong(path: WorkspacePath): string | undefined {
  const { path: inner } = splitRoot(path);
  const names = inner.split("/");
  if (pathToBytes(inner).length > MAX_PATH_BYTES) return `it is longer than ${MAX_PATH_BYTES} bytes`;
  if (names.some((name) => pathToBytes(name).length > MAX_NAME_BYTES))
    return `one of its names is longer than ${MAX_NAME_BYTES} bytes`;
  return names.length > MAX_DEPTH ? `it is more than ${MAX_DEPTH} folders deep` : undefined;
}

export function unwritable(path: WorkspacePath, reason: string): ChronicleError {
  const shown = displayPath(path).slice(0, 200);
  return new ChronicleError("PATH_INVALID", `path ${JSON.stringify(shown)} cannot be written: ${reason}`, {
    hint: reason.includes("longer") ? "choose a shorter name" : "give a path with fewer folders in it",
    data: { path: shown, reason },
  });
}
