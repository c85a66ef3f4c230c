import type { Entry } from "../values/entry.ts";
import { sameEntry } from "../values/entry.ts";
import { comparePaths, isWithin, parentOf, type WorkspacePath } from "../values/path.ts";
import {
  both,
  otherSide,
  reconcilePath,
  settle,
  type Decision,
  type PathSides,
  type ReconcileOptions,
  type Side,
} from "./reconcile.ts";

/** Two copies and the base that they last agreed on, each with all its entries, including folders, in any order. */
export interface Trees {
  readonly base: Iterable<Entry>;
  readonly local: Iterable<Entry>;
  readonly remote: Iterable<Entry>;
}

/** The decision about one path. */
export interface PathDecision {
  readonly path: WorkspacePath;
  readonly sides: PathSides;
  readonly decision: Decision;
}

const SIDES: readonly Side[] = ["local", "remote"];

/**
 * Decides about each path, in path order. Paths that need no action and no new base are left out.
 *
 * Each path is decided separately, so a rename is a deletion and a creation, and a folder that one side removed goes,
 * except for what the other side changed in it. Then the trees are made whole: a folder stays or comes back if
 * something in it does. If a file or link would get something beneath it, the folder and everything in it are one
 * conflict (reason `folder`): both sides stay as they are there, or, in `two-way-resolved`, become what alpha has.
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

/** Returns what a side will hold. A merge leaves files on both sides, whatever its outcome. */
function resultOf(decision: Decision, side: Side): Entry | undefined {
  return decision.action === "merge" ? decision.contents[side] : decision[side];
}

/** Walks backwards, so that a folder's contents are handled before the folder. */
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

/** Keeps or brings back a folder that is needed on these sides. */
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
