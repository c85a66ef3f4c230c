import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { hookEntryPath } from "./program-paths.ts";

/**
 * The exit code of a process whose image does not match the present Node and hook (EX_TEMPFAIL of sysexits(3)). Such a
 * process has read nothing from stdin.
 */
export const STALE_EXIT = 75;

/**
 * The argument that takes the place of an agent's name if no call is to be answered. The exit code then only says
 * whether the image is current.
 */
export const IS_CURRENT = "--is-current";

/**
 * Node's flags for running the image. `--no-rehash-snapshot` keeps the seed of the hash tables that was chosen when the
 * image was made. Keeping the seed is harmless, because only this user on this machine uses it. With a new seed for
 * each process, Node would have to search for three primes and rehash all tables. `--initial-heap-size` avoids early
 * garbage collections, because the process ends before it has made 128 MiB of garbage.
 */
export const IMAGE_FLAGS: readonly string[] = ["--no-rehash-snapshot", "--initial-heap-size=128"];

/**
 * Returns the path of the image for this Node and this hook in a store. The image is a startup snapshot of V8: the
 * memory of a process that has loaded the hook's program. Starting from the image takes a third less time than loading
 * the program. Like everything in `cache/`, the image may be missing.
 */
export function hookImagePath(home: string): string {
  const whose = createHash("sha256").update(`${process.execPath}\0${hookEntryPath()}`).digest("hex").slice(0, 12);
  return join(home, "cache", `hook-${whose}.blob`);
}

/**
 * Returns a mark of the files from which an image was made. The mark changes when Node or the hook is replaced. The
 * mark includes the inode and the ctime of the hook, because the files of every version are unpacked with the same
 * modification times. The mark does not include the ctime of Node's file, because a new hard link changes the ctime.
 * Node itself compares its version with the version in the image.
 */
export function programMark(disk: Disk): string {
  const node = disk.lstat(process.execPath);
  const hook = disk.lstat(hookEntryPath());
  return [node?.ino, node?.size, node?.mtimeNs, hook?.ino, hook?.size, hook?.mtimeNs, hook?.ctimeNs].join(" ");
}
