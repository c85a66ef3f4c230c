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
   * Set if the content was recorded as a secret because of the file's name. Missing for ordinary or not yet recorded
   * content.
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
