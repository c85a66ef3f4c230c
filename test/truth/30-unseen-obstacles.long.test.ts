import { afterEach, describe, expect, it } from "vitest";
import type { SimOperation } from "../../src/testing/sim-disk/sim-faults.ts";
import { FolderRig, removeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** All times are of the simulated clock, so that the speed of the machine does not matter. */

let rig: FolderRig;
afterEach(() => rig.close());

const LIMIT_MS = 10_000;
const MINUTE_MS = 60_000;

/** Lets time pass until `isSo`. Resolves to the simulated time that passed. */
async function timeUntil(isSo: () => boolean | Promise<boolean>): Promise<number> {
  const from = rig.clock.now;
  while (!(await isSo()) && rig.clock.now < from + 3 * MINUTE_MS) await rig.pass(500);
  expect(await isSo()).toBe(true);
  return rig.clock.now - from;
}

/** Makes the desk's disk refuse to replace the file `a`, and say so to a check whether it can be written. */
function refuses(errno: string): void {
  const isThere = ({ name, path }: SimOperation): boolean =>
    (name === "rename" && path.endsWith("/a")) || name === "checkWrite";
  rig.desk.machine.plan((operation) => (isThere(operation) ? { errno } : "go"));
}

const blocked = (): string[] =>
  rig.desk.sync.shape.conflicts === 0
    ? []
    : rig.desk.happened.flatMap((one) => (one.kind === "conflict" ? one.path : []));

describe("Truth 30: an obstacle in a replica's folder whose removal is not recorded", () => {
  it.each([
    [2, true],
    [20, true],
    [20, false],
    [50, false],
  ])(
    "an ignored file in a folder that should be deleted, removed after %i min (hinted at: %s)",
    async (minutes, isHinted) => {
      rig = await FolderRig.start({ ".gitignore": "*.log\n", "d/a": "1" });
      await rig.flush();
      const { desk, host } = rig;
      desk.edit("d/x.log", "kept");
      await rig.pass(1_000);
      for (const path of ["d/a", "d"]) await rig.during(host.write(path, undefined));
      await rig.pass(minutes * MINUTE_MS);
      expect(desk.tree()).toHaveProperty("d/");
      expect(blocked()).toContain("d");
      removeSim(desk.disk, `${FOLDER}/d/x.log`);
      if (isHinted) desk.hint("d/x.log");
      expect(await timeUntil(() => !("d/" in desk.tree()))).toBeLessThanOrEqual(LIMIT_MS);
      await rig.until(() => desk.sync.shape.conflicts === 0);
    },
  );

  it.each(["EROFS", "EPERM"])(
    "a file system that cannot be written (%s), and becomes writable without a hint",
    async (errno) => {
      rig = await FolderRig.start({ "d/a": "1" }, { countsReads: true });
      await rig.flush();
      for (const minutes of [5, 40]) {
        refuses(errno);
        await rig.during(rig.host.write("d/a", `after ${minutes}`));
        await rig.pass(minutes * MINUTE_MS);
        expect(rig.desk.sync.shape.trouble).toMatchObject({ kind: "no-permission" });
        rig.desk.machine.plan(undefined);
        expect(await timeUntil(() => rig.desk.tree()["d/a"] === `after ${minutes}`)).toBeLessThanOrEqual(LIMIT_MS);
      }
    },
  );

  it("a file of the folder that cannot be read, and becomes readable without a hint", async () => {
    rig = await FolderRig.start({ a: "1", b: "1" }, { countsReads: true });
    await rig.flush();
    const { desk, host } = rig;
    for (const minutes of [1, 30]) {
      desk.machine.plan(({ name, path }) => (name === "open" && path.endsWith("/b") ? { errno: "EACCES" } : "go"));
      desk.edit("b", `after ${minutes}`);
      await rig.pass(minutes * MINUTE_MS);
      expect((await rig.during(host.tree()))["b"]).not.toBe(`after ${minutes}`);
      desk.machine.plan(undefined);
      const isThere = async (): Promise<boolean> => (await rig.during(host.tree()))["b"] === `after ${minutes}`;
      expect(await timeUntil(isThere)).toBeLessThanOrEqual(LIMIT_MS);
    }
  });

  it("an obstacle that stays adds few events to the log, although it is written all the time", async () => {
    rig = await FolderRig.start({ ".gitignore": "*.log\n", "d/a": "1" });
    await rig.flush();
    const { desk, host } = rig;
    desk.edit("d/x.log", "0");
    await rig.pass(1_000);
    for (const path of ["d/a", "d"]) await rig.during(host.write(path, undefined));
    await rig.pass(MINUTE_MS);
    const { seq } = await desk.context.index.head();
    for (let second = 0; second < 600; second += 1) {
      desk.edit("d/x.log", `${second}`);
      await rig.pass(1_000);
    }
    expect((await desk.context.index.head()).seq - seq).toBeLessThan(40);
    expect(desk.tree()).toHaveProperty("d/");
  });
});
