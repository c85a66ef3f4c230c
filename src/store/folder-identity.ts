import type { Disk } from "../disk/disk.ts";
import type { ListedWorkspace } from "./roots-cache.ts";
import { optional } from "../util/optional.ts";

interface FolderIdentity {
  readonly device: string;
  readonly inode: string;
  /** The birth time, in nanoseconds since 1970. Absent on a file system without birth times. */
  readonly born?: string;
}

/** Returns the identity of the entry at a path. Device and inode are `"0"` if there is no entry. */
export function identityAt(disk: Disk, path: string): FolderIdentity {
  const stat = disk.lstat(path);
  const born = stat === undefined ? undefined : disk.birthOf(path);
  return {
    device: String(stat?.dev ?? 0n),
    inode: String(stat?.ino ?? 0n),
    ...optional({ born }),
  };
}

type KnownFolder = Pick<ListedWorkspace, "device" | "inode" | "born" | "created">;

/**
 * True if the folder of a workspace is still at a path. If the path has the recorded device number, returns the result
 * of `isFolderOf`. Otherwise, inode and birth time decide, because a file system may get another device number at each
 * mount.
 */
export function isFolderStillAt(disk: Disk, path: string, one: KnownFolder): boolean {
  const { device, inode, born } = identityAt(disk, path);
  if (inode === "0" || device === one.device) return isFolderOf(disk, path, one);
  return inode === one.inode && born !== undefined && born === one.born;
}

/**
 * True if the folder of a workspace is at a path, even if somebody has moved the folder to this path. Device and inode
 * alone do not identify a folder, because a file system may reuse the inode of a removed folder. Therefore, the birth
 * times must be equal. If the record has no birth time, the folder must not be younger than the workspace. On a file
 * system without birth times, only device and inode are compared.
 */
export function isFolderOf(disk: Disk, path: string, one: KnownFolder): boolean {
  const { device, inode, born } = identityAt(disk, path);
  if (inode === "0" || device !== one.device || inode !== one.inode) return false;
  if (born === undefined) return true;
  if (one.born !== undefined) return born === one.born;
  return BigInt(born) <= BigInt(Date.parse(one.created) + 1) * 1_000_000n;
}

/**
 * Returns a function that returns the time since which an origin's folder has been missing, in epoch milliseconds. This
 * is the time of the first call that did not find the folder. The function returns `undefined` if the folder exists, or
 * if the origin has no folder.
 */
export function folderPresence(disk: Disk, folder: string, now: () => number): () => number | undefined {
  let since: number | undefined;
  return () => {
    since = folder === "" || isFolder(disk, folder) ? undefined : (since ?? now());
    return since;
  };
}

/** True if there is a folder at the path. False if the path cannot be inspected (a dead mount, no permission). */
function isFolder(disk: Disk, folder: string): boolean {
  try {
    return disk.lstat(folder)?.kind === "dir";
  } catch {
    return false;
  }
}
