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

/** How many entries are there that were not, under no name. One folder is not another one's new name: they have no content. */
export function countNew(changes: Iterable<Passing>): number {
  const went = new Map<string, number>();
  let come = 0;
  const hashes: string[] = [];
  for (const { before, after } of changes) {
    if (before?.hash !== undefined && after === undefined) add(went, before);
    if (before !== undefined || after === undefined) continue;
    come += 1;
    if (after.hash !== undefined) hashes.push(after.hash);
  }
  for (const hash of hashes) {
    const moved = went.get(hash) ?? 0;
    if (moved > 0) come -= 1;
    went.set(hash, moved - 1);
  }
  return come;
}

function add(counts: Map<string, number>, { kind, hash }: Entry): void {
  const what = hash ?? kind;
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

/** What goes at once. */
export interface Loss {
  /** Entries that go, a moment ago or now. */
  readonly lost: number;
  /** Entries that are left afterwards; `undefined`: some, and too few go for it to matter how many. */
  readonly left: number | undefined;
  /** So many of those have just come: what is left of what there was is the others. */
  readonly fresh: number;
}

/** Whether it matters how many entries are left. */
export function isMuch(lost: number): boolean {
  return lost > ALWAYS_MAY_GO;
}

/** May so much go? `where`: for people, on which side it went. */
export function checkLoss({ lost, left, fresh }: Loss, where: string): ReplicaHalt | undefined {
  if (lost >= 2 && left !== undefined && left <= fresh) {
    const what = left === 0 ? "everything" : "everything that was there before";
    return { reason: "root-emptied", detail: `${what} was deleted ${where}` };
  }
  if (left === undefined || !isMuch(lost) || lost <= left) return undefined;
  return { reason: "mass-deletion", detail: `${lost} of ${lost + left} entries were deleted ${where} at once` };
}
