import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { EMPTY_HASH, type Hash, hashToBytes, sha256 } from "../values/hash.ts";
import {
  consistencyProof,
  inclusionProof,
  logRoot,
  verifyConsistency,
  verifyInclusion,
} from "../../testing/log-proof.ts";
import { appendLeaf, frontierRoot, leafHash, LogTree } from "./log-tree.ts";

const SIZES = Array.from({ length: 65 }, (_, i) => i);
const EVENTS = Array.from({ length: 64 }, (_, i) => sha256(`event ${i}`));
const LEAVES = EVENTS.map(leafHash);
const ROOTS = SIZES.map((size) => logRoot(LEAVES.slice(0, size)));
const rootOf = (size: number): Hash => ROOTS[size] as Hash;

function grow(from: number, to: number, tree = new LogTree()): LogTree {
  for (const event of EVENTS.slice(from, to)) tree.append(event);
  return tree;
}

describe("the log tree", () => {
  it("has SHA-256( 0x00 ‖ event hash ) as leaves", () => {
    const [event] = EVENTS as [Hash];
    expect(leafHash(event)).toBe(
      createHash("sha256")
        .update(Buffer.from([0]))
        .update(hashToBytes(event))
        .digest("hex"),
    );
  });

  it("has the RFC 6962 root at every size, in whichever way it grows", () => {
    const tree = new LogTree();
    let frontier: Hash[] = [];
    for (const size of SIZES) {
      expect(tree.size).toBe(size);
      expect(tree.root()).toBe(rootOf(size));
      expect(frontierRoot(frontier)).toBe(rootOf(size));
      expect(tree.frontier()).toEqual(frontier);
      expect(new LogTree(frontier, size).root()).toBe(rootOf(size));
      const event = EVENTS[size];
      if (event === undefined) break;
      tree.append(event);
      frontier = appendLeaf(frontier, size, event);
    }
    expect(rootOf(0)).toBe(EMPTY_HASH);
  });

  it("continues from a frontier", () => {
    for (const size of SIZES)
      expect(grow(size, 64, new LogTree(grow(0, size).frontier(), size)).root()).toBe(rootOf(64));
  });

  it.each([1, 2, 4, 8, 16, 32])("joins segments of %d events that were built on their own", (width) => {
    for (const size of SIZES) {
      const tree = new LogTree();
      for (let at = 0; at < size; at += width) tree.appendTree(grow(at, Math.min(at + width, size)));
      expect(tree.root()).toBe(rootOf(size));
      expect(tree.frontier()).toEqual(grow(0, size).frontier());
    }
  });

  it("refuses to join a segment that does not fit its size, and joins an empty one at any size", () => {
    const tree = grow(0, 3);
    expect(() => tree.appendTree(grow(3, 5))).toThrow(expect.objectContaining({ code: "INTEGRITY_VIOLATION" }));
    tree.appendTree(new LogTree());
    expect(tree.root()).toBe(rootOf(3));
  });

  it("refuses a frontier that cannot stand for the size", () => {
    const bad = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });
    expect(() => new LogTree(grow(0, 3).frontier(), 4)).toThrow(bad);
    expect(() => new LogTree([], -1)).toThrow(bad);
    expect(() => appendLeaf([], 1, EMPTY_HASH)).toThrow(bad);
  });
});

describe("inclusion proofs", () => {
  it("hold for every leaf of every size, and for no other claim", () => {
    for (const size of SIZES.slice(1)) {
      const leaves = LEAVES.slice(0, size);
      for (const [index, leaf] of leaves.entries()) {
        const claim = { leaf, index, size, root: rootOf(size), proof: inclusionProof(leaves, index) };
        expect(verifyInclusion(claim)).toBe(true);
        expect(verifyInclusion({ ...claim, leaf: leafHash(EMPTY_HASH) })).toBe(false);
        expect(verifyInclusion({ ...claim, index: index + 1 })).toBe(false);
        expect(verifyInclusion({ ...claim, root: rootOf(size - 1) })).toBe(false);
        expect(verifyInclusion({ ...claim, proof: [...claim.proof, EMPTY_HASH] })).toBe(false);
        // With one leaf the proof is empty, so nothing can be left out.
        expect(verifyInclusion({ ...claim, proof: claim.proof.slice(1) })).toBe(size === 1);
      }
    }
  });

  it("are false for impossible sizes, indexes and hashes", () => {
    const claim = { leaf: rootOf(1), index: 0, size: 1, root: rootOf(1), proof: [] };
    expect(verifyInclusion(claim)).toBe(true);
    for (const bad of [{ size: 0 }, { index: -1 }, { index: 0.5 }, { size: Infinity }, { proof: ["x" as Hash] }]) {
      expect(verifyInclusion({ ...claim, ...bad })).toBe(false);
    }
    expect(() => inclusionProof(LEAVES, 64)).toThrow(expect.objectContaining({ code: "USAGE" }));
  });
});

describe("consistency proofs", () => {
  it("hold for every pair of sizes, and for no other claim", () => {
    for (const second of SIZES) {
      for (const first of SIZES.slice(0, second + 1)) {
        const proof = consistencyProof(LEAVES.slice(0, second), first);
        const claim = { first, firstRoot: rootOf(first), second, secondRoot: rootOf(second), proof };
        expect(verifyConsistency(claim)).toBe(true);
        expect(verifyConsistency({ ...claim, firstRoot: leafHash(EMPTY_HASH) })).toBe(false);
        expect(verifyConsistency({ ...claim, proof: [...proof, EMPTY_HASH] })).toBe(false);
        // Every tree is consistent with an empty tree. Only in this case, the proof does not depend on the second root.
        expect(verifyConsistency({ ...claim, secondRoot: leafHash(EMPTY_HASH) })).toBe(first === 0 && second > 0);
        expect(verifyConsistency({ ...claim, proof: proof.slice(1) })).toBe(proof.length === 0);
      }
    }
  });

  it("are false for impossible sizes and a missing proof", () => {
    const claim = {
      first: 2,
      firstRoot: rootOf(2),
      second: 3,
      secondRoot: rootOf(3),
      proof: consistencyProof(LEAVES.slice(0, 3), 2),
    };
    expect(verifyConsistency(claim)).toBe(true);
    for (const bad of [{ first: 4 }, { first: -1 }, { first: 1.5 }, { second: Number.NaN }, { proof: [] }]) {
      expect(verifyConsistency({ ...claim, ...bad })).toBe(false);
    }
    expect(() => consistencyProof([], 1)).toThrow(expect.objectContaining({ code: "USAGE" }));
  });

  it("notice a history that was rewritten", () => {
    const rewritten = LEAVES.with(3, leafHash(EMPTY_HASH));
    for (let size = 4; size < 64; size += 1) {
      const proof = consistencyProof(rewritten, size);
      const claim = { first: size, firstRoot: rootOf(size), second: 64, secondRoot: logRoot(rewritten), proof };
      expect(verifyConsistency(claim)).toBe(false);
    }
  });
});
