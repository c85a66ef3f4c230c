import { fileURLToPath } from "node:url";
import type { Disk } from "../disk/disk.ts";

/**
 * Changes when this program is installed anew: an installed program that was replaced has chunks that this process cannot load
 * any more.
 */
export function codeMark(disk: Disk): string {
  const stat = disk.lstat(fileURLToPath(import.meta.url));
  return stat === undefined ? "gone" : `${stat.ino} ${stat.mtimeNs}`;
}
