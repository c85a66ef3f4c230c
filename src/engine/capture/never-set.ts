import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import type { SkippedPath } from "./seen-absent.ts";

/**
 * The setuid, setgid and sticky bits. These bits are recorded, but never set on a file. If a state comes from another
 * copy of the history, these bits are not set on a folder either.
 */
export const NEVER_SET = 0o7000;

/**
 * The setuid bit, which a restore never sets on folders. A restore sets setgid and sticky on folders, because these
 * bits give nobody any rights and a shared folder needs them.
 */
const NEVER_SET_ON_FOLDERS = 0o4000;

export function settable(entry: Entry | undefined): Entry | undefined {
  if (entry === undefined || (entry.mode & NEVER_SET) === 0) return entry;
  return { ...entry, mode: entry.mode & ~NEVER_SET };
}

function restorable(entry: Entry | undefined): Entry | undefined {
  if (entry?.kind !== "dir") return settable(entry);
  return (entry.mode & NEVER_SET_ON_FOLDERS) === 0 ? entry : { ...entry, mode: entry.mode & ~NEVER_SET_ON_FOLDERS };
}

/** Returns the changes without the bits that are never set. Leaves out changes that change only such bits. */
export function makeable(changes: readonly Change[]): Change[] {
  return changes.flatMap(({ path, before, after }) => changeBetween(path, before, restorable(after)) ?? []);
}

/** Returns the changes that are not made, because they change only bits that are never set. */
export function neverSet(changes: readonly Change[]): SkippedPath[] {
  return changes.flatMap(({ path, before, after }) => {
    if (sameEntry(before, after) || !sameEntry(before, restorable(after))) return [];
    return [{ path, reason: "special-bits", detail: `${bitsOf(after)}, but never set` }];
  });
}

/** Returns the changes that are made, but without the bits that are never set. */
export function madeWithout(changes: readonly Change[]): SkippedPath[] {
  return changes.flatMap(({ path, before, after }) => {
    const made = restorable(after);
    if (made === after || sameEntry(before, made)) return [];
    return [
      { path, reason: "special-bits", detail: `${bitsOf(after)}, but never set: the path comes back without them` },
    ];
  });
}

function bitsOf(entry: Entry | undefined): string {
  return entry?.kind === "dir" ? "setuid is recorded" : "setuid, setgid and sticky are recorded";
}
