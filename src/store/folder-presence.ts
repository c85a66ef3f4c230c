import type { Disk } from "../disk/disk.ts";

/**
 * Since when the folder of an origin is not there, by its clock (epoch milliseconds), as far as it was asked for;
 * `undefined`: it is there, or there is none.
 */
export function folderPresence(disk: Disk, folder: string, now: () => number): () => number | undefined {
  let since: number | undefined;
  return () => {
    since = folder === "" || isFolder(disk, folder) ? undefined : (since ?? now());
    return since;
  };
}

/** One that cannot be looked at (a dead mount, no permission) is there for nobody. */
function isFolder(disk: Disk, folder: string): boolean {
  try {
    return disk.lstat(folder)?.kind === "dir";
  } catch {
    return false;
  }
}
