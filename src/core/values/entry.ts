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
  return sameEntry(a, b) && a?.size === b?.size && a?.mtimeMs === b?.mtimeMs && a?.class === b?.class;
}

/** The kind of difference between two states of a path. */
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

const EARLIEST_MS = Number(EARLIEST_NS / 1_000_000n);
const LATEST_MS = Number(LATEST_NS / 1_000_000n);

/** Clamps a file's time to the range that can be stored: 1677-09-21 to 2262-04-11. */
export function keptTime(ns: bigint): bigint {
  if (ns > LATEST_NS) return LATEST_NS;
  return ns < EARLIEST_NS ? EARLIEST_NS : ns;
}

/** True if a recorded time, in milliseconds, is the file's own. False if it may have been clamped. */
export function isKeptTime(ms: number): boolean {
  return ms > EARLIEST_MS && ms < LATEST_MS;
}
