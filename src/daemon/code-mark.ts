import { fileURLToPath } from "node:url";
import type { Disk } from "../disk/disk.ts";

/**
 * Returns a mark that changes when Chronicle is installed anew. After such a change, a process that keeps running must
 * end, because it can no longer load the files of the old program.
 */
export function codeMark(disk: Disk): string {
  const stat = disk.lstat(fileURLToPath(import.meta.url));
  return stat === undefined ? "gone" : `${stat.ino} ${stat.mtimeNs}`;
}
