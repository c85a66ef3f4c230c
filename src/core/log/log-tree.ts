import { CompactRange, foldSubtrees } from "../values/compact-range.ts";
import { ChronicleError } from "../values/errors.ts";
import { type Hash, isHash, sha256 } from "../values/hash.ts";

/**
 * The log tree: the RFC 6962 Merkle tree over the hashes of all events, in order.
 *
 *     leaf  = SHA-256( 0x00 ‖ 32-byte event hash )
 *     inner = SHA-256( 0x01 ‖ left ‖ right )
 *
 * Its state is a *frontier* (compact range): the roots of the perfect subtrees that the binary digits of the size name,
 * the largest first. It is all that is needed to go on.
 */

// Reused for every leaf: nothing of it outlives one call.
const leafInput = Buffer.alloc(33);

/** The leaf of an event. */
export function leafHash(eventHash: Hash): Hash {
  leafInput.write(eventHash, 1, "hex");
  return sha256(leafInput);
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
  readonly #range: CompactRange;

  /**
   * Goes on from a frontier and the size that it stands for; without them, from nothing.
   * Throws `INTEGRITY_VIOLATION` when the two disagree.
   */
  constructor(frontier: readonly Hash[] = [], size = 0) {
    const fits = Number.isSafeInteger(size) && size >= 0 && frontier.length === frontierLength(size);
    if (!fits || !frontier.every(isHash)) {
      throw new ChronicleError(
        "INTEGRITY_VIOLATION",
        `a frontier of ${frontier.length} cannot stand for ${size} events`,
      );
    }
    this.#range = new CompactRange(size, frontier);
  }

  /** How many events. */
  get size(): number {
    return this.#range.size;
  }

  append(eventHash: Hash): void {
    this.#range.add(leafHash(eventHash));
  }

  /**
   * Appends the events of another tree that was built on its own. Throws `INTEGRITY_VIOLATION` unless this tree's size
   * is a multiple of a power of two that is at least the other's largest subtree.
   */
  appendTree(piece: LogTree): void {
    let width = 2 ** Math.floor(Math.log2(Math.max(piece.size, 1)));
    if (piece.size > 0 && this.size % width !== 0) {
      throw new ChronicleError("INTEGRITY_VIOLATION", `${piece.size} events cannot be joined at ${this.size}`);
    }
    let rest = piece.size;
    for (const subtree of piece.#range.subtrees) {
      while (width > rest) width /= 2;
      this.#range.addSubtree(subtree, width);
      rest -= width;
    }
  }

  /** The RFC 6962 root; SHA-256 of nothing for no events. */
  root(): Hash {
    return this.#range.root();
  }

  /** The compact range, largest subtree first. */
  frontier(): Hash[] {
    return [...this.#range.subtrees];
  }
}

/** The frontier after one more event. `size` is the number of events before it. */
export function appendLeaf(frontier: readonly Hash[], size: number, eventHash: Hash): Hash[] {
  const tree = new LogTree(frontier, size);
  tree.append(eventHash);
  return tree.frontier();
}

/** The root of the tree that a frontier stands for. */
export function frontierRoot(frontier: readonly Hash[]): Hash {
  return foldSubtrees(frontier);
}
