import { hash as digest } from "node:crypto";
import { sha256Bytes } from "./hash.ts";

// Reused for every node: nothing of it outlives one call.
const input = Buffer.alloc(65, 1);

/** An inner node of an RFC 6962 tree: SHA-256( 0x01 ‖ left ‖ right ). */
export function innerHash(left: Buffer, right: Buffer): Buffer {
  input.set(left, 1);
  input.set(right, 33);
  return digest("sha256", input, "buffer");
}

/**
 * An RFC 6962 §2.1 tree whose leaves (32 bytes, hashed already) come one by one. It keeps only the roots of the perfect
 * subtrees that the binary digits of its size name, the largest first.
 */
export class CompactRange {
  readonly #subtrees: Buffer[];
  #size: number;

  /** Goes on from the subtrees of a tree with `size` leaves; they must fit each other. */
  constructor(size = 0, subtrees: readonly Buffer[] = []) {
    this.#size = size;
    this.#subtrees = [...subtrees];
  }

  /** How many leaves. */
  get size(): number {
    return this.#size;
  }

  /** Largest first. */
  get subtrees(): readonly Buffer[] {
    return this.#subtrees;
  }

  add(leaf: Buffer): void {
    this.addSubtree(leaf, 1);
  }

  /** Appends a perfect subtree of `width` leaves (a power of two); the size must be a multiple of it. */
  addSubtree(subtree: Buffer, width: number): void {
    let node = subtree;
    let places = this.#size / width;
    while (places % 2 === 1) {
      node = innerHash(this.#subtrees.pop() as Buffer, node);
      places = (places - 1) / 2;
    }
    this.#subtrees.push(node);
    this.#size += width;
  }

  /** The tree's root, 32 bytes; SHA-256 of nothing when there are no leaves. */
  root(): Buffer {
    let root = this.#subtrees.at(-1);
    if (root === undefined) return sha256Bytes("");
    for (let i = this.#subtrees.length - 2; i >= 0; i -= 1) root = innerHash(this.#subtrees[i] as Buffer, root);
    return root;
  }
}
