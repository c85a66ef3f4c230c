import { describe, expect, it } from "vitest";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { findStored, flipAt } from "../../src/testing/blob-store-rig.ts";
import { sweepCrashes, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { put, withWorkspace } from "../helpers/engine-sweep.ts";

/**
 * A repair on a disk that crashes before, in the middle of and after every operation, with every fate of unsynced data,
 * and with every errno. Afterwards, every content that was sound is sound, every content that was reported as repaired
 * is repaired, and another repair repairs the others.
 */

const folder = { folder: 0o755 };
const { blobs: layout } = storeLayout("/store");
const SMALL = "small\n".repeat(500);
const LARGE = "0123456789".repeat(900_000);
const KEPT = "kept\n".repeat(300);
const full = process.env["SWEEP"] === "full";
const thinned = full ? {} : { every: 6, fates: ["forget", "keep", { seed: 1 }] as const };

/** Damages both contents of the first state in the store. Their good bytes are in `/good`. */
async function prepare(): Promise<SimDisk> {
  const disk = SimDisk.fromTree({
    ...{ "/proj/small.txt": SMALL, "/proj/large.txt": LARGE },
    ...{ "/good/deep/one": SMALL, "/good/two": LARGE },
    ...{ "/good/deep": folder, "/store": folder, "/config": folder, "/root": folder },
  });
  await withWorkspace(disk, 0, async (workspace) => {
    for (const name of ["small", "large"]) put(disk, `/proj/${name}.txt`, `${name} is another now\n`);
    put(disk, "/proj/kept.txt", KEPT);
    await workspace.snapshot();
  });
  const found = findStored(disk, layout.activePack(0), sha256(SMALL));
  if (found === undefined) throw new Error("the small content lies elsewhere");
  flipAt(disk, layout.activePack(0), found.stored + 1);
  const { size = 0 } = disk.lstat(layout.largePacked(sha256(LARGE))) ?? {};
  flipAt(disk, layout.largePacked(sha256(LARGE)), size >> 1);
  for (const path of [layout.activePack(0), layout.largePacked(sha256(LARGE))]) {
    const fd = disk.open(path, "update");
    disk.sync(fd);
    disk.close(fd);
  }
  return disk.crash("keep");
}

const places = [{ folder: "/good" }];

async function check(disk: SimDisk, { error, acknowledged }: SweepContext<string>): Promise<void> {
  if (errnoOf(error) !== undefined && !(error instanceof ChronicleError))
    throw new Error("a bare system error reached the caller", { cause: error });
  await withWorkspace(disk, 500_000, async (workspace) => {
    const found = await workspace.verify();
    if (acknowledged.length > 0) expect(found.problems).toEqual([]);
    // The second state, whose contents were sound, can be restored.
    await workspace.restore("1", { to: "/state1" });
    expect(disk.content("/state1/kept.txt")?.toString()).toBe(KEPT);
    expect(disk.content("/state1/small.txt")?.toString()).toBe("small is another now\n");
    const { ok, problems } = await workspace.verify({ repairFrom: places });
    expect([ok, problems]).toEqual([true, []]);
    await workspace.restore("0", { to: "/state0" });
    expect(disk.content("/state0/small.txt")?.toString()).toBe(SMALL);
    expect(disk.content("/state0/large.txt")?.toString() === LARGE).toBe(true);
  });
}

describe("a repair that is cut off", () => {
  it("anywhere leaves the store no worse, and can be repeated", { timeout: 600_000 }, async () => {
    const start = await prepare();
    const { points } = await sweepCrashes<string>({
      ...thinned,
      prepare: () => start,
      run: (disk, acknowledge) =>
        withWorkspace(disk, 1_000, async (workspace) => {
          const { ok, repair } = await workspace.verify({ repairFrom: places });
          expect(repair?.missing).toEqual([]);
          if (ok) acknowledge("healed");
        }),
      check,
    });
    expect(points).toBeGreaterThan(20);
  });
});
