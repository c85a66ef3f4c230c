import { sameEntry, type Entry, laterTime } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import { mergeEntry, type ConflictReason, mergeText } from "./merge-text.ts";
import { comparePaths, isWithin, parentOf, type WorkspacePath } from "../values/path.ts";

/**
 * This module decides about one path from three states: the state on which both sides last agreed, the local state and
 * the remote state. The functions are pure. The modes are those of Mutagen (mutagen.io/documentation/synchronization),
 * applied to one path at a time. `reconcileTrees` handles folders and their contents.
 */

export type Side = "local" | "remote";

/**
 * The changes that may be made automatically. Alpha is the preferred side, and beta is the other side.
 *
 * - `two-way-safe`: a change of only one side is applied to the other side, texts are merged, and an edit beats a
 *   deletion. All other cases are conflicts. At a conflict, both sides stay as they are until somebody decides.
 * - `two-way-resolved`: as `two-way-safe`, but alpha wins every conflict, even if alpha deleted the path.
 * - `one-way-safe`: alpha's state is applied to beta if beta lacks the path or did not change it. Beta's own changes
 *   are not touched. If beta changed a path, and alpha has another state there, there is a conflict.
 * - `one-way-replica`: beta is made equal to alpha.
 */
export type ReconcileMode = "two-way-safe" | "two-way-resolved" | "one-way-safe" | "one-way-replica";

export interface ReconcileOptions {
  readonly mode: ReconcileMode;
  /** The preferred side. Default `local`. */
  readonly alpha?: Side;
  /** True if the two-way modes merge the contents of files that both sides changed. Default true. */
  readonly mergeContents?: boolean;
}

/** Three states of one path. `undefined` means that the path does not exist. */
export interface PathSides {
  readonly base: Entry | undefined;
  readonly local: Entry | undefined;
  readonly remote: Entry | undefined;
}

/**
 * The action for a path.
 * - `none`: neither side changes, and there is no conflict.
 * - `take`: only the local side changes.
 * - `propose`: only the remote side changes.
 * - `join`: both sides change.
 * - `conflict`: both sides stay as they are because of a conflict at this path.
 * - `held`: both sides stay as they are because of a conflict at a folder above.
 */
type ReconcileAction = "none" | "take" | "propose" | "join" | "conflict" | "held";

/** A decision that needs no content to be read. */
export interface Settled {
  readonly action: ReconcileAction;
  /** The states that the local and the remote side are to have. */
  readonly local: Entry | undefined;
  readonly remote: Entry | undefined;
  /**
   * The base of the next reconciliation: the state that both sides will have, or the old base if the sides will differ.
   */
  readonly base: Entry | undefined;
  /**
   * The states that will be overwritten, and whose contents are then on neither side and not in the old base. The
   * caller must keep these contents before it writes anything, because they would be lost otherwise.
   */
  readonly kept: readonly Entry[];
  /**
   * The reason of a conflict; omitted if there is no conflict. If the reason is set but the action is not `conflict`,
   * alpha has won the conflict.
   */
  readonly reason?: ConflictReason;
}

/** A pending merge of three files with different contents. `mergeContents` makes the decision. */
export interface PendingMerge {
  readonly action: "merge";
  readonly contents: { readonly base: Entry; readonly local: Entry; readonly remote: Entry };
  readonly mode: number;
  /** The decision if the contents do not merge. */
  readonly otherwise: Settled;
}

export type Decision = Settled | PendingMerge;

/** Decides about one path. The decision is deterministic and ignores times. */
export function reconcilePath(sides: PathSides, options: ReconcileOptions): Decision {
  const { mode, alpha = "local" } = options;
  if (sameEntry(sides.local, sides.remote)) return settle(sides, sides);
  if (mode === "one-way-replica") return settle(sides, both(sides[alpha]));
  return mode === "one-way-safe" ? oneWaySafe(sides, alpha) : twoWay(sides, options, alpha);
}

function otherSide(side: Side): Side {
  return side === "local" ? "remote" : "local";
}

export function both(entry: Entry | undefined): Pick<PathSides, Side> {
  return { local: entry, remote: entry };
}

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

/**
 * Returns the states whose contents would be lost (see `Settled.kept`). The content of the base is not among them,
 * because it is in the history already.
 */
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
  // A path that alpha lacks stays as it is if beta itself created or changed it.
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
 * Returns true if the sides differ only in permission bits, in one of two cases: the path is a folder, or no base tells
 * which bits are right. People are not asked about such a difference, because two machines with different umasks would
 * cause it in every folder.
 */
function isOnlyMode({ base, local, remote }: PathSides): boolean {
  if (local === undefined || remote === undefined) return false;
  if (local.kind !== remote.kind || local.hash !== remote.hash) return false;
  return local.kind === "dir" || base === undefined;
}

/**
 * Decides a conflict in the mode `two-way-safe`. If one side deleted the path, the state of the other side wins. In all
 * other cases, both sides stay as they are.
 */
function unresolved(sides: PathSides, reason: ConflictReason): Settled {
  const { local, remote } = sides;
  if (local === undefined || remote === undefined) return settle(sides, both(local ?? remote));
  return settle(sides, sides, reason);
}

/** Decides a conflict in favour of alpha. If beta deleted the path, no conflict is reported. */
function overruled(sides: PathSides, alpha: Side, entry: Entry | undefined, reason: ConflictReason): Settled {
  if (sides[otherSide(alpha)] === undefined) return settle(sides, both(entry));
  return settle(sides, both(entry), sides[alpha] === undefined ? "deleted" : reason);
}

