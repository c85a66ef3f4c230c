import type { Disk } from "../disk/disk.ts";
import type { ListedWorkspace } from "./roots-cache.ts";
import { optional } from "../util/optional.ts";

/** The properties that tell a folder from every other one, as a workspace's record keeps them. */
interface FolderIdentity {
  readonly device: string;
  readonly inode: string;
  /** Its birth time, in nanoseconds since 1970; not every file system has it. */
  readonly born?: string;
}

/** Returns the identity of the entry at a path; `"0"` if there is none. */
export function identityAt(disk: Disk, path: string): FolderIdentity {
  const stat = disk.lstat(path);
  const born = stat === undefined ? undefined : disk.birthOf(path);
  return {
    device: String(stat?.dev ?? 0n),
    inode: String(stat?.ino ?? 0n),
    ...optional({ born }),
  };
}

/** The fields of a workspace's record about its folder. */
type KnownFolder = Pick<ListedWorkspace, "device" | "inode" | "born" | "created">;

/**
 * True if the folder of a workspace still lies at the path where it was recorded. A file system that was mounted anew
 * may have another device number: then inode and birth time decide.
 */
export function isFolderStillAt(disk: Disk, path: string, one: KnownFolder): boolean {
  const { device, inode, born } = identityAt(disk, path);
  if (inode === "0" || device === one.device) return isFolderOf(disk, path, one);
  return inode === one.inode && born !== undefined && born === one.born;
}

/**
 * True if the folder of a workspace lies at a path, wherever it lay before. Device and inode alone do not show it: a
 * file system gives the inode of a removed folder to the next one that is made. A history from before births were
 * recorded began in a folder that was there already.
 */
export function isFolderOf(disk: Disk, path: string, one: KnownFolder): boolean {
  const { device, inode, born } = identityAt(disk, path);
  if (inode === "0" || device !== one.device || inode !== one.inode) return false;
  if (born === undefined) return true;
  if (one.born !== undefined) return born === one.born;
  return BigInt(born) <= BigInt(Date.parse(one.created) + 1) * 1_000_000n;
}

/**
 * Returns a function that tells since when the folder of an origin is not there, by the origin's clock (epoch
 * milliseconds), counted from the first call that missed it; `undefined`: it is there, or there is none.
 */
export function folderPresence(disk: Disk, folder: string, now: () => number): () => number | undefined {
  let since: number | undefined;
  return () => {
    since = folder === "" || isFolder(disk, folder) ? undefined : (since ?? now());
    return since;
  };
}

/** True if the folder is there. One that cannot be read (a dead mount, no permission) is not. */
function isFolder(disk: Disk, folder: string): boolean {
  try {
    return disk.lstat(folder)?.kind === "dir";
  } catch {
    return false;
  }
}
