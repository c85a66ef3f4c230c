import type { Disk, DiskPath } from "./disk.ts";

/** Removes a folder with everything in it. Does nothing if the path is no folder. Follows no links. */
export function removeTree(disk: Disk, folder: DiskPath): void {
  if (disk.lstat(folder)?.kind !== "dir") return;
  for (const { name, kind } of disk.list(folder)) {
    const path = Buffer.concat([Buffer.from(folder), Buffer.from("/"), name]);
    if (kind === "dir") removeTree(disk, path);
    else disk.unlink(path);
  }
  disk.removeFolder(folder);
}
