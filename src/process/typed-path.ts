import { isAbsolute, resolve } from "node:path";
import { usageError } from "./usage-error.ts";

/**
 * A path of this machine as it was typed, seen from the folder one stands in. An empty one would mean that folder itself, and a
 * `~` that no shell has replaced a folder of that name in it: both are refused. `what` names the option or argument. Throws
 * `USAGE`. A function for `cwd` is called only for a relative path: the folder one stands in may be gone.
 */
export function typedPath(cwd: string | (() => string), what: string, typed: string): string {
  if (typed === "") throw usageError(`${what} is empty`, "give a path; the folder you stand in is .");
  if (typed.startsWith("~")) {
    const hint = `give the whole path: only a shell replaces ~, where it is not quoted; for that very name: ./${typed}`;
    throw usageError(`${what} begins with ~, which nobody has replaced: ${typed}`, hint);
  }
  if (isAbsolute(typed)) return resolve(typed);
  return resolve(typeof cwd === "string" ? cwd : cwd(), typed);
}
