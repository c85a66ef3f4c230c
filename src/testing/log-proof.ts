import { CompactRange, innerHash } from "../core/values/compact-range.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { EMPTY_HASH, type Hash, isHash } from "../core/values/hash.ts";

/**
 * Proofs about the log tree (RFC 6962 §2.1.1 and §2.1.2): that an event is in it, and that an older tree is its prefix.
 * Leaves are leaf hashes (`leafHash` of `log-tree.ts`), not event hashes.
 */

/** Computes the root over leaf hashes. */
export function logRoot(leaves: readonly Hash[]): Hash {
  const range = new CompactRange();
  for (const leaf of leaves) range.add(leaf);
  return range.root();
}

/** Returns the largest power of two below `size` (`size` ≥ 2), at which RFC 6962 splits a tree. */
function cut(size: number): number {
  let k = 1;
  while (k * 2 < size) k *= 2;
  return k;
}

function checkRange(value: number, limit: number, what: string): void {
  if (!Number.isSafeInteger(value) || value < 0 || value > limit) {
    throw new ChronicleError("USAGE", `${what} ${value} is outside 0..${limit}`);
  }
}

/**
 * Returns the siblings from leaf `index` (from 0) up to the root, the lowest first. Throws `USAGE` if there is no such
 * leaf.
 */
export function inclusionProof(leaves: readonly Hash[], index: number): Hash[] {
  checkRange(index, leaves.length - 1, "leaf");
  if (leaves.length === 1) return [];
  const k = cut(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return index < k
    ? [...inclusionProof(left, index), logRoot(right)]
    : [...inclusionProof(right, index - k), logRoot(left)];
}

/**
 * Returns the proof that the tree of the first `size` leaves is a prefix of the tree of all leaves. Throws `USAGE` if
 * there are fewer leaves.
 */
export function consistencyProof(leaves: readonly Hash[], size: number): Hash[] {
  checkRange(size, leaves.length, "size");
  return size === 0 || size === leaves.length ? [] : subProof(leaves, size, true);
}

function subProof(leaves: readonly Hash[], size: number, whole: boolean): Hash[] {
  if (size === leaves.length) return whole ? [] : [logRoot(leaves)];
  const k = cut(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return size <= k
    ? [...subProof(left, size, whole), logRoot(right)]
    : [...subProof(right, size - k, false), logRoot(left)];
}

/**
 * The claim of an inclusion proof: the leaf hash is at `index` (from 0) in the tree with `size` leaves and this root.
 */
export interface InclusionClaim {
  readonly leaf: Hash;
  readonly index: number;
  readonly size: number;
  readonly root: Hash;
  readonly proof: readonly Hash[];
}

/** True if the proof shows the claim (RFC 9162 §2.1.3.2). */
export function verifyInclusion({ leaf, index, size, root, proof }: InclusionClaim): boolean {
  if (!isCount(size) || !isCount(index) || index >= size || ![leaf, ...proof].every(isHash)) return false;
  let node = leaf;
  const complete = climb({ index, last: size - 1 }, proof, (sibling, isLeft) => {
    node = isLeft ? innerHash(sibling, node) : innerHash(node, sibling);
  });
  return complete && node === root;
}

/** The claim of a consistency proof: the tree with `first` leaves is a prefix of the tree with `second` leaves. */
export interface ConsistencyClaim {
  readonly first: number;
  readonly firstRoot: Hash;
  readonly second: number;
  readonly secondRoot: Hash;
  readonly proof: readonly Hash[];
}

/** True if the proof shows the claim (RFC 9162 §2.1.4.2). */
export function verifyConsistency({ first, firstRoot, second, secondRoot, proof }: ConsistencyClaim): boolean {
  if (!isCount(first) || !isCount(second) || first > second || ![firstRoot, ...proof].every(isHash)) return false;
  if (first === second) return proof.length === 0 && firstRoot === secondRoot;
  if (first === 0) return proof.length === 0 && firstRoot === EMPTY_HASH;
  // A first tree that is one perfect subtree is itself the start of the path.
  const [start, ...path] = Number.isInteger(Math.log2(first)) ? [firstRoot, ...proof] : proof;
  if (start === undefined) return false;
  const at = { index: first - 1, last: second - 1 };
  while (at.index % 2 === 1) halve(at);
  let [older, newer] = [start, start];
  const complete = climb(at, path, (sibling, isLeft) => {
    if (isLeft) older = innerHash(sibling, older);
    newer = isLeft ? innerHash(sibling, newer) : innerHash(newer, sibling);
  });
  return complete && older === firstRoot && newer === secondRoot;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** A node on the way up: its index in its row, and the index of the row's last node. */
interface Place {
  index: number;
  last: number;
}

function halve(place: Place): void {
  place.index = Math.floor(place.index / 2);
  place.last = Math.floor(place.last / 2);
}

/**
 * Climbs from a place towards the root, and passes each node of the proof to `step`, with whether it is on the left.
 * Returns true if the climb ends at the root.
 */
function climb(from: Place, path: readonly Hash[], step: (sibling: Hash, isLeft: boolean) => void): boolean {
  const place = { ...from };
  for (const sibling of path) {
    if (place.last === 0) return false;
    const isLeft = place.index % 2 === 1 || place.index === place.last;
    step(sibling, isLeft);
    // The last node of an odd row moves up without a sibling until it is a right child.
    if (isLeft) while (place.index % 2 === 0 && place.index !== 0) halve(place);
    halve(place);
  }
  return place.last === 0;
}
