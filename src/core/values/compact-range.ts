import { EMPTY_HASH, type Hash, sha256 } from "./hash.ts";

// The buffer is reused for every node, because its content is needed only during one call.
const input = Buffer.alloc(65, 1);

/** Returns the hash of an inner node of an RFC 6962 tree: SHA-256( 0x01 ‖ left ‖ right ). */
export function innerHash(left: Hash, right: Hash): Hash {
  input.write(left, 1, "hex");
  input.write(right, 33, "hex");
  return sha256(input);
}

/**
 * An RFC 6962 §2.1 tree to which hashed leaves are added one by one. The object holds only the roots of the tree's
 * perfect subtrees, with the largest first. There is one subtree for each binary digit 1 of the number of leaves.
 *
 * Hashes are hex text, because Node.js returns a digest as text three times faster than as a buffer.
 */
export class CompactRange {
  readonly #subtrees: Hash[];
  #size: number;

  /**
   * Continues from the subtrees of a tree with `size` leaves. The caller must ensure that the subtrees match the size.
   */
  constructor(size = 0, subtrees: readonly Hash[] = []) {
    this.#size = size;
    this.#subtrees = [...subtrees];
  }

  get size(): number {
    return this.#size;
  }

  get subtrees(): readonly Hash[] {
    return this.#subtrees;
  }

  add(leaf: Hash): void {
    this.addSubtree(leaf, 1);
  }

  /** Appends a perfect subtree of `width` leaves (a power of two). The size must be a multiple of `width`. */
  addSubtree(subtree: Hash, width: number): void {
    let node = subtree;
    let places = this.#size / width;
    while (places % 2 === 1) {
      node = innerHash(this.#subtrees.pop() as Hash, node);
      places = (places - 1) / 2;
    }
    this.#subtrees.push(node);
    this.#size += width;
  }

  /** Returns the root of the tree. Without leaves, the root is the SHA-256 of no bytes. */
  root(): Hash {
    return foldSubtrees(this.#subtrees);
  }
}

/** Returns the root of the tree with these perfect subtrees, which are given with the largest first. */
export function foldSubtrees(subtrees: readonly Hash[]): Hash {
  let root = subtrees.at(-1) ?? EMPTY_HASH;
  for (let i = subtrees.length - 2; i >= 0; i -= 1) root = innerHash(subtrees[i] as Hash, root);
  return root;
}