/** The decision after the contents were read, and the merged content. */
export interface MergedContents {
  readonly decision: Settled;
  /** The merged content, which both entries of the decision have; omitted if the contents did not merge. */
  readonly content?: Buffer;
}

/**
 * Merges the contents of a pending merge by lines. If both sides changed the same or adjacent lines, returns
 * `otherwise` as the decision. If a content is not text or is too large to merge, returns `otherwise` with the reason
 * `binary`.
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
  const time = laterTime(local, remote);
  const entry = { ...local, mode, size: content.length, ...time, hash: sha256(content) };
  return { decision: settle(contents, both(entry)), content };
}

/**
 * All entries of two copies, and of the base on which the copies last agreed, in any order. Folders have entries, too.
 */
export interface Trees {
  readonly base: Iterable<Entry>;
  readonly local: Iterable<Entry>;
  readonly remote: Iterable<Entry>;
}

export interface PathDecision {
  readonly path: WorkspacePath;
  readonly sides: PathSides;
  readonly decision: Decision;
}

const SIDES: readonly Side[] = ["local", "remote"];

/**
 * Decides about each path, in path order. Leaves out paths that need neither an action nor a new base.
 *
 * Each path is first decided separately. Therefore, a rename is a deletion and a creation. If one side removed a
 * folder, the folder is removed, except for the paths in it that the other side changed.
 *
 * Then the trees are made consistent:
 * - A folder is kept or restored if a path in it is kept or restored.
 * - If the result would have a path beneath a file or link, the file or link and all paths beneath it are one conflict
 *   (reason `folder`). Both sides stay as they are at these paths. In `two-way-resolved`, these paths get alpha's state
 *   on both sides instead.
 */
export function reconcileTrees(trees: Trees, options: ReconcileOptions): PathDecision[] {
  const items = joined(trees).map(([path, sides]) => ({ path, sides, decision: reconcilePath(sides, options) }));
  makeWhole(items, options);
  return items.filter(({ sides, decision }) => !isNothing(sides, decision));
}

function isNothing(sides: PathSides, decision: Decision): boolean {
  return decision.action === "none" && sameEntry(sides.base, decision.base);
}

interface Item {
  readonly path: WorkspacePath;
  readonly sides: PathSides;
  decision: Decision;
}

type MutableSides = { -readonly [key in keyof PathSides]: PathSides[key] };

function joined(trees: Trees): [WorkspacePath, PathSides][] {
  const paths = new Map<WorkspacePath, MutableSides>();
  for (const of of ["base", ...SIDES] as const) {
    for (const entry of trees[of]) {
      let sides = paths.get(entry.path);
      if (sides === undefined)
        paths.set(entry.path, (sides = { base: undefined, local: undefined, remote: undefined }));
      sides[of] = entry;
    }
  }
  return [...paths].sort(([a], [b]) => comparePaths(a, b));
}

/**
 * Returns the state that a side will have. For a pending merge, returns the present file of the side, because both
 * sides have a file after every outcome of the merge.
 */
function resultOf(decision: Decision, side: Side): Entry | undefined {
  return decision.action === "merge" ? decision.contents[side] : decision[side];
}

/**
 * Makes the trees consistent (see `reconcileTrees`). Goes through the items backwards, so that the paths in a folder
 * are handled before the folder.
 */
function makeWhole(items: Item[], options: ReconcileOptions): void {
  const folders: Record<Side, Set<WorkspacePath>> = { local: new Set(), remote: new Set() };
  for (let i = items.length - 1; i >= 0; i -= 1) {
    const item = items[i] as Item;
    const needing = SIDES.filter((side) => folders[side].has(item.path));
    const results = needing.map((side) => resultOf(item.decision, side));
    if (results.some((entry) => entry !== undefined && entry.kind !== "dir")) holdSubtree(items, i, options);
    else if (results.includes(undefined)) revive(item, needing);
    for (const side of SIDES) {
      if (resultOf(item.decision, side) !== undefined) folders[side].add(parentOf(item.path));
    }
  }
}

/** Keeps or restores a folder on the sides that will have a path in the folder. */
function revive(item: Item, needing: readonly Side[]): void {
  const { sides, decision } = item;
  const to: { -readonly [side in Side]: Entry | undefined } = {
    local: resultOf(decision, "local"),
    remote: resultOf(decision, "remote"),
  };
  for (const side of needing) {
    const known = [to[side], sides[side], sides[otherSide(side)], sides.base];
    to[side] = known.find((entry) => entry?.kind === "dir");
  }
  item.decision = settle(sides, to);
}

/**
 * Marks the path at index `at` as a conflict, and the differing paths beneath it as held. In `two-way-resolved`, gives
 * all these paths alpha's state instead.
 */
function holdSubtree(items: Item[], at: number, { mode, alpha = "local" }: ReconcileOptions): void {
  const top = (items[at] as Item).path;
  for (let i = at; i < items.length; i += 1) {
    const item = items[i] as Item;
    if (!isWithin(item.path, top)) return;
    const { sides } = item;
    const reason = i === at ? "folder" : undefined;
    if (mode === "two-way-resolved") {
      item.decision = settle(sides, both(sides[alpha]), reason);
      continue;
    }
    const decision = settle(sides, sides, reason);
    const isHeld = i > at && !sameEntry(sides.local, sides.remote);
    item.decision = isHeld ? { ...decision, action: "held" } : decision;
  }
}
