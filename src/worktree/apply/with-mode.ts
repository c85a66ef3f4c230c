import { errnoOf } from "../../core/values/errors.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";

/** Errnos of a file system that keeps no modes. */
const KEEPS_NONE: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Permission bits that a folder's default access control list may clear in new files. */
const PLAIN = 0o777;

/** Ensures that a new file or folder of ours has the mode that it was made with. Returns its stat. */
export function withMode(disk: Disk, { fd }: { readonly fd: number }, mode: number): FileStat {
  const stat = disk.fstat(fd);
  if (((stat.mode ^ mode) & PLAIN) === 0) return stat;
  try {
    disk.chmod(fd, (mode & PLAIN) | (stat.mode & ~PLAIN));
  } catch (error) {
    if (!KEEPS_NONE.has(errnoOf(error) ?? "")) throw error;
  }
  return disk.fstat(fd);
}
