import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { hookEntryPath } from "./program-paths.ts";

/**
 * Exit code of a process with an image if Node or the hook has changed since the image was made: EX_TEMPFAIL of
 * sysexits(3). Nothing was read from stdin by then.
 */
export const STALE_EXIT = 75;

/**
 * The argument in place of an agent's name with which the process only tells, by its exit code, whether the image is
 * current.
 */
export const IS_CURRENT = "--is-current";

/**
 * Node's flags for running the image. The seed of its hash tables was drawn when the image was made, for this user on
 * this machine: a new seed for each process would mean a search for three primes and a rehash of everything. A process
 * that ends within a moment need not collect its first 128 MiB of garbage thoroughly.
 */
export const IMAGE_FLAGS: readonly string[] = ["--no-rehash-snapshot", "--initial-heap-size=128"];

/**
 * Returns the path of the image for this Node and this hook in a store: the hook's program as it is in memory once
 * loaded (V8's startup snapshot). Starting from it takes a third less time than loading the program. Like all of
 * `cache/`, it may be missing.
 */
export function hookImagePath(home: string): string {
  const whose = createHash("sha256").update(`${process.execPath}\0${hookEntryPath()}`).digest("hex").slice(0, 12);
  return join(home, "cache", `hook-${whose}.blob`);
}

/**
 * Returns a mark of the files that an image was made of: it changes when Node or the hook is replaced. Packages are
 * unpacked with the same times in every version, so the whole stat of the hook counts, including its inode. The ctime
 * of Node's own file does not count: hard links change it, and Node compares its version itself.
 */
export function programMark(disk: Disk): string {
  const node = disk.lstat(process.execPath);
  const hook = disk.lstat(hookEntryPath());
  return [node?.ino, node?.size, node?.mtimeNs, hook?.ino, hook?.size, hook?.mtimeNs, hook?.ctimeNs].join(" ");
}
