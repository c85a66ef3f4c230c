import { innerHash } from "../values/compact-range.ts";
import { EMPTY_HASH, type Hash } from "../values/hash.ts";
import { childLeaf, type TreeChild } from "./merkle.ts";
import { compareNames } from "../values/path.ts";

/**
 * The RFC 6962 tree of one folder, with all its nodes. If children are replaced, only the nodes above them are computed
 * again. If a child is added or removed, the nodes above all later children are computed again, too. An instance never
 * changes.
 *
 * Level 0 has the leaves. A node of the next level is the hash of two nodes. The last node of a level with an odd
 * number of nodes is copied to the next level. The root is equal to the result of `folderHash`.
 */
export class FolderLeaves {
  readonly #names: readonly string[];
  readonly #levels: readonly (readonly Hash[])[];

  private constructor(names: readonly string[], levels: readonly (readonly Hash[])[]) {
    this.#names = names;
    this.#levels = levels;
  }

  /** Computes the tree of these children, which must be sorted by `compareNames`. */
  static of(children: readonly TreeChild[]): FolderLeaves {
    const leaves = children.map(childLeaf);
    return new FolderLeaves(
      children.map(({ name }) => name),
      levelsOf(leaves, [], 0),
    );
  }

  get size(): number {
    return this.#names.length;
  }

  get hash(): Hash {
    return this.#levels.at(-1)?.[0] ?? EMPTY_HASH;
  }

  has(name: string): boolean {
    return this.#names[placeOf(this.#names, name)] === name;
  }

  /** Returns true if there is a child with this name, kind, mode and hash. */
  holds(child: TreeChild): boolean {
    const at = placeOf(this.#names, child.name);
    return this.#names[at] === child.name && this.#levels[0]?.[at] === childLeaf(child);
  }

  /**
   * Returns the tree of the folder after some children have changed. `changes` maps names to the new children;
   * `undefined` removes a child.
   */
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
    if (moved === Number.POSITIVE_INFINITY)
      return new FolderLeaves(names, updatedLevels(leaves, this.#levels, replaced));
    // A child that is added or removed shifts all children after it.
    const from = replaced.reduce((least, at) => Math.min(least, at), moved);
    return new FolderLeaves(names, levelsOf(leaves, this.#levels, from));
  }
}

/** Returns the index of a name, or the index at which it would be inserted. */
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

/** Computes all levels above these leaves. Reuses the nodes of `before` that cover only leaves before index `from`. */
function levelsOf(leaves: readonly Hash[], before: readonly (readonly Hash[])[], from: number): (readonly Hash[])[] {
  const levels: (readonly Hash[])[] = leaves.length === 0 ? [] : [leaves];
  let level = leaves;
  let same = from;
  while (level.length > 1) {
    same = Math.floor(same / 2);
    const next = (before[levels.length] ?? []).slice(0, same);
    // Also computes the nodes above leaf `from`, because a node that had one child may now have two.
    for (let at = next.length; at < Math.ceil(level.length / 2); at += 1) next.push(parent(level, at));
    levels.push(next);
    level = next;
  }
  return levels;
}

/**
 * Computes the nodes above the leaves at the indexes `places` again. Only these leaves may have changed, and the number
 * of leaves must be unchanged.
 */
function updatedLevels(
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
