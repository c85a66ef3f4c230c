import type { FileStat } from "../disk/disk.ts";

/** How close to its last change a file must have been read for a later change to go unseen, in ns (coarse clocks). */
const RACY_NS = 2_000_000_000n;

/** Do two stats show the same, unchanged file? */
export function isSameStat(a: FileStat, b: FileStat): boolean {
  return (
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs &&
    a.ino === b.ino &&
    a.size === b.size &&
    a.dev === b.dev &&
    a.mode === b.mode &&
    a.kind === b.kind
  );
}

/** Do two stats show one inode with the same bytes, whatever happened to its names and its mode? */
export function isSameContent(a: FileStat, b: FileStat): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs && a.kind === b.kind;
}

/** Could a file, read at this time, have been changed again without its times showing it? */
export function isRacy(stat: FileStat, readAtNs: bigint): boolean {
  const newest = stat.mtimeNs > stat.ctimeNs ? stat.mtimeNs : stat.ctimeNs;
  return newest >= readAtNs - RACY_NS;
}
