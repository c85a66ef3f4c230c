import type { Entry } from "../../../core/values/entry.ts";
import type { FolderIdentity, ReplicaHalt } from "../../../core/records/replica-record.ts";

/**
 * What must not simply be carried on: a folder that is not there, that is another one, or that has lost much at once. A disk
 * that is not mounted looks like that, and a sync that took it for somebody's work would delete everything on the other side.
 */

/** So many entries may always go at once. */
const ALWAYS_MAY_GO = 50;

/** What is said of another folder in the place of the one that it was. */
export const ROOT_REPLACED: ReplicaHalt = {
  reason: "root-replaced",
  detail: "another folder is in the folder's place",
};

/** Is there a folder, and can it be the one that it was? `known` undefined: nobody has looked yet. See `isElsewhere`. */
export function checkRoot(known: FolderIdentity | undefined, now: FolderIdentity | undefined): ReplicaHalt | undefined {
  if (now === undefined) return { reason: "root-vanished", detail: "the folder is not there" };
  return known === undefined || canBeSame(known, now) ? undefined : ROOT_REPLACED;
}

/**
 * The device is none of it: a file system that is mounted anew may get another number (btrfs, overlayfs, and every other with the
 * next start of the machine). Births count where both are known.
 */
function canBeSame(a: FolderIdentity, b: FolderIdentity): boolean {
  return a.ino === b.ino && (a.birth ?? b.birth) === (b.birth ?? a.birth);
}

/** Is a folder that can be the same on another device now? Roots of many file systems have one inode: its contents decide. */
export function isElsewhere(known: FolderIdentity | undefined, now: FolderIdentity | undefined): boolean {
  return known !== undefined && now !== undefined && known.dev !== now.dev;
}

/** One state before and after. */
interface Passing {
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/** How many entries go and do not come back under another name: what is moved is not lost. */
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

/** What goes at once from one side, and what of that side stays. */
export interface Loss {
  /** Entries that go, a moment ago or now. */
  readonly lost: number;
  /** Entries that were there before, and still are: what is new is none of them. */
  readonly kept: number;
}

/** Whether so many may only go where at least as many stay. */
export function isMuch(lost: number): boolean {
  return lost > ALWAYS_MAY_GO;
}

/** So many kept entries are enough for so many to go: more need not be counted. */
export function enoughKept(lost: number): number {
  if (lost < 2) return 0;
  return isMuch(lost) ? lost : 1;
}

/** Whether so much may go. `undefined`: yes; otherwise why not, as a word for programs. */
export function checkLoss({ lost, kept }: Loss): "root-emptied" | "mass-deletion" | undefined {
  if (kept >= enoughKept(lost)) return undefined;
  return kept === 0 ? "root-emptied" : "mass-deletion";
}
