import type { FileStat } from "../../disk/disk.ts";

/**
 * The time, in ns, for which reads of a file are racy after a change of the file. The clocks of file systems are
 * coarse, so a further change soon after a racy read may leave the file's times as they are.
 */
const RACY_NS = 2_000_000_000n;

/** A difference between two times, in ns, that every file system with sub-second times can record. */
const TICK_NS = 20_000_000n;
/** A difference between two times, in ns, that every file system with times finer than a millisecond can record. */
const FINE_TICK_NS = 100_000n;
const MILLISECOND_NS = 1_000_000n;
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

/**
 * True if two stats are of the same file, and neither size nor mtime shows a change of its bytes. Names and mode may
 * differ.
 */
export function isSameContent(a: FileStat, b: FileStat): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs && a.kind === b.kind;
}

/**
 * True if a file that was read at `readAtNs` (ns since the epoch) could have been changed afterwards without a change
 * of its times.
 */
export function isRacy(stat: FileStat, readAtNs: bigint): boolean {
  const newest = stat.mtimeNs > stat.ctimeNs ? stat.mtimeNs : stat.ctimeNs;
  return newest >= readAtNs - RACY_NS;
}

/**
 * True if every later write to this file shows in its stat, however soon the write follows. `written` is the stat after
 * the file was written in a place that no other program could reach. `named` is the stat after the file got its name.
 * The naming changed only the ctime. A write sets mtime and ctime to the same time. In `named`, the two times differ,
 * so every write changes at least one of them. This holds even within one tick of the clock, and even if the clock is
 * set back. (The only exception is a writer that sets the mtime back to exactly its old value, within the same tick as
 * the naming.) False if the two times may differ only because the file system rounds them differently.
 */
export function isCertain(written: FileStat, named: FileStat): boolean {
  const { mtimeNs, ctimeNs } = named;
  if (!isSameContent(written, named) || mtimeNs % SECOND_NS === 0n) return false;
  return ctimeNs - mtimeNs >= (mtimeNs % MILLISECOND_NS === 0n ? TICK_NS : FINE_TICK_NS);
}
