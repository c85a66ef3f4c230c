import type { Hash } from "./hash.ts";
import type { WorkspacePath } from "./path.ts";

/** The kinds of things at a path of a workspace. Every directory is an entry too. */
export type EntryKind = "file" | "symlink" | "dir";

/**
 * The state of one path. Two entries are equal if kind, mode and hash are: the time is informative, and the size
 * follows from the hash.
 */
export interface Entry {
  readonly path: WorkspacePath;
  readonly kind: EntryKind;
  /** Permission bits, 0..0o7777. Always 0o777 for a symlink. */
  readonly mode: number;
  /** Bytes of content, or of the link target; 0 for a directory. */
  readonly size: number;
  /** Whole milliseconds since the epoch; 0 for a directory. */
  readonly mtimeMs: number;
  /** The nanoseconds of the time after `mtimeMs`: 1 to 999,999. `undefined`: 0, or not known. */
  readonly mtimeRestNs?: number | undefined;
  /** SHA-256 of the content, or of the link target; undefined for a directory. */
  readonly hash: Hash | undefined;
  /**
   * Present if the content was recorded as a secret because of the file's name. Missing for ordinary or not yet
   * recorded content.
   */
  readonly class?: "protected";
}

/** The mode recorded for every symlink: links have no mode of their own on Linux. */
export const SYMLINK_MODE = 0o777;

/** True if two entries (or absences) are the same state. */
export function sameEntry(a: Entry | undefined, b: Entry | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.kind === b.kind && a.mode === b.mode && a.hash === b.hash;
}

/** True if two entries (or absences) are the same recorded state, including the informative fields and the class. */
export function sameRecorded(a: Entry | undefined, b: Entry | undefined): boolean {
  return sameEntry(a, b) && a?.size === b?.size && hasSameTime(a, b) && a?.class === b?.class;
}

function hasSameTime(a: Entry | undefined, b: Entry | undefined): boolean {
  return a?.mtimeMs === b?.mtimeMs && (a?.mtimeRestNs ?? 0) === (b?.mtimeRestNs ?? 0);
}

type ChangeType = "created" | "modified" | "deleted" | "permissions_changed";

/** One path before and after. The two are never equal, and never both absent. */
export interface Change {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/**
 * Returns the type of a change. A change of kind is a modification; a change of the mode only is `permissions_changed`.
 */
export function changeType(change: Change): ChangeType {
  const { before, after } = change;
  if (before === undefined) return "created";
  if (after === undefined) return "deleted";
  return before.kind === after.kind && before.hash === after.hash ? "permissions_changed" : "modified";
}

/** The first and the last time that 64 bits of nanoseconds since 1970 can hold. */
const EARLIEST_NS = -(2n ** 63n);
const LATEST_NS = 2n ** 63n - 1n;

const NS_PER_MS = 1_000_000n;
const EARLIEST_MS = Number(EARLIEST_NS / NS_PER_MS);
const LATEST_MS = Number(LATEST_NS / NS_PER_MS);

/** Clamps a file's time to the range that can be stored: 1677-09-21 to 2262-04-11. */
export function keptTime(ns: bigint): bigint {
  if (ns > LATEST_NS) return LATEST_NS;
  return ns < EARLIEST_NS ? EARLIEST_NS : ns;
}

/** A time in an entry's two fields. */
export type EntryTime = Pick<Entry, "mtimeMs" | "mtimeRestNs">;

/** Splits a time, in nanoseconds since the epoch, into the two fields of an entry. */
export function entryTime(ns: bigint): EntryTime {
  const rest = Number(ns % NS_PER_MS);
  const ms = Number(ns / NS_PER_MS);
  if (rest < 0) return { mtimeMs: ms - 1, mtimeRestNs: rest + 1_000_000 };
  return { mtimeMs: ms, mtimeRestNs: restOfTime(rest) };
}

/** Returns the nanoseconds after the milliseconds in the form of an entry, which has none for 0. */
export function restOfTime(rest: number): number | undefined {
  return rest === 0 ? undefined : rest;
}

/** Returns the later time of two entries. */
export function laterTime(a: Entry | undefined, b: Entry | undefined): EntryTime {
  const [first, second] = [a, b].map((entry) => (entry === undefined ? 0n : timeNsOf(entry)));
  return entryTime((first ?? 0n) > (second ?? 0n) ? (first ?? 0n) : (second ?? 0n));
}

/** Returns the time of an entry in nanoseconds since the epoch. */
export function timeNsOf({ mtimeMs, mtimeRestNs = 0 }: EntryTime): bigint {
  return BigInt(mtimeMs) * NS_PER_MS + BigInt(mtimeRestNs);
}

/** True if a recorded time, in milliseconds, is the file's own. False if it may have been clamped. */
export function isKeptTime(ms: number): boolean {
  return ms > EARLIEST_MS && ms < LATEST_MS;
}
