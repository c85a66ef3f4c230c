import { posix } from "node:path";
import { ChronicleError } from "../values/errors.ts";

/** Returns the path of a tracked root: the folder, or the file `only` in this folder if the root is a single file. */
export function placeOfRoot({ folder, only }: { readonly folder: string; readonly only?: string }): string {
  return only === undefined ? folder : `${folder === "/" ? "" : folder}/${only}`;
}

export function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/**
 * Checks and normalises a path that is stored or used later. The result is absolute, has no `.` or `..`, and does not
 * end with a slash unless it is `/`. `what` is the name of the option or variable for messages.
 *
 * Throws `USAGE` for a path that is not absolute, because a relative path would depend on the working directory of each
 * process. A path that begins with `~` is not absolute, because only shells replace `~`.
 */
export function wholePath(what: string, path: string): string {
  // A caller in JavaScript may pass a value of any type.
  if (typeof path === "string" && path.startsWith("/")) return posix.normalize(path).replace(/(?<=.)\/$/, "");
  throw new ChronicleError("USAGE", refusal(what, path), { hint: hintFor(path) });
}

function refusal(what: string, path: unknown): string {
  if (path === undefined || path === "") return `${what} is empty: an absolute path is needed`;
  if (typeof path !== "string") return `${what} is no absolute path, and no text: ${typeof path}`;
  return `${what} is no absolute path: ${JSON.stringify(path)}`;
}

function hintFor(path: unknown): string {
  const whole = "give the whole path, which begins with /";
  const isHome = typeof path === "string" && path.startsWith("~");
  return isHome ? `${whole}: only a shell replaces ~, and only if ~ is not quoted` : whole;
}
