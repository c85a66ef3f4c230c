import { dirname } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";

/**
 * Makes a folder and the missing folders above it, unless there is something. Another process may make the same folders
 * at the same time. The folders are not synced.
 */
export function makeMissingFolders(disk: Disk, folder: string, mode: number): void {
  if (disk.lstat(folder) !== undefined) return;
  makeMissingFolders(disk, dirname(folder), mode);
  try {
    disk.makeFolder(folder, mode);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
