import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Copies a folder with modes and times. Without the modes, others could reach a store in it, and such a store is not
 * served.
 */
export function copied(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  execFileSync("cp", ["-a", `${from}/.`, to]);
}

/**
 * Replaces the content of a folder but not the folder itself, because a machine that is restored from a backup has the
 * same inodes.
 */
export function replaceIn(folder: string, from: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  copied(from, folder);
}

/** Returns the content of all files below a folder, by relative path. */
export function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return Object.fromEntries(files.sort().map((file) => [file.slice(folder.length + 1), readFileSync(file, "utf8")]));
}

/** Writes a file and the folders above it. `undefined` removes the file. */
export function put(folder: string, path: string, text: string | undefined): void {
  const at = join(folder, path);
  mkdirSync(join(at, ".."), { recursive: true });
  if (text === undefined) rmSync(at);
  else writeFileSync(at, text);
}
