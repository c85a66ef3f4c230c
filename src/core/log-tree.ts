import { hash as digest } from "node:crypto";
import { ChronicleError } from "./errors.ts";
import { EMPTY_HASH, type Hash, hashFromBytes, hashToBytes } from "./hash.ts";
import { treeHash } from "./merkle.ts";

/**
 * The log tree: the RFC 6962 Merkle tree over the hashes of all events, in order.
 *
 *     leaf  = SHA-256( 0x00 ‖ 32-byte event hash )
 *     inner = SHA-256( 0x01 ‖ left ‖ right )
 *
 * Its state is a *frontier* (compact range): the roots of the perfect subtrees that the binary digits of the size name,
 * the largest first. It is all that is needed to go on.
 */

const leafInput = Buffer.alloc(33);

/** The leaf of an event. */
export function leafHash(eventHash: Hash): Hash {
  return hashFromBytes(leafBytes(eventHash));
}

function leafBytes(eventHash: Hash): Buffer {
  leafInput.write(eventHash, 1, "hex");
  return digest("sha256", leafInput, "buffer");
}

const innerInput = Buffer.alloc(65, 1);

function inner(left: Buffer, right: Buffer): Buffer {
  innerInput.set(left, 1);
  innerInput.set(right, 33);
  return digest("sha256", innerInput, "buffer");
}

/** The number of subtrees in the frontier of a tree: the ones among the binary digits of its size. */
function frontierLength(size: number): number {
  let count = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
}

/**
 * The tree, growing. `append` costs about two hashes; nothing but the frontier is kept.
 * To verify in parallel, cut the log at multiples of a power of two that is at least as long as each piece, build one
 * `LogTree` for each piece, and join them in order with `appendTree`.
 */
export class LogTree {
  #size = 0;
  readonly #subtrees: Buffer[] = [];

  /** The tree that a frontier stands for. Throws `INTEGRITY_VIOLATION` when frontier and size disagree. */
  static from(frontier: readonly Hash[], size: number): LogTree {
    if (!Number.isSafeInteger(size) || size < 0 || frontier.length !== frontierLength(size)) {
      throw new ChronicleError(
        "INTEGRITY_VIOLATION",
        `a frontier of ${frontier.length} cannot stand for ${size} events`,
      );
    }
    const tree = new LogTree();
    tree.#size = size;
    tree.#subtrees.push(...frontier.map(hashToBytes));
    return tree;
  }

  /** How many events. */
  get size(): number {
    return this.#size;
  }

  append(eventHash: Hash): void {
    this.#carry(leafBytes(eventHash), 1);
  }

