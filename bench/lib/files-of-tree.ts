import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** The paths of the files of a tree, sorted, so that all copies of it have the same order. Without git's own folder. */
export function filesOfTree(tree: string): string[] {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && relative(tree, entry.parentPath).split(sep, 1)[0] !== ".git")
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
