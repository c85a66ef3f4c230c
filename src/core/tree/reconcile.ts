import { sameEntry, type Entry } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import { mergeEntry, type ConflictReason } from "./merge-entry.ts";
import { mergeText } from "./merge-text.ts";

/**
 * The three-way decision for one path: what it was when both sides last agreed, what it is here, what it is there. Pure.
 * The modes are Mutagen's (mutagen.io/documentation/synchronization), one path at a time; `reconcile-trees.ts` is about
 * folders and what lies in them.
 */

/** One of the two copies. */
export type Side = "local" | "remote";

/**
 * What may happen on its own, where alpha is the side that is preferred and beta the other one.
 *
 * - `two-way-safe`: what only one side changed goes to the other, texts are merged, an edit beats a deletion; the rest
 *   is a conflict, and both sides stay as they are until somebody decides.
 * - `two-way-resolved`: the same, and alpha wins every conflict, by its deletions too.
 * - `one-way-safe`: alpha's state goes to beta; what beta changed itself is not touched.
 * - `one-way-replica`: beta is made what alpha is.
 */
export type ReconcileMode = "two-way-safe" | "two-way-resolved" | "one-way-safe" | "one-way-replica";

/** How to decide. */
export interface ReconcileOptions {
  readonly mode: ReconcileMode;
  /** The preferred side. Default `local`. */
  readonly alpha?: Side;
  /** Merge files that both sides changed, in the two-way modes? Default true. */
  readonly mergeContents?: boolean;
}

/** One path three ways; `undefined` is absence. */
export interface PathSides {
  readonly base: Entry | undefined;
  readonly local: Entry | undefined;
  readonly remote: Entry | undefined;
}

/**
 * What is to be done: nothing; take the remote's state; propose the local's; change both sides; leave both as they are
 * because of a conflict at this path (`conflict`) or at a folder above it (`held`).
 */
export type ReconcileAction = "none" | "take" | "propose" | "join" | "conflict" | "held";

/** A decision for which no content has to be read. */
export interface Settled {
  readonly action: ReconcileAction;
  /** What each side is to hold. */
  readonly local: Entry | undefined;
  readonly remote: Entry | undefined;
  /** What the next reconciliation starts from: the common state, or the old base where there is none. */
  readonly base: Entry | undefined;
  /** States that are overwritten, and whose contents neither side nor the base holds: to be kept before anything is written. */
  readonly kept: readonly Entry[];
  /** Why the sides disagree. With another action than `conflict`: alpha has won. */
  readonly reason?: ConflictReason;
}

/** All three are files with different contents: `mergeContents` decides. */
export interface PendingMerge {
  readonly action: "merge";
  readonly contents: { readonly base: Entry; readonly local: Entry; readonly remote: Entry };
  /** Permission bits of the merged file. */
  readonly mode: number;
  /** The decision where the contents do not merge. */
  readonly otherwise: Settled;
}

export type Decision = Settled | PendingMerge;

/** What is done about one path. Deterministic; times play no part. */
export function reconcilePath(sides: PathSides, options: ReconcileOptions): Decision {
  const { mode, alpha = "local" } = options;
  if (sameEntry(sides.local, sides.remote)) return settle(sides, sides);
  if (mode === "one-way-replica") return settle(sides, both(sides[alpha]));
  return mode === "one-way-safe" ? oneWaySafe(sides, alpha) : twoWay(sides, options, alpha);
}

/** The other side. */
export function otherSide(side: Side): Side {
  return side === "local" ? "remote" : "local";
}

/** The same state on both sides. */
export function both(entry: Entry | undefined): Pick<PathSides, Side> {
  return { local: entry, remote: entry };
}

/** A decision as it follows from what each side is to hold. */
export function settle(sides: PathSides, to: Pick<PathSides, Side>, reason?: ConflictReason): Settled {
  const { local, remote } = to;
  const base = sameEntry(local, remote) ? local : sides.base;
  const told = reason === undefined ? {} : { reason };
  return { action: actionOf(sides, to, reason), local, remote, base, kept: overwritten(sides, to), ...told };
}

function actionOf(sides: PathSides, { local, remote }: Pick<PathSides, Side>, reason?: ConflictReason) {
  const localStays = sameEntry(local, sides.local);
  const remoteStays = sameEntry(remote, sides.remote);
  if (localStays && remoteStays) return reason === undefined || sameEntry(local, remote) ? "none" : "conflict";
  if (localStays) return "propose";
  return remoteStays ? "take" : "join";
}