  /**
   * Appends the events of another tree that was built on its own. Throws `INTEGRITY_VIOLATION` unless this tree's size
   * is a multiple of a power of two that is at least the other's largest subtree.
   */
  appendTree(piece: LogTree): void {
    let width = 2 ** Math.floor(Math.log2(Math.max(piece.#size, 1)));
    if (piece.#size > 0 && this.#size % width !== 0) {
      throw new ChronicleError("INTEGRITY_VIOLATION", `${piece.#size} events cannot be joined at ${this.#size}`);
    }
    let rest = piece.#size;
    for (const subtree of piece.#subtrees) {
      while (width > rest) width /= 2;
      this.#carry(subtree, width);
      rest -= width;
    }
  }

  /** The RFC 6962 root; SHA-256 of nothing for no events. */
  root(): Hash {
    let root = this.#subtrees.at(-1);
    if (root === undefined) return EMPTY_HASH;
    for (let i = this.#subtrees.length - 2; i >= 0; i -= 1) root = inner(this.#subtrees[i] as Buffer, root);
    return hashFromBytes(root);
  }

  /** The compact range, largest subtree first. */
  frontier(): Hash[] {
    return this.#subtrees.map(hashFromBytes);
  }

  #carry(subtree: Buffer, width: number): void {
    let node = subtree;
    let places = this.#size / width;
    while (places % 2 === 1) {
      node = inner(this.#subtrees.pop() as Buffer, node);
      places = (places - 1) / 2;
    }
    this.#subtrees.push(node);
    this.#size += width;
  }
}

/** The frontier after one more event. `size` is the number of events before it. */
export function appendLeaf(frontier: readonly Hash[], size: number, eventHash: Hash): Hash[] {
  const tree = LogTree.from(frontier, size);
  tree.append(eventHash);
  return tree.frontier();
}

/** The root of the tree that a frontier stands for. */
export function frontierRoot(frontier: readonly Hash[]): Hash {
  if (frontier.length === 0) return EMPTY_HASH;
  return hashFromBytes(frontier.map(hashToBytes).reduceRight((right, left) => inner(left, right)));
}

/** The root over leaf hashes (see `leafHash`). */
export function logRoot(leaves: readonly Hash[]): Hash {
  return hashFromBytes(treeHash(leaves.map(hashToBytes)));
}

/** The largest power of two below `size` (`size` ≥ 2): where RFC 6962 cuts a tree. */
function cut(size: number): number {
  let k = 1;
  while (k * 2 < size) k *= 2;
  return k;
}

function checkRange(size: number, limit: number, what: string): void {
  if (!Number.isSafeInteger(size) || size < 0 || size > limit) {
    throw new ChronicleError("USAGE", `${what} ${size} is outside 0..${limit}`);
  }
}

/** RFC 6962 §2.1.1: the siblings from leaf `index` up to the root, the lowest first. `leaves` are leaf hashes. */
export function inclusionProof(leaves: readonly Hash[], index: number): Hash[] {
  checkRange(index, leaves.length - 1, "leaf");
  if (leaves.length === 1) return [];
  const k = cut(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return index < k
    ? [...inclusionProof(left, index), logRoot(right)]
    : [...inclusionProof(right, index - k), logRoot(left)];
}

/** What an inclusion proof says: the leaf hash stands at `index` in the tree with `size` leaves and this root. */
export interface InclusionClaim {
  readonly leaf: Hash;
  readonly index: number;
  readonly size: number;
  readonly root: Hash;
  readonly proof: readonly Hash[];
}

/** Does the proof show the claim? (RFC 9162 §2.1.3.2) */
export function verifyInclusion({ leaf, index, size, root, proof }: InclusionClaim): boolean {
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(index) || index < 0 || index >= size) return false;
  let node = hashToBytes(leaf);
  let [at, last] = [index, size - 1];
  for (const sibling of proof.map(hashToBytes)) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      node = inner(sibling, node);
      // A node without a right sibling moves up unchanged until it is a right child.
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else {
      node = inner(node, sibling);
    }
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && hashFromBytes(node) === root;
}

/** RFC 6962 §2.1.2: shows that the tree of the first `size` leaves is a prefix of the tree of all. Leaf hashes. */
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

/** What a consistency proof says: the tree with `first` leaves is a prefix of the tree with `second` leaves. */
export interface ConsistencyClaim {
  readonly first: number;
  readonly firstRoot: Hash;
  readonly second: number;
  readonly secondRoot: Hash;
  readonly proof: readonly Hash[];
}

/** Does the proof show the claim? (RFC 9162 §2.1.4.2) */
export function verifyConsistency({ first, firstRoot, second, secondRoot, proof }: ConsistencyClaim): boolean {
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(second) || first < 0 || first > second) return false;
  if (first === second) return proof.length === 0 && firstRoot === secondRoot;
  if (first === 0) return proof.length === 0 && firstRoot === EMPTY_HASH;
  const path = proof.map(hashToBytes);
  if (Number.isInteger(Math.log2(first))) path.unshift(hashToBytes(firstRoot));
  let [at, last] = [first - 1, second - 1];
  while (at % 2 === 1) [at, last] = [(at - 1) / 2, Math.floor(last / 2)];
  const start = path.shift();
  if (start === undefined) return false;
  let [older, newer] = [start, start];
  for (const node of path) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [older, newer] = [inner(node, older), inner(node, newer)];
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else {
      newer = inner(newer, node);
    }
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && hashFromBytes(older) === firstRoot && hashFromBytes(newer) === secondRoot;
}
