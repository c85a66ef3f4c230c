import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { BlobIndex, IndexChange } from "../blob-index.ts";
import { BlobRowsBuilder } from "../blob-rows.ts";
import { sqliteBlobIndex } from "./sqlite-blob-index.ts";

const HASHES = ["a", "b", "c"].map((text) => sha256(Buffer.from(text)));

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-blob-index-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns a change that adds one pack with these contents, each of 10 bytes, in one block. */
function pack(ulid: string, hashes: readonly Hash[], replace = false): IndexChange {
  const rows = new BlobRowsBuilder();
  for (const [i, hash] of hashes.entries())
    rows.add(Buffer.from(hash, "hex"), { pack: 0, block: 0, blockBytes: 99, at: i * 10, length: 10, stored: 10 });
  return { packs: [{ ulid, lane: undefined, bytes: 99 }], rows: rows.build(), replace };
}

/** Returns the pack of each content, queried one by one and together. */
function packsOf(index: BlobIndex): { readonly alone: unknown; readonly together: unknown } {
  const all = (): unknown =>
    HASHES.map((hash) => {
      const place = index.find(hash);
      expect(index.has(hash)).toBe(place !== undefined);
      return place?.kind === "pack" ? index.packs().find(({ id }) => id === place.pack)?.ulid : undefined;
    });
  return { alone: all(), together: index.together(all) };
}

function expectPacks(index: BlobIndex, expected: readonly (string | undefined)[]): void {
  expect(packsOf(index)).toEqual({ alone: expected, together: expected });
}

test("a content is found at its present place, also if another connection has moved or removed it since", () => {
  const open = sqliteBlobIndex(new NodeDisk(), join(folder, "index.db"));
  const [{ index: ours }, { index: others }] = [open(), open()];
  try {
    ours.apply(pack("P1", HASHES.slice(0, 2)));
    expectPacks(ours, ["P1", "P1", undefined]);
    // The second content is known already, so it keeps its place.
    ours.apply(pack("P2", HASHES.slice(1)));
    expectPacks(ours, ["P1", "P1", "P2"]);
    others.apply(pack("P3", HASHES.slice(0, 1), true));
    expectPacks(ours, ["P3", "P1", "P2"]);
    others.apply({ forget: HASHES.slice(2) });
    expectPacks(ours, ["P3", "P1", undefined]);
    ours.apply(pack("P4", HASHES.slice(1), true));
    expectPacks(ours, ["P3", "P4", "P4"]);
    ours.apply({ forgetPacks: [ours.packOf("P4")?.id ?? 0] });
    expectPacks(ours, ["P3", undefined, undefined]);
  } finally {
    ours.close();
    others.close();
  }
});

test("a change that fails leaves nothing in the index", () => {
  const { index } = sqliteBlobIndex(new NodeDisk(), join(folder, "index.db"))();
  try {
    const bad = { ...pack("P1", HASHES), large: [{ hash: HASHES[0] as Hash, packed: false, length: 0.5, stored: 1 }] };
    expect(() => index.apply(bad)).toThrow();
    expectPacks(index, [undefined, undefined, undefined]);
  } finally {
    index.close();
  }
});
