import { expect, test } from "vitest";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { type CrashSweep, sweepCrashes } from "../../src/testing/crash-sweep.ts";
import { acknowledgedHead, type Fact, newDisk, project, put, withWorkspace } from "../helpers/engine-sweep.ts";

/** The rollback of an action that removed ignored files and a repository's `.git`, cut off anywhere. */

const ALL = process.env["SWEEP_ALL"] !== undefined;
const SWEPT = ["/proj/.git/HEAD", "/proj/.git/config", "/proj/debug.log"];

interface Ground {
  readonly disk: SimDisk;
  readonly action: string;
  readonly whole: ReturnType<typeof project>;
}

async function prepared(): Promise<Ground> {
  const disk = newDisk();
  disk.makeFolder("/proj/.git", 0o755);
  for (const path of SWEPT) put(disk, path, `of ${path}\n`);
  const whole = project(disk);
  const action = await withWorkspace(disk, 0, async (workspace) => {
    const request = { type: "run_command", payload: { command: "rm -rf .git *.log" }, session: "s" };
    const begun = await workspace.snapshotAction(request);
    for (const path of SWEPT) disk.unlink(path);
    disk.removeFolder("/proj/.git");
    disk.syncFolder("/proj");
    await workspace.finishAction(begun?.id ?? "");
    return begun?.id ?? "";
  });
  return { disk: disk.crash("keep"), action, whole };
}

test(
  "a rollback of ignored files and a .git is made as a whole or not at all, and can be undone",
  async () => {
    const { disk, action, whole } = await prepared();
    const swept = project(disk);
    const sweep: CrashSweep<Fact> = {
      prepare: () => disk,
      run: (copy, acknowledge) =>
        withWorkspace(copy, 2_000, async (workspace) => {
          const { skipped } = await workspace.rollback(action);
          if (skipped.length === 0) acknowledge(await acknowledgedHead(workspace));
        }),
      check: (copy, context) =>
        withWorkspace(copy, 600_000, async (workspace) => {
          await workspace.snapshot();
          const isBack = JSON.stringify(project(copy)) === JSON.stringify(whole);
          expect(project(copy)).toEqual(isBack ? whole : swept);
          expect(isBack || context.acknowledged.length === 0).toBe(true);
          if (isBack) await workspace.undo();
          expect(project(copy)).toEqual(swept);
          expect((await workspace.verify()).problems).toEqual([]);
        }),
      ...(ALL ? {} : { every: 6 }),
    };
    const { points } = await sweepCrashes(sweep);
    expect(points).toBeGreaterThan(30);
  },
  ALL ? 900_000 : 120_000,
);
