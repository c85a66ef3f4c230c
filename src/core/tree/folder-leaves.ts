import { innerHash } from "../values/compact-range.ts";
import { EMPTY_HASH, type Hash } from "../values/hash.ts";
import { childLeaf, type TreeChild } from "./merkle.ts";
import { compareNames } from "../values/path.ts";

/**
 * The RFC 6962 tree of one folder with all its nodes, so that a change of some children costs their ways to the root and
 * not the whole folder. Immutable.
 *
 * Level 0 holds the leaves. A node of the next level is the hash of two, and the last one of an odd level goes up as it
 * is: that gives the tree of `folderHash`.
 */
export class FolderLeaves {
  readonly #names: readonly string[];
  readonly #levels: readonly (readonly Hash[])[];

  private constructor(names: readonly string[], levels: readonly (readonly Hash[])[]) {
    this.#names = names;
    this.#levels = levels;
  }

  /** `children`: sorted by `compareNames`. */
  static of(children: readonly TreeChild[]): FolderLeaves {
    const leaves = children.map(childLeaf);
    return new FolderLeaves(
      children.map(({ name }) => name),
      levelsOf(leaves, [], 0),
    );
  }

  /** The number of children. */
  get size(): number {
    return this.#names.length;
  }

  /** The folder's hash. */
  get hash(): Hash {
    return this.#levels.at(-1)?.[0] ?? EMPTY_HASH;
  }

  /** Is there a child of this name? */
  has(name: string): boolean {
    return this.#names[placeOf(this.#names, name)] === name;
  }

  /** Is there this very child? */
  holds(child: TreeChild): boolean {
    const at = placeOf(this.#names, child.name);
    return this.#names[at] === child.name && this.#levels[0]?.[at] === childLeaf(child);
  }

  /** The same folder with some children changed; undefined: the child is gone. */
  with(changes: ReadonlyMap<string, TreeChild | undefined>): FolderLeaves {
    const names = [...this.#names];
    const leaves = [...(this.#levels[0] ?? [])];
    const replaced: number[] = [];
    let moved = Number.POSITIVE_INFINITY;
    for (const [name, child] of changes) {
      const at = placeOf(names, name);
      const isThere = names[at] === name;
      if (child === undefined && !isThere) continue;
      if (isThere && child !== undefined) replaced.push(at);
      else moved = Math.min(moved, at);
      const there = isThere ? 1 : 0;
      names.splice(at, there, ...(child === undefined ? [] : [name]));
      leaves.splice(at, there, ...(child === undefined ? [] : [childLeaf(child)]));
    }
    if (moved === Number.POSITIVE_INFINITY) return new FolderLeaves(names, waysUp(leaves, this.#levels, replaced));
    // Children that come or go move everything behind them.
    const from = replaced.reduce((least, at) => Math.min(least, at), moved);
    return new FolderLeaves(names, levelsOf(leaves, this.#levels, from));
  }
}

/** The place of a name, or the place at which it would be inserted. */
function placeOf(names: readonly string[], name: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareNames(names[middle] ?? "", name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function parent(level: readonly Hash[], at: number): Hash {
  const [left, right] = [level[2 * at], level[2 * at + 1]];
  return right === undefined ? (left as Hash) : innerHash(left as Hash, right);
}

/** All levels above these leaves. Those of `before` hold for what stands in front of the leaf `from`. */
function levelsOf(leaves: readonly Hash[], before: readonly (readonly Hash[])[], from: number): (readonly Hash[])[] {
  const levels: (readonly Hash[])[] = leaves.length === 0 ? [] : [leaves];
  let level = leaves;
  let same = from;
  while (level.length > 1) {
    same = Math.floor(same / 2);
    const next = (before[levels.length] ?? []).slice(0, same);
    // A node that was the last of its level may have been alone.
    for (let at = next.length; at < Math.ceil(level.length / 2); at += 1) next.push(parent(level, at));
    levels.push(next);
    level = next;
  }
  return levels;
}

/** The levels with the nodes on the ways of some leaves made anew; there are as many leaves as before. */
function waysUp(
  leaves: readonly Hash[],
  before: readonly (readonly Hash[])[],
  places: readonly number[],
): (readonly Hash[])[] {
  const levels: (readonly Hash[])[] = leaves.length === 0 ? [] : [leaves];
  let level = leaves;
  let changed = new Set(places);
  while (level.length > 1) {
    changed = new Set([...changed].map((at) => at >> 1));
    const next = [...(before[levels.length] ?? [])];
    for (const at of changed) next[at] = parent(level, at);
    levels.push(next);
    level = next;
  }
  return levels;
}
