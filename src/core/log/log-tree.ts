import { CompactRange, foldSubtrees } from "../values/compact-range.ts";
import { ChronicleError } from "../values/errors.ts";
import { type Hash, isHash, sha256 } from "../values/hash.ts";

/**
 * The log tree: the RFC 6962 Merkle tree over the hashes of all events, in order.
 *
 *     leaf  = SHA-256( 0x00 ‖ 32-byte event hash )
 *     inner = SHA-256( 0x01 ‖ left ‖ right )
 *
 * The state of the tree is a *frontier* (compact range): the roots of its perfect subtrees, the largest first. There is
 * one subtree for each digit 1 in the binary form of the size. To append events, only the frontier and the size are
 * needed.
 */

// The buffer is reused for every leaf, because its content is needed only during one call of `leafHash`.
const leafInput = Buffer.alloc(33);

export function leafHash(eventHash: Hash): Hash {
  leafInput.write(eventHash, 1, "hex");
  return sha256(leafInput);
}

function frontierLength(size: number): number {
  let count = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
}

/**
 * A log tree to which events are appended. The object keeps only the frontier. `append` computes two hashes on average.
 * To verify in parallel, cut the log into pieces of 2^n events (the last piece may be shorter), build one `LogTree` for
 * each piece, and join the trees in order with `appendTree`.
 */
export class LogTree {
  readonly #range: CompactRange;

  /** Throws `INTEGRITY_VIOLATION` if the frontier does not fit the size. */
  constructor(frontier: readonly Hash[] = [], size = 0) {
    const fits = Number.isSafeInteger(size) && size >= 0 && frontier.length === frontierLength(size);
    if (!fits || !frontier.every(isHash)) {
      throw new ChronicleError(
        "INTEGRITY_VIOLATION",
        `a frontier of ${frontier.length} hashes does not fit a tree of ${size} events`,
      );
    }
    this.#range = new CompactRange(size, frontier);
  }

  get size(): number {
    return this.#range.size;
  }

  append(eventHash: Hash): void {
    this.#range.add(leafHash(eventHash));
  }

  /**
   * Appends the events of another tree that was built separately. Throws `INTEGRITY_VIOLATION` unless the size of this
   * tree is a multiple of the size of the largest subtree of `piece`.
   */
  appendTree(piece: LogTree): void {
    let width = 2 ** Math.floor(Math.log2(Math.max(piece.size, 1)));
    if (piece.size > 0 && this.size % width !== 0) {
      throw new ChronicleError(
        "INTEGRITY_VIOLATION",
        `a tree of ${piece.size} events cannot be appended to a tree of ${this.size} events`,
      );
    }
    let rest = piece.size;
    for (const subtree of piece.#range.subtrees) {
      while (width > rest) width /= 2;
      this.#range.addSubtree(subtree, width);
      rest -= width;
    }
  }

  /** Returns the RFC 6962 root. If there are no events, the root is the SHA-256 of no bytes. */
  root(): Hash {
    return this.#range.root();
  }

  /** Returns the roots of the perfect subtrees, the largest first. */
  frontier(): Hash[] {
    return [...this.#range.subtrees];
  }
}

/** Returns the frontier after one more event. `size` is the number of events before this event. */
export function appendLeaf(frontier: readonly Hash[], size: number, eventHash: Hash): Hash[] {
  const tree = new LogTree(frontier, size);
  tree.append(eventHash);
  return tree.frontier();
}

export function frontierRoot(frontier: readonly Hash[]): Hash {
  return foldSubtrees(frontier);
}
