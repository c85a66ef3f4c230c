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
  if (known === undefined || (known.dev === now.dev && known.ino === now.ino)) return undefined;
  return { reason: "root-replaced", detail: "another folder is in the folder's place" };
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

/** What goes at once. */
export interface Loss {
  /** Entries that go, a moment ago or now. */
  readonly lost: number;
  /** Entries that are left afterwards; `undefined`: some, and too few go for it to matter how many. */
  readonly left: number | undefined;
}

/** Whether it matters how many entries are left. */
export function isMuch(lost: number): boolean {
  return lost > ALWAYS_MAY_GO;
}

/** May so much go? `where`: for people, on which side it went. */
export function checkLoss({ lost, left }: Loss, where: string): ReplicaHalt | undefined {
  if (lost >= 2 && left === 0) return { reason: "root-emptied", detail: `everything was deleted ${where}` };
  if (left === undefined || !isMuch(lost) || lost <= left) return undefined;
  return { reason: "mass-deletion", detail: `${lost} of ${lost + left} entries were deleted ${where} at once` };
}
