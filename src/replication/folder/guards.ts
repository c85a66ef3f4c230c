import type { Entry } from "../../core/entry.ts";
import type { FolderIdentity, ReplicaHalt } from "../../core/replica-record.ts";

/**
 * What must not simply be carried on: a folder that is not there, that is another one, or that has lost much at once. A disk
 * that is not mounted looks like that, and a sync that took it for somebody's work would delete everything on the other side.
 */

/** So many entries may always go at once. */
const ALWAYS_MAY_GO = 50;

/** Is it the folder that it was? `known` undefined: nobody has looked yet. */
export function checkRoot(known: FolderIdentity | undefined, now: FolderIdentity | undefined): ReplicaHalt | undefined {
  if (now === undefined) return { reason: "root-vanished", detail: "the folder is not there" };
  if (known === undefined || isSameFolder(known, now)) return undefined;
  return { reason: "root-replaced", detail: "another folder is in the folder's place" };
}

/** Births count where both are known. */
function isSameFolder(a: FolderIdentity, b: FolderIdentity): boolean {
  return a.dev === b.dev && a.ino === b.ino && (a.birth ?? b.birth) === (b.birth ?? a.birth);
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
