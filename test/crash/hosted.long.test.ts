import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type CrashSweep, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { text } from "../helpers/content-text.ts";

/**
 * Hosted workspaces on a simulated disk. The sweep stops the disk at its operations, and lets them fail with errnos
 * (see `CrashSweep`). Afterwards, a workspace that was being made exists as a whole, or does not exist and its name
 * is free.
 * Everything that was acknowledged is there. A workspace that was being archived is archived or not. Everything works
 * without any repair.
 */

/** Without `SWEEP_ALL`, disturbs only every n-th operation, with fewer fates and errnos. */
function thinned(every: number): Partial<CrashSweep> {
  if (process.env["SWEEP_ALL"] !== undefined) return {};
  return { every, fates: ["forget", "keep", { seed: 1 }], errnos: ["ENOSPC", "EIO"] };
}

const EMPTY = { folder: 0o755 };

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store": EMPTY, "/config": EMPTY, "/root": EMPTY });
}

async function withStore<T>(disk: SimDisk, firstId: number, work: (store: StoreApi) => Promise<T>): Promise<T> {
  const store = await openSimStore(disk, { firstId });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Makes a store with one workspace, `origin`, that has a history. */
async function withOrigin(): Promise<SimDisk> {
  const disk = newDisk();
  await withStore(disk, 0, async (store) => {
    const { workspace } = await store.create({ name: "origin" });
    await workspace.putFile("dir/a", Buffer.from("one\n"));
    await workspace.snapshot({ name: "first" });
    await workspace.putFile("dir/a", Buffer.from("two\n"));
    await workspace.close();
  });
  return disk.crash("keep");
}

function isExpected({ error }: SweepContext): void {
  if (errnoOf(error) === undefined || error instanceof ChronicleError) return;
  throw new Error("a system error reached the caller that is not wrapped in a ChronicleError", { cause: error });
}

/**
 * Checks that every listed workspace opens and verifies, and can be written unless it is archived. Also checks that no
 * folder of a half-made workspace is left after the next `create`. Returns the names of the listed workspaces.
 */
async function checkStore(disk: SimDisk, store: StoreApi): Promise<string[]> {
  const listed = await store.workspaces();
  for (const { id, problem, archived } of listed) {
    expect(problem).toBeUndefined();
    const workspace = await store.openById(id, { exact: true });
    expect((await workspace.snapshots())[0]).toMatchObject({ number: 0, name: "baseline" });
    if (archived !== true) await workspace.putFile("after", Buffer.from("the crash\n"));
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  }
  const { workspace } = await store.create({ name: "after" });
  await workspace.close();
  const folders = disk.list("/store/workspaces").map((one) => one.name.toString());
  expect(folders.sort()).toEqual([...listed.map((one) => one.id), workspace.id].sort());
  return listed.flatMap((one) => one.name ?? []);
}

describe("a crash while a hosted workspace", () => {
  it("is made: leaves a whole workspace, or nothing", async () => {
    const result = await sweepCrashes<string>({
      ...thinned(5),
      prepare: newDisk,
      run: (disk, acknowledge) =>
        withStore(disk, 0, async (store) => {
          const { workspace } = await store.create({ name: "new" });
          acknowledge(workspace.id);
          await workspace.close();
        }),
      check: (disk, context) =>
        withStore(disk, 500, async (store) => {
          isExpected(context);
          const names = await checkStore(disk, store);
          for (const id of context.acknowledged) {
            const opened = await store.openById("new", { exact: true });
            expect(opened.id).toBe(id);
            await opened.close();
          }
          if (!names.includes("new")) await (await store.create({ name: "new" })).workspace.close();
        }),
    });
    expect(result.points).toBeGreaterThan(20);
  });

  it("is forked: leaves a fork with all files of that moment, or nothing", async () => {
    const origin = await withOrigin();
    const result = await sweepCrashes<string>({
      ...thinned(9),
      prepare: () => origin,
      run: (disk, acknowledge) =>
        withStore(disk, 500, async (store) => {
          const { workspace } = await store.create({ name: "fork", from: { workspace: "origin", moment: "first" } });
          acknowledge(workspace.id);
          await workspace.close();
        }),
      check: (disk, context) =>
        withStore(disk, 1_000, async (store) => {
          isExpected(context);
          const names = await checkStore(disk, store);
          expect(names).toContain("origin");
          if (context.acknowledged.length > 0) expect(names).toContain("fork");
          // A fork shares the contents of its origin, so a collection keeps them, even if the fork was never finished.
          await store.gc();
          for (const name of names) {
            const opened = await store.openById(name, { exact: true });
            const file = await opened.file("dir/a", { at: name === "fork" ? "baseline" : "latest" });
            expect(await text(file)).toBe("one\n");
            expect((await opened.verify()).problems).toEqual([]);
            await opened.close();
          }
        }),
    });
    expect(result.points).toBeGreaterThan(20);
  });

  it("is archived: leaves it archived or not, as the list of workspaces shows", async () => {
    const origin = await withOrigin();
    await sweepCrashes<string>({
      ...thinned(3),
      prepare: () => origin,
      run: (disk, acknowledge) =>
        withStore(disk, 500, async (store) => {
          acknowledge((await store.archive("origin")).id);
        }),
      check: (disk, context) =>
        withStore(disk, 1_000, async (store) => {
          isExpected(context);
          const [listed] = await store.workspaces();
          const workspace = await store.openById("origin");
          const write = workspace.putFile("b", Buffer.from("b\n"));
          if (listed?.archived === true) await expect(write).rejects.toMatchObject({ code: "READ_ONLY" });
          else await write;
          if (context.acknowledged.length > 0) expect(listed).toMatchObject({ archived: true });
          await workspace.close();
          await store.archive("origin", false);
          await checkStore(disk, store);
        }),
    });
  });

  it("is forgotten: leaves it whole, or nothing", async () => {
    const origin = await withOrigin();
    await sweepCrashes<string>({
      ...thinned(3),
      prepare: () => origin,
      run: (disk, acknowledge) =>
        withStore(disk, 500, async (store) => {
          acknowledge((await store.forget("origin")).id);
        }),
      check: (disk, context) =>
        withStore(disk, 1_000, async (store) => {
          isExpected(context);
          const names = await checkStore(disk, store);
          if (context.acknowledged.length > 0) expect(names).toEqual([]);
          if (names.length === 0) await (await store.create({ name: "origin" })).workspace.close();
        }),
    });
  });
});
