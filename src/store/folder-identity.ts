import type { Disk } from "../disk/disk.ts";
import type { ListedWorkspace } from "./roots-cache.ts";
import { optional } from "../util/optional.ts";

/** What tells a folder from every other one, as a workspace's record keeps it. */
export interface FolderIdentity {
  readonly device: string;
  readonly inode: string;
  /** When it was made, in nanoseconds since 1970; not every file system tells. */
  readonly born?: string;
}

/** The identity of what lies at a path; `"0"` where nothing does. */
export function identityAt(disk: Disk, path: string): FolderIdentity {
  const stat = disk.lstat(path);
  const born = stat === undefined ? undefined : disk.birthOf(path);
  return {
    device: String(stat?.dev ?? 0n),
    inode: String(stat?.ino ?? 0n),
    ...optional({ born }),
  };
}

/** What a workspace's record keeps of its folder. */
type KnownFolder = Pick<ListedWorkspace, "device" | "inode" | "born" | "created">;

/**
 * Whether the folder of a workspace still lies at the path where it was recorded. A file system that was mounted anew may have
 * another device number: there inode and birth tell.
 */
export function isFolderStillAt(disk: Disk, path: string, one: KnownFolder): boolean {
  const { device, inode, born } = identityAt(disk, path);
  if (inode === "0" || device === one.device) return isFolderOf(disk, path, one);
  return inode === one.inode && born !== undefined && born === one.born;
}

/**
 * Whether the folder of a workspace lies at a path, wherever it lay before. Device and inode alone do not show it: a file system
 * gives the inode of a removed folder to the next one that is made. A history from before births were recorded began in a folder
 * that was there already.
 */
export function isFolderOf(disk: Disk, path: string, one: KnownFolder): boolean {
  const { device, inode, born } = identityAt(disk, path);
  if (inode === "0" || device !== one.device || inode !== one.inode) return false;
  if (born === undefined) return true;
  if (one.born !== undefined) return born === one.born;
  return BigInt(born) <= BigInt(Date.parse(one.created) + 1) * 1_000_000n;
}
