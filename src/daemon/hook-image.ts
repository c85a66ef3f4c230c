import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { hookEntryPath } from "./program-paths.ts";

/**
 * What a process with an image ends with if Node or the hook has changed since the image was made: EX_TEMPFAIL of
 * sysexits(3). Nothing was read from stdin by then.
 */
export const STALE_EXIT = 75;

/** Instead of an agent's name: only says whether the image fits, by its exit code. */
export const IS_CURRENT = "--is-current";

/**
 * What Node is told beside the image. The seed of its hash tables was drawn when the image was made, for this user on
 * this machine: another one for each process would mean to search for three primes and to hash everything anew. And a
 * process that is over in a moment need not collect its first 128 MiB of garbage thoroughly.
 */
export const IMAGE_FLAGS: readonly string[] = ["--no-rehash-snapshot", "--initial-heap-size=128"];

/**
 * Where the image for this Node and this hook lies in a store: the hook's program as it is in memory once it is loaded
 * (V8's startup snapshot), which takes a process a third less than to load it anew. Like all of `cache/`, it may be gone.
 */
export function hookImagePath(home: string): string {
  const whose = createHash("sha256").update(`${process.execPath}\0${hookEntryPath()}`).digest("hex").slice(0, 12);
  return join(home, "cache", `hook-${whose}.blob`);
}

/**
 * Which files an image was made of: a mark that changes when Node or the hook is replaced. Packages are unpacked with the
 * same times in every version, so the hook's inode counts with all it has; Node compares its version by itself, and its
 * file is shared by hard links here and there, which change its ctime.
 */
export function programMark(disk: Disk): string {
  const node = disk.lstat(process.execPath);
  const hook = disk.lstat(hookEntryPath());
  return [node?.ino, node?.size, node?.mtimeNs, hook?.ino, hook?.size, hook?.mtimeNs, hook?.ctimeNs].join(" ");
}
