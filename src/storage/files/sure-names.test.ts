import { describe, expect, test } from "vitest";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { hashToBytes, sha256 } from "../../core/values/hash.ts";
import { someBytes } from "../../testing/blob-store-suite.ts";
import { encodeBlock } from "../block.ts";
import { storeLayout } from "../layout.ts";
import { PackWriter } from "./pack-writer.ts";
import { makeNamesSure } from "./sure-names.ts";

const { blobs: layout } = storeLayout("/home");
const PACK = layout.sealedPack("0".repeat(26));

/** Returns a disk on which a later sync of a folder does not save the names of a failed sync. */
function newDisk(): SimDisk {
  const folder = { folder: 0o700 };
  const tree = { "/home/blobs/packs/active": folder, "/home/blobs/large/tmp": folder };
  return SimDisk.fromTree(tree, { losesNames: true });
}

/** Seals a pack whose folder cannot be synced. Returns the unsure names. */
function sealedUnsurely(disk: SimDisk): Set<string> {
  const unsure = new Set<string>();
  const parts = { disk, layout, newPackId: () => "0".repeat(26), unsure };
  const writer = new PackWriter(parts, { lane: 0, pack: undefined });
  const raw = someBytes(3_000, 1);
  writer.append(encodeBlock({ hashes: hashToBytes(sha256(raw)), lengths: [raw.length], raw }));
  writer.sync();
  disk.plan = ({ name, path }) => (name === "syncFolder" && path === layout.packs ? { errno: "EIO" } : "go");
  expect(() => writer.seal()).toThrow(/EIO/);
  disk.plan = undefined;
  return unsure;
}

describe("a name whose sync has failed", () => {
  test("is noted by the writer that gave it", () => {
    expect([...sealedUnsurely(newDisk())]).toEqual([PACK]);
  });

  test.each([
    { knows: true, found: true },
    { knows: false, found: false },
  ])(
    "becomes durable by a new copy of the file, but only if the failure is known (known: $knows)",
    ({ knows, found }) => {
      const disk = newDisk();
      const unsure = knows ? sealedUnsurely(disk) : (sealedUnsurely(disk), new Set<string>());
      const before = disk.content(PACK);
      makeNamesSure({ disk, layout, newPackId: () => "copy", unsure }, [layout.packs, layout.active], [PACK]);
      expect([...unsure]).toEqual([]);
      // Another pack is begun in the lane.
      disk.close(disk.open(layout.activePack(0), "update"));
      expect(disk.content(PACK)).toEqual(before);
      expect(disk.crash("forget").content(PACK) !== undefined).toBe(found);
      expect(disk.list(layout.largeTmp)).toEqual([]);
      expect(disk.openDescriptors).toBe(0);
    },
  );

  test("is noted if making it sure fails, and the file stays as it is", () => {
    const disk = newDisk();
    const unsure = sealedUnsurely(disk);
    const parts = { disk, layout, newPackId: () => "copy", unsure };
    const before = disk.content(PACK);
    disk.plan = ({ name }) => (name === "sync" ? { errno: "ENOSPC" } : "go");
    expect(() => makeNamesSure(parts, [layout.packs], [PACK])).toThrow(/ENOSPC/);
    expect([...unsure]).toEqual([PACK]);
    expect(disk.content(PACK)).toEqual(before);
    unsure.clear();
    disk.plan = ({ name }) => (name === "syncFolder" ? { errno: "EIO" } : "go");
    expect(() => makeNamesSure(parts, [layout.packs], [PACK])).toThrow(/EIO/);
    expect([...unsure]).toEqual([PACK]);
  });
});
