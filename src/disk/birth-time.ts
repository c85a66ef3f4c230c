import { lstatSync, statfsSync, type PathLike } from "node:fs";

/**
 * File systems that give each folder the time when it was made, and never another one: ext2 to ext4, XFS, Btrfs, F2FS, ZFS,
 * tmpfs (the `f_type` of statfs(2)). Not overlays: what is copied up there is made anew.
 */
const KEEPS_BIRTHS: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994]);

/** Asked once: does the kernel tell of births? */
let isTold: boolean | undefined;

/**
 * When what has this name was made, in nanoseconds since 1970; `undefined`: nothing has that name, or its file system does not
 * keep that reliably. Throws where it cannot be looked at.
 */
export function birthTime(path: PathLike): string | undefined {
  if (process.platform !== "linux") return undefined;
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined || stat.birthtimeNs <= 0n) return undefined;
  isTold ??= ["/", process.execPath].some(hasOwnBirth);
  return isTold && KEEPS_BIRTHS.has(statfsSync(path).type) ? String(stat.birthtimeNs) : undefined;
}

/** Without statx(2) (an old kernel, or a sandbox that forbids it) Node tells the time of the last change in its place. */
function hasOwnBirth(path: string): boolean {
  const { birthtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
  return birthtimeNs > 0n && birthtimeNs !== ctimeNs;
}
