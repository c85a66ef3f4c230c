import type { FileStat } from "../../disk/disk.ts";

/** A file that was read within this time of its last change may have changed again unseen, in ns (coarse clocks). */
const RACY_NS = 2_000_000_000n;

/** Two stamps of one clock that are this far apart differ on every file system with sub-second times, in ns. */
const TICK_NS = 20_000_000n;
const SECOND_NS = 1_000_000_000n;

/** True if two stats show the same, unchanged file. */
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

/** True if two stats show one inode with the same bytes, whatever happened to its names and mode. */
export function isSameContent(a: FileStat, b: FileStat): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs && a.kind === b.kind;
}

/** True if a file, read at this time, could have been changed again without its times showing it. */
export function isRacy(stat: FileStat, readAtNs: bigint): boolean {
  const newest = stat.mtimeNs > stat.ctimeNs ? stat.mtimeNs : stat.ctimeNs;
  return newest >= readAtNs - RACY_NS;
}

/**
 * True if a later write to this file will certainly show in its times. The file was written where nobody else could
 * reach it, and then given its name. A later write moves the mtime to the time of the naming or later, which is a tick
 * away. (Unless the writer sets the time back within that tick, to the nanosecond.) False if the file system has no
 * sub-second times, or the two times are closer than a tick.
 */
export function isCertain(written: FileStat, named: FileStat): boolean {
  const { mtimeNs, ctimeNs } = named;
  return isSameContent(written, named) && mtimeNs % SECOND_NS !== 0n && ctimeNs - mtimeNs >= TICK_NS;
}
