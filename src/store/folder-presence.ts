import type { Disk } from "../disk/disk.ts";

/**
 * Returns a function that tells since when the folder of an origin is not there, by the origin's clock (epoch
 * milliseconds), counted from the first call that missed it; `undefined`: it is there, or there is none.
 */
export function folderPresence(disk: Disk, folder: string, now: () => number): () => number | undefined {
  let since: number | undefined;
  return () => {
    since = folder === "" || isFolder(disk, folder) ? undefined : (since ?? now());
    return since;
  };
}

/** True if the folder is there. One that cannot be read (a dead mount, no permission) is not. */
function isFolder(disk: Disk, folder: string): boolean {
  try {
    return disk.lstat(folder)?.kind === "dir";
  } catch {
    return false;
  }
}
