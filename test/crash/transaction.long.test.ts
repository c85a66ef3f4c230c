import { expect, test } from "vitest";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type CrashSweep, type SweepContext } from "../../src/testing/crash-sweep.ts";
import {
  acknowledgedHead,
  checkOldOrNew,
  edit,
  newDisk,
  project,
  put,
  withWorkspace,
  type Fact,
} from "../helpers/engine-sweep.ts";

const ALL = process.env["SWEEP_ALL"] !== undefined;

/** Makes an active transaction with recorded changes. */
async function begun(): Promise<SimDisk> {
  const disk = newDisk();
  await withWorkspace(disk, 0, async (workspace) => {
    // Without a pid, the transaction stays active, whichever process is killed.
    await workspace.beginTransaction({ name: "half", pid: null });
    edit(disk);
    await workspace.snapshot();
  });
  return disk.crash("keep");
}

/**
 * Checks that the files are all as before the transaction, or all as within it. If it is not rolled back yet, rolls it
 * back.
 */
async function checkRollback(disk: SimDisk, context: SweepContext<Fact>, within: ReturnType<typeof project>) {
  const before = project(newDisk());
  await checkOldOrNew(disk, context, { before, after: within });
  await withWorkspace(disk, 600_000, async (workspace) => {
    const [one] = await workspace.transactions();
    if (context.acknowledged.length > 0) expect(one?.status).toBe("rolled_back");
    if (one?.status === "active") await workspace.rollbackTransaction(one.id);
    expect(project(disk)).toEqual(before);
    expect(await workspace.transactions()).toMatchObject([{ status: "rolled_back" }]);
    // However often the rollback was cut off, it is one operation, and one redo brings the changes back.
    await workspace.redo();
    expect(project(disk)).toEqual(within);
    expect((await workspace.verify()).problems).toEqual([]);
  });
}

test(
  "a rollback that is cut off anywhere is made as a whole or not at all, and can be repeated",
  async () => {
    const disk = await begun();
    const within = project(disk);
    const sweep: CrashSweep<Fact> = {
      prepare: () => disk,
      run: (copy, acknowledge) =>
        withWorkspace(copy, 2_000, async (workspace) => {
          const [one] = await workspace.transactions();
          await workspace.rollbackTransaction(one?.id ?? "");
          acknowledge(await acknowledgedHead(workspace));
        }),
      check: (copy, context) => checkRollback(copy, context, within),
      ...(ALL ? {} : { every: 6 }),
    };
    const { points, runs, checks } = await sweepCrashes(sweep);
    process.stdout.write(`crash sweep of transaction rollback: ${points} points, ${runs} runs, ${checks} checks\n`);
    expect(points).toBeGreaterThan(30);
  },
  ALL ? 900_000 : 120_000,
);

/** Checks that a rollback also undoes work that came after an earlier rollback that was cut off. */
async function checkLaterWork(disk: SimDisk): Promise<void> {
  const before = project(newDisk());
  await withWorkspace(disk, 600_000, async (workspace) => {
    const [one] = await workspace.transactions();
    if (one?.status !== "active") return;
    // The snapshot finishes the interrupted rollback, so the edit after it is later work.
    await workspace.snapshot();
    put(disk, "/proj/a.txt", "later\n");
    const later = project(disk);
    const { undo } = await workspace.rollbackTransaction(one.id);
    expect(project(disk)).toEqual(before);
    expect(undo.undo_id).not.toBeNull();
    expect((await workspace.status()).changes).toEqual([]);
    await workspace.redo();
    expect(project(disk)).toEqual(later);
    expect((await workspace.verify()).problems).toEqual([]);
  });
}

test(
  "work after a rollback that was cut off is undone by the next rollback",
  async () => {
    const disk = await begun();
    const sweep: CrashSweep<Fact> = {
      prepare: () => disk,
      run: (copy) =>
        withWorkspace(copy, 2_000, async (workspace) => {
          const [one] = await workspace.transactions();
          await workspace.rollbackTransaction(one?.id ?? "");
        }),
      check: checkLaterWork,
      ...(ALL ? {} : { every: 12 }),
    };
    const { points } = await sweepCrashes(sweep);
    expect(points).toBeGreaterThan(30);
  },
  ALL ? 900_000 : 120_000,
);

test(
  "a transaction whose commit was cut off is committed, or still active with all of its changes",
  async () => {
    const disk = await begun();
    const within = project(disk);
    const sweep: CrashSweep<Fact> = {
      prepare: () => disk,
      run: (copy, acknowledge) =>
        withWorkspace(copy, 2_000, async (workspace) => {
          const [one] = await workspace.transactions();
          await workspace.commitTransaction(one?.id ?? "");
          acknowledge(await acknowledgedHead(workspace));
        }),
      check: async (copy, context) => {
        expect(project(copy)).toEqual(within);
        await withWorkspace(copy, 600_000, async (workspace) => {
          const [one] = await workspace.transactions();
          if (context.acknowledged.length > 0) expect(one?.status).toBe("committed");
          if (one?.status === "active") await workspace.commitTransaction(one.id);
          await workspace.undo();
          expect(project(copy)).toEqual(project(newDisk()));
          expect((await workspace.verify()).problems).toEqual([]);
        });
      },
      ...(ALL ? {} : { every: 2 }),
    };
    const { points } = await sweepCrashes(sweep);
    expect(points).toBeGreaterThan(5);
  },
  ALL ? 900_000 : 120_000,
);
