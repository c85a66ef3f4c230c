import { fileURLToPath } from "node:url";
import type { Disk } from "../disk/disk.ts";

/**
 * A mark that changes when this program is installed anew: after that, this process cannot load the old program's
 * chunks any more.
 */
export function codeMark(disk: Disk): string {
  const stat = disk.lstat(fileURLToPath(import.meta.url));
  return stat === undefined ? "gone" : `${stat.ino} ${stat.mtimeNs}`;
}
