import { childOf, decodeName, type WorkspacePath } from "../core/path.ts";
import type { ConfinedFs } from "./confined-fs.ts";

/** Removes a folder of our own with everything in it. */
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