/** What stands on a side now and will be in neither tree; what the base holds is in the history already. */
function overwritten(sides: PathSides, { local, remote }: Pick<PathSides, Side>): Entry[] {
  const held = new Set([sides.base?.hash, local?.hash, remote?.hash]);
  const lost: Entry[] = [];
  for (const entry of [sides.local, sides.remote]) {
    if (entry?.hash === undefined || held.has(entry.hash)) continue;
    held.add(entry.hash);
    lost.push(entry);
  }
  return lost;
}

function oneWaySafe(sides: PathSides, alpha: Side): Settled {
  const [source, target] = [sides[alpha], sides[otherSide(alpha)]];
  if (target === undefined || sameEntry(target, sides.base)) return settle(sides, both(source));
  // What only beta has is beta's own business.
  if (source === undefined) return settle(sides, sides);
  if (isOnlyMode(sides)) return settle(sides, both(source));
  return settle(sides, sides, disagreement(sides.base, source, target));
}

function disagreement(base: Entry | undefined, source: Entry, target: Entry): ConflictReason {
  if (base === undefined) return "created";
  if (source.kind !== target.kind || source.kind !== base.kind) return "kind";
  return source.hash === target.hash ? "mode" : "content";
}

function twoWay(sides: PathSides, options: ReconcileOptions, alpha: Side): Decision {
  const { base, local, remote } = sides;
  const isSafe = options.mode === "two-way-safe";
  const merged = mergeEntry({ base, ours: local, theirs: remote }, alpha === "local" ? "ours" : "theirs");
  if (!("contents" in merged)) {
    const { entry, conflict } = merged;
    if (conflict === undefined || isOnlyMode(sides)) return settle(sides, both(entry));
    return isSafe ? unresolved(sides, conflict) : overruled(sides, alpha, entry, conflict);
  }
  const reason = merged.conflict ?? "content";
  const otherwise = isSafe ? unresolved(sides, reason) : settle(sides, both(sides[alpha]), reason);
  if (options.mergeContents === false || (isSafe && merged.conflict !== undefined)) return otherwise;
  const { contents } = merged;
  return {
    action: "merge",
    contents: { base: contents.base, local: contents.ours, remote: contents.theirs },
    mode: merged.mode,
    otherwise,
  };
}

/**
 * Is there nothing but permission bits about which no earlier state says anything, or which are a folder's? That is no
 * question for people: two machines with other umasks would ask it of every folder.
 */
function isOnlyMode({ base, local, remote }: PathSides): boolean {
  if (local === undefined || remote === undefined) return false;
  if (local.kind !== remote.kind || local.hash !== remote.hash) return false;
  return local.kind === "dir" || base === undefined;
}

/** Safe: an edit beats a deletion, for the deleted state is in the history; else both stay. */
function unresolved(sides: PathSides, reason: ConflictReason): Settled {
  const { local, remote } = sides;
  if (local === undefined || remote === undefined) return settle(sides, both(local ?? remote));
  return settle(sides, sides, reason);
}

/** Alpha wins. Where it has edited what beta has deleted, nothing had to be decided. */
function overruled(sides: PathSides, alpha: Side, entry: Entry | undefined, reason: ConflictReason): Settled {
  if (sides[otherSide(alpha)] === undefined) return settle(sides, both(entry));
  return settle(sides, both(entry), sides[alpha] === undefined ? "deleted" : reason);
}

/** The decision once the contents are known, and the merged content, if there is a new one. */
export interface MergedContents {
  readonly decision: Settled;
  /** What the decision's entries are to hold; undefined where the contents did not merge. */
  readonly content?: Buffer;
}

/**
 * Merges the contents of a pending decision by lines. Where they are no texts, or both sides changed the same lines, it
 * is the pending decision's `otherwise`.
 */
export function mergeContents(
  { contents, mode, otherwise }: PendingMerge,
  bytes: Readonly<Record<"base" | Side, Uint8Array>>,
): MergedContents {
  const merged = mergeText({ base: bytes.base, ours: bytes.local, theirs: bytes.remote }, "ours");
  if (merged === undefined) return { decision: { ...otherwise, reason: "binary" } };
  if (merged.conflicts > 0) return { decision: otherwise };
  const { content } = merged;
  const { local, remote } = contents;
  const mtimeMs = Math.max(local.mtimeMs, remote.mtimeMs);
  const entry = { ...local, mode, size: content.length, mtimeMs, hash: sha256(content) };
  return { decision: settle(contents, both(entry)), content };
}
