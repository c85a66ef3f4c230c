import { basename, dirname, join } from "node:path";
import type { NameRules } from "../core/find-collisions.ts";
import type { Disk } from "../disk/disk.ts";

/**
 * What the disk of a folder does to names, found out without writing anything: the folder, or the nearest one above it that
 * has letters in its name, is looked for with its case the other way round. `undefined`: it keeps all names apart.
 */
export function namesOnDisk(disk: Disk, folder: string): NameRules | undefined {
  for (let path = folder; path !== "/"; path = dirname(path)) {
    const swapped = swappedCase(basename(path));
    if (swapped === basename(path)) continue;
    const [own, other] = [disk.lstat(path), disk.lstat(join(dirname(path), swapped))];
    const isOne = own !== undefined && other !== undefined && own.ino === other.ino && own.dev === other.dev;
    // Every disk that takes cases for one and the same also composes names: APFS, HFS+.
    return isOne ? { caseInsensitive: true, normalise: true } : undefined;
  }
  return undefined;
}

function swappedCase(name: string): string {
  const upper = name.toUpperCase();
  return upper === name ? name.toLowerCase() : upper;
}
