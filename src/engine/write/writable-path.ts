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

/** The reason why a path cannot be written, and the next step for the caller. */
interface Unwritable {
  readonly reason: string;
  readonly hint: string;
}

/** Returns the reason why a path is too long or too deep to be written; `undefined` if the path can be written. */
export function tooLong(path: WorkspacePath): Unwritable | undefined {
  const { path: inner } = splitRoot(path);
  const names = inner.split("/");
  const hint = "choose a shorter name";
  if (pathToBytes(inner).length > MAX_PATH_BYTES) return { reason: `it is longer than ${MAX_PATH_BYTES} bytes`, hint };
  if (names.some((name) => pathToBytes(name).length > MAX_NAME_BYTES))
    return { reason: `one of its names is longer than ${MAX_NAME_BYTES} bytes`, hint };
  if (names.length <= MAX_DEPTH) return undefined;
  return { reason: `it is more than ${MAX_DEPTH} folders deep`, hint: "give a path with fewer folders in it" };
}

export function unwritable(path: WorkspacePath, { reason, hint }: Unwritable): ChronicleError {
  const shown = displayPath(path).slice(0, 200);
  return new ChronicleError("PATH_INVALID", `path ${JSON.stringify(shown)} cannot be written: ${reason}`, {
    hint,
    data: { path: shown, reason },
  });
}
