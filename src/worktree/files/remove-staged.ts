import { NOT_EMPTY } from "../../core/values/errno.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { childOf, decodeName, type WorkspacePath } from "../../core/values/path.ts";
import { isStagedBeside } from "../../core/tree/staging-folder.ts";
import type { ConfinedFs } from "./confined-fs.ts";

/** Removes a folder or file that Chronicle made, with all its contents, if it exists. */
export function removeTree(fs: ConfinedFs, folder: WorkspacePath): void {
  const stat = fs.lstat(folder);
  if (stat === undefined) return;
  if (stat.kind !== "dir") {
    fs.unlink(folder);
    return;
  }
  if ((stat.mode & 0o700) !== 0o700) fs.chmod(folder, stat.mode | 0o700, "dir");
  const inner: WorkspacePath[] = [];
  for (const { name, kind } of fs.list(folder)) {
    const path = childOf(folder, decodeName(name));
    if (kind === "dir") inner.push(path);
    else fs.unlink(path);
  }
  for (const path of inner) removeTree(fs, path);
  fs.removeFolder(folder);
}

/**
 * Removes a folder that is empty, or holds only files that an interrupted apply has staged. If the folder has other
 * contents, removes only the staged files, and throws the disk's error.
 */
export function removeLeftFolder(fs: ConfinedFs, folder: WorkspacePath): void {
  try {
    fs.removeFolder(folder);
  } catch (error) {
    const left = NOT_EMPTY.has(errnoOf(error) ?? "") ? stagedIn(fs, folder) : [];
    if (left.length === 0) throw error;
    for (const path of left) removeTree(fs, path);
    fs.removeFolder(folder);
  }
}

function stagedIn(fs: ConfinedFs, folder: WorkspacePath): WorkspacePath[] {
  const names = fs.list(folder).map(({ name }) => decodeName(name));
  return names.filter((name) => isStagedBeside(name)).map((name) => childOf(folder, name));
}
