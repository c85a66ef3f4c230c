import type { Entry } from "../../../core/values/entry.ts";
import type { FolderIdentity, ReplicaHalt } from "../../../core/records/replica-record.ts";

/**
 * Guards against a folder that is missing, replaced, or has lost much at once: a sync must not simply carry on. A disk
 * that is not mounted looks like that, and a sync that took it for somebody's work would delete everything on the other
 * side.
 */

/** The number of entries that may always go at once. */
const ALWAYS_MAY_GO = 50;

/** The halt for another folder in the place of the known one. */
export const ROOT_REPLACED: ReplicaHalt = {
  reason: "root-replaced",
  detail: "another folder is in the folder's place",
};

/**
 * Returns a halt if there is no folder, or it cannot be the known one. `known` undefined: no folder was seen yet. See
 * `isElsewhere`.
 */
export function checkRoot(known: FolderIdentity | undefined, now: FolderIdentity | undefined): ReplicaHalt | undefined {
  if (now === undefined) return { reason: "root-vanished", detail: "the folder is not there" };
  return known === undefined || canBeSame(known, now) ? undefined : ROOT_REPLACED;
}

/**
 * Ignores the device: a file system may get another number when it is mounted anew (btrfs, overlayfs, and every other
 * with the next start of the machine). Birth times count if both are known.
 */
function canBeSame(a: FolderIdentity, b: FolderIdentity): boolean {
  return a.ino === b.ino && (a.birth ?? b.birth) === (b.birth ?? a.birth);
}

/**
 * True if a folder that may be the same is on another device now. The roots of many file systems share one inode, so
 * its contents decide.
 */
export function isElsewhere(known: FolderIdentity | undefined, now: FolderIdentity | undefined): boolean {
  return known !== undefined && now !== undefined && known.dev !== now.dev;
}

/** One state before and after. */
interface Passing {
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/** Counts the entries that go and do not come back under another name: a moved entry is not lost. */
export function countLost(changes: Iterable<Passing>): number {
  const came = new Map<string, number>();
  const went = new Map<string, number>();
  for (const { before, after } of changes) {
    if (before !== undefined && after === undefined) add(went, before);
    if (before === undefined && after !== undefined) add(came, after);
  }
  let lost = 0;
  for (const [what, count] of went) lost += Math.max(0, count - (came.get(what) ?? 0));
  return lost;
}

function add(counts: Map<string, number>, { kind, hash }: Entry): void {
  const what = hash ?? kind;
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

/** The number of entries that go at once from one side, and the number that stay there. */
export interface Loss {
  /** Entries that went a moment ago, or go now. */
  readonly lost: number;
  /** Entries that were there before, and still are; new ones do not count. */
  readonly kept: number;
}

/** True if so many entries may go only if at least as many stay. */
export function isMuch(lost: number): boolean {
  return lost > ALWAYS_MAY_GO;
}

/** Returns the number of kept entries that is enough for `lost` to go: more need not be counted. */
export function enoughKept(lost: number): number {
  if (lost < 2) return 0;
  return isMuch(lost) ? lost : 1;
}

/** Returns `undefined` if so much may go, otherwise the reason code of the halt. */
export function checkLoss({ lost, kept }: Loss): "root-emptied" | "mass-deletion" | undefined {
  if (kept >= enoughKept(lost)) return undefined;
  return kept === 0 ? "root-emptied" : "mass-deletion";
}
