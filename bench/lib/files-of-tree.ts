import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";

/**
 * Returns the paths of all files of a tree, except those in `.git` at its top. The paths are sorted, so that their
 * order is the same in all copies of the tree.
 */
export function filesOfTree(tree: string): string[] {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && relative(tree, entry.parentPath).split(sep, 1)[0] !== ".git")
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
