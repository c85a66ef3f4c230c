import type { Disk } from "../disk/disk.ts";
import { errnoOf } from "../core/values/errors.ts";

/**
 * Returns the bytes of the files in a folder and beneath it; 0 if there is none. Files that go meanwhile do not count.
 */
export function treeSize(disk: Disk, folder: string): number {
  if (disk.lstat(folder) === undefined) return 0;
  let total = 0;
  for (const { name, kind } of listed(disk, folder)) {
    const path = `${folder}/${name.toString()}`;
    total += kind === "dir" ? treeSize(disk, path) : (disk.lstat(path)?.size ?? 0);
  }
  return total;
}

function listed(disk: Disk, folder: string): ReturnType<Disk["list"]> {
  try {
    return disk.list(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
