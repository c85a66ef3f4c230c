import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** With modes and times: a store that others can reach is not served. */
export function copied(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  execFileSync("cp", ["-a", `${from}/.`, to]);
}

/** Replaces the content of a folder but not the folder itself: a machine that is put back has the same inodes. */
export function replaceIn(folder: string, from: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  copied(from, folder);
}

/** The files of a folder with their content. */
export function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return Object.fromEntries(files.sort().map((file) => [file.slice(folder.length + 1), readFileSync(file, "utf8")]));
}

/** Writes a file, with the folders above it; `undefined`: removes it. */
export function put(folder: string, path: string, text: string | undefined): void {
  const at = join(folder, path);
  mkdirSync(join(at, ".."), { recursive: true });
  if (text === undefined) rmSync(at);
  else writeFileSync(at, text);
}
