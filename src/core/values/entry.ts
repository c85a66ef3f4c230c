import type { Hash } from "./hash.ts";
import type { WorkspacePath } from "./path.ts";

/** The kinds of things at a path of a workspace. Every directory is an entry too. */
export type EntryKind = "file" | "symlink" | "dir";

/**
 * The state of one path. Two entries are equal if kind, mode and hash are equal. The time and the size are not
 * compared, because the time is only informative, and the size follows from the hash.
 */
export interface Entry {
  readonly path: WorkspacePath;
  readonly kind: EntryKind;
  /** Permission bits, 0..0o7777. Always 0o777 for a symlink. */
  readonly mode: number;
  /** The length of the content or of the link target, in bytes; 0 for a directory. */
  readonly size: number;
  /** The time of modification, in whole milliseconds since the epoch; 0 for a directory. */
  readonly mtimeMs: number;
  /**
   * The part of the modification time below one millisecond, in nanoseconds, from 1 to 999,999; `undefined` if this
   * part is 0 or unknown.
   */
  readonly mtimeRestNs?: number | undefined;
  /** The SHA-256 of the content or of the link target; `undefined` for a directory. */
  readonly hash: Hash | undefined;
  /**
   * Set if the content was recorded as a secret because of the file's name. Omitted for content that is ordinary or not
   * recorded yet.
   */
  readonly class?: "protected";
}

/** The mode that is recorded for every symlink, because symlinks have no mode of their own on Linux. */
export const SYMLINK_MODE = 0o777;

/** Returns true if two states are equal: both absent, or with the same kind, mode and hash. */
export function sameEntry(a: Entry | undefined, b: Entry | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.kind === b.kind && a.mode === b.mode && a.hash === b.hash;
}

/** Like `sameEntry`, but also compares the informative fields and the class. */
export function sameRecorded(a: Entry | undefined, b: Entry | undefined): boolean {
  return sameEntry(a, b) && a?.size === b?.size && hasSameTime(a, b) && a?.class === b?.class;
}

function hasSameTime(a: Entry | undefined, b: Entry | undefined): boolean {
  return a?.mtimeMs === b?.mtimeMs && (a?.mtimeRestNs ?? 0) === (b?.mtimeRestNs ?? 0);
}

type ChangeType = "created" | "modified" | "deleted" | "permissions_changed";

/**
 * The states of one path before and after a change. The two states are never equal, so at most one of them is absent.
 */
export interface Change {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/**
 * Returns the type of a change. A change of the kind counts as `modified`. A change of only the mode counts as
 * `permissions_changed`.
 */
export function changeType(change: Change): ChangeType {
  const { before, after } = change;
  if (before === undefined) return "created";
  if (after === undefined) return "deleted";
  return before.kind === after.kind && before.hash === after.hash ? "permissions_changed" : "modified";
}

/** The first and the last time that 64 bits of nanoseconds since 1970 can represent. */
const EARLIEST_NS = -(2n ** 63n);
const LATEST_NS = 2n ** 63n - 1n;

const NS_PER_MS = 1_000_000n;
const EARLIEST_MS = Number(EARLIEST_NS / NS_PER_MS);
const LATEST_MS = Number(LATEST_NS / NS_PER_MS);

/** Clamps a file's time, in nanoseconds since 1970, to the range that can be stored: 1677-09-21 to 2262-04-11. */
export function keptTime(ns: bigint): bigint {
  if (ns > LATEST_NS) return LATEST_NS;
  return ns < EARLIEST_NS ? EARLIEST_NS : ns;
}

export type EntryTime = Pick<Entry, "mtimeMs" | "mtimeRestNs">;

/** Converts a time, in nanoseconds since the epoch, to the fields of an entry. */
export function entryTime(ns: bigint): EntryTime {
  const rest = Number(ns % NS_PER_MS);
  const ms = Number(ns / NS_PER_MS);
  if (rest < 0) return { mtimeMs: ms - 1, mtimeRestNs: rest + 1_000_000 };
  return { mtimeMs: ms, mtimeRestNs: restOfTime(rest) };
}

/** Converts a number of nanoseconds to the value of `mtimeRestNs`: 0 becomes `undefined`. */
export function restOfTime(rest: number): number | undefined {
  return rest === 0 ? undefined : rest;
}

/** Returns the later modification time of two entries. The time of an absent entry counts as 1970. */
export function laterTime(a: Entry | undefined, b: Entry | undefined): EntryTime {
  const [first, second] = [a, b].map((entry) => (entry === undefined ? 0n : timeNsOf(entry)));
  return entryTime((first ?? 0n) > (second ?? 0n) ? (first ?? 0n) : (second ?? 0n));
}

export function timeNsOf({ mtimeMs, mtimeRestNs = 0 }: EntryTime): bigint {
  return BigInt(mtimeMs) * NS_PER_MS + BigInt(mtimeRestNs);
}

/**
 * Returns true if a recorded time, in milliseconds since 1970, is the file's own time. Returns false if the time may
 * have been clamped.
 */
export function isKeptTime(ms: number): boolean {
  return ms > EARLIEST_MS && ms < LATEST_MS;
}
