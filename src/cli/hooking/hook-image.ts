import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../../disk/disk.ts";
import { hookEntryPath } from "./program-paths.ts";

/**
 * What a process with an image ends with if Node or the hook has changed since the image was made: EX_TEMPFAIL of
 * sysexits(3). Nothing was read from stdin by then.
 */
export const STALE_EXIT = 75;

/** Instead of an agent's name: only says whether the image fits, by its exit code. */
export const IS_CURRENT = "--is-current";

/**
 * Where the image for this Node and this hook lies in a store: the hook's program as it is in memory once it is loaded
 * (V8's startup snapshot), which takes a process a third less than to load it anew. Like all of `cache/`, it may be gone.
 */
export function hookImagePath(home: string): string {
  const whose = createHash("sha256").update(`${process.execPath}\0${hookEntryPath()}`).digest("hex").slice(0, 12);
  return join(home, "cache", `hook-${whose}.blob`);
}

/**
 * Which files an image was made of: a mark that changes when Node or the hook is replaced. Times alone do not tell:
 * packages are unpacked with the same time in every version.
 */
export function programMark(disk: Disk): string {
  return [process.execPath, hookEntryPath()]
    .map((path) => {
      const stat = disk.lstat(path);
      return stat === undefined ? "gone" : [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(" ");
    })
    .join(", ");
}
