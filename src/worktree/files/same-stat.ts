import type { FileStat } from "../../disk/disk.ts";

/** How close to its last change a file must have been read for a later change to go unseen, in ns (coarse clocks). */
const RACY_NS = 2_000_000_000n;

/** Two stamps of one clock that are so far apart differ, on all file systems that tell parts of a second, in ns. */
const TICK_NS = 20_000_000n;
const SECOND_NS = 1_000_000_000n;

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

/**
 * A file that was written where nobody else could reach it, and then given its name: is it certain that a later write will
 * show in its times? It moves the time of modification to the time of the name or later, and that is a tick away. (Unless
 * whoever writes within that tick sets the time back to what it was, to the nanosecond.) Where the file system does not
 * tell parts of a second, or there is less between the two, it is not.
 */
export function isCertain(written: FileStat, named: FileStat): boolean {
  const { mtimeNs, ctimeNs } = named;
  return isSameContent(written, named) && mtimeNs % SECOND_NS !== 0n && ctimeNs - mtimeNs >= TICK_NS;
}
