import { lstatSync, statfsSync, type PathLike } from "node:fs";

/**
 * File systems that give each folder its birth time and never change it: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs
 * (the `f_type` of statfs(2)). Not overlays, because files that are copied up there are made anew.
 */
const KEEPS_BIRTHS: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994]);

/** Whether the kernel reports birth times. Determined once. */
let isTold: boolean | undefined;

/**
 * Returns the birth time of the file or folder with this name, in nanoseconds since 1970. Returns `undefined` if
 * nothing has that name, or if its file system does not store birth times reliably. Throws if it cannot be read.
 */
export function birthTime(path: PathLike): string | undefined {
  if (process.platform !== "linux") return undefined;
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined || stat.birthtimeNs <= 0n) return undefined;
  isTold ??= ["/", process.execPath].some(hasOwnBirth);
  return isTold && KEEPS_BIRTHS.has(statfsSync(path).type) ? String(stat.birthtimeNs) : undefined;
}

/** Without statx(2) (an old kernel, or a sandbox that forbids it) Node returns the time of the last change instead. */
function hasOwnBirth(path: string): boolean {
  const { birthtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
  return birthtimeNs > 0n && birthtimeNs !== ctimeNs;
}
