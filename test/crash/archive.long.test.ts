import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import { exportArchive } from "../../src/compose/export-archive.ts";
import { importArchive } from "../../src/compose/import-archive.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { ChronicleError, errnoOf, withCode } from "../../src/core/values/errors.ts";
import { filePieces } from "../../src/disk/file-pieces.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type CrashSweep, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { text } from "../helpers/content-text.ts";

/**
 * Exports and imports on a disk that stops at its operations, or lets them fail (see `CrashSweep`). An export leaves a
 * whole archive or no file. An import leaves a whole workspace or none, and can be repeated.
 */

const EMPTY = { folder: 0o755 };
const ARCHIVE = "/out/history.tar";
/** More than is put into the store as a whole. */
const LARGE = 1_100_000;

/** Without `SWEEP_ALL`, disturbs only every n-th operation, with fewer fates and errnos. */
function thinned(every: number): Partial<CrashSweep> {
  if (process.env["SWEEP_ALL"] !== undefined) return {};
  return { every, fates: ["forget", { seed: 1 }], errnos: ["ENOSPC", "EIO"] };
}

async function withStore<T>(disk: SimDisk, firstId: number, work: (store: StoreApi) => Promise<T>): Promise<T> {
  const store = await openSimStore(disk, { firstId });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Makes a store with a workspace that has a history with a compaction and a longer file. Returns its id, too. */
async function withOrigin(): Promise<{ readonly disk: SimDisk; readonly id: string; readonly root: string }> {
  const disk = SimDisk.fromTree({ "/store": EMPTY, "/config": EMPTY, "/root": EMPTY, "/out": EMPTY });
  const { id, root } = await withStore(disk, 0, async (store) => {
    const { workspace } = await store.create({ name: "origin" });
    await workspace.putFile("dir/a", Buffer.from("one\n"));
    await workspace.snapshot({ name: "first" });
    await workspace.compact();
    await workspace.putFile("dir/a", Buffer.from("two\n"));
    await workspace.putFile("large", Buffer.alloc(LARGE, "large "));
    const head = await workspace.head();
    await workspace.close();
    return { id: workspace.id, root: head.root };
  });
  return { disk: disk.crash("keep"), id, root };
}

function isExpected({ error }: SweepContext): void {
  if (errnoOf(error) === undefined || error instanceof ChronicleError) return;
  throw new Error("a system error reached the caller that is not wrapped in a ChronicleError", { cause: error });
}

describe("a crash", () => {
  it(
    "while a history is exported leaves a whole archive or no file, and the history as it was",
    { timeout: 300_000 },
    async () => {
      const { disk: origin, id } = await withOrigin();
      const whole = await withStore(origin.fork(), 100, async (store) => {
        return exportArchive(partsOf(store), id, { file: ARCHIVE });
      });
      const result = await sweepCrashes<string>({
        ...thinned(13),
        prepare: () => origin,
        run: (disk, acknowledge) =>
          withStore(disk, 100, async (store) => {
            acknowledge((await exportArchive(partsOf(store), id, { file: ARCHIVE })).hash);
          }),
        check: async (disk, context) => {
          const size = disk.lstat(ARCHIVE)?.size;
          if (size !== undefined || context.acknowledged.length > 0) expect(size).toBe(whole.bytes);
          await withStore(disk, 500, async (store) => {
            const workspace = await store.openById(id);
            expect((await workspace.verify()).problems).toEqual([]);
            await workspace.close();
            expect(await exportArchive(partsOf(store), id, { file: ARCHIVE, force: true })).toEqual(whole);
          });
        },
      });
      expect(result.points).toBeGreaterThan(20);
    },
  );

  it(
    "while a history is imported leaves a whole workspace or none, and it can be imported again",
    { timeout: 300_000 },
    async () => {
      const { disk: origin, id, root } = await withOrigin();
      await withStore(origin, 100, (store) => exportArchive(partsOf(store), id, { file: ARCHIVE }));
      const bytes = Buffer.concat([...filePieces(origin, ARCHIVE)]);
      const result = await sweepCrashes<string>({
        ...thinned(13),
        prepare: () => {
          const tree = { "/store": EMPTY, "/config": EMPTY, "/root": EMPTY, "/out": EMPTY, [ARCHIVE]: bytes };
          return SimDisk.fromTree(tree);
        },
        run: (disk, acknowledge) =>
          withStore(disk, 1_000, async (store) => {
            acknowledge((await withCode(() => importArchive(partsOf(store), { file: ARCHIVE }))).root);
          }),
        check: (disk, context) =>
          withStore(disk, 2_000, async (store) => {
            isExpected(context);
            const listed = await store.workspaces();
            if (context.acknowledged.length > 0) expect(listed).toHaveLength(1);
            if (listed.length === 0) await importArchive(partsOf(store), { file: ARCHIVE });
            const workspace = await store.openById(id);
            expect((await workspace.verify()).problems).toEqual([]);
            expect(await workspace.head()).toMatchObject({ root });
            expect(await workspace.signing()).toMatchObject({ state: "signed" });
            expect(await text(await workspace.file("dir/a", { at: "first" }))).toBe("one\n");
            expect((await text(await workspace.cat("large"))).length).toBe(LARGE);
            await workspace.close();
            await (await store.create({ name: "after" })).workspace.close();
            expect(disk.list("/store/workspaces")).toHaveLength(2);
          }),
      });
      expect(result.points).toBeGreaterThan(40);
    },
  );
});
