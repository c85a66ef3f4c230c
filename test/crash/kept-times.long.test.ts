import { expect, test } from "vitest";
import { sweepCrashes } from "../../src/testing/crash-sweep.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { acknowledgedHead, newDisk, put, withWorkspace } from "../helpers/engine-sweep.ts";

const PATHS = ["/proj/a.txt", "/proj/b.txt", "/proj/c.txt"];

function timesOn(disk: SimDisk): (bigint | undefined)[] {
  return PATHS.map((path) => disk.lstat(path)?.mtimeNs);
}

test(
  "a restore with keepMtime that is cut off anywhere is finished with the recorded times",
  { timeout: 120_000 },
  async () => {
    const disk = newDisk();
    for (const path of PATHS) put(disk, path, `first ${path}\n`);
    const recorded = timesOn(disk);
    const seq = await withWorkspace(disk, 0, async (workspace) => {
      const { seq: first } = await workspace.head();
      for (const path of PATHS) put(disk, path, `second ${path}\n`);
      await workspace.snapshot();
      return first;
    });
    const start = disk.crash("keep");
    const { points } = await sweepCrashes({
      prepare: () => start,
      run: (copy, acknowledge) =>
        withWorkspace(copy, 2_000, async (workspace) => {
          await workspace.restore(`seq:${seq}`, { keepMtime: true });
          acknowledge(await acknowledgedHead(workspace));
        }),
      check: (copy) =>
        withWorkspace(copy, 600_000, async (workspace) => {
          await workspace.snapshot();
          const isBack = copy.content("/proj/c.txt")?.toString().startsWith("first") === true;
          if (isBack) expect(timesOn(copy)).toEqual(recorded);
          expect((await workspace.verify()).problems).toEqual([]);
        }),
      every: 2,
    });
    expect(points).toBeGreaterThan(20);
  },
);
