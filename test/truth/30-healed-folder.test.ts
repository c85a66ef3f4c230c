import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** All times are of the simulated clock, so that the speed of the machine does not matter. */

let rig: FolderRig;
afterEach(() => rig.close());

const LIMIT_MS = 10_000;

/** Lets time pass until the desk's file has this content. Resolves to the simulated time that passed. */
async function timeUntil(name: string, content: string): Promise<number> {
  const from = rig.clock.now;
  const isThere = (): boolean => rig.desk.tree()[name] === content;
  while (!isThere() && rig.clock.now < from + 60_000) await rig.pass(500);
  expect(rig.desk.tree()[name]).toBe(content);
  return rig.clock.now - from;
}

describe("Truth 30: a folder that can be written again", () => {
  it("gets a pending change within 10 s after its disk has room, however long it was full", async () => {
    rig = await FolderRig.start({ a: "1" });
    await rig.flush();
    for (const seconds of [5, 40, 130]) {
      rig.desk.machine.plan(({ name, path }) =>
        name === "write" && path.startsWith("/proc/self/fd/") ? { errno: "ENOSPC" } : "go",
      );
      await rig.during(rig.host.write("a", `after ${seconds}`));
      await rig.pass(seconds * 1_000);
      expect(rig.desk.sync.shape.trouble).toMatchObject({ kind: "disk-full", next: expect.stringContaining("space") });
      rig.desk.machine.plan(undefined);
      expect(await timeUntil("a", `after ${seconds}`)).toBeLessThanOrEqual(LIMIT_MS);
    }
  });

  it("gets a file that was blocked within 10 s after a permission above it was given, however long it was missing", async () => {
    rig = await FolderRig.start({ "d/a": "1" });
    rig.host.heartbeatMs = 60_000;
    rig.desk.cut();
    await rig.pass(100);
    rig.desk.heal();
    await rig.flush();
    const { disk } = rig.desk;
    for (const [minutes, mode] of [
      [5, 0o750],
      [20, 0o775],
    ] as const) {
      rig.desk.machine.plan(({ name, path }) =>
        name === "rename" && path.endsWith("/a") ? { errno: "EACCES" } : "go",
      );
      await rig.during(rig.host.write("d/a", `after ${minutes} min`));
      await rig.pass(minutes * 60_000);
      expect(rig.desk.sync.shape.trouble).toMatchObject({ kind: "no-permission" });
      rig.desk.machine.plan(undefined);
      const fd = disk.open(`${FOLDER}/d`, "folder");
      disk.chmod(fd, mode);
      disk.close(fd);
      rig.desk.hint("d");
      expect(await timeUntil("d/a", `after ${minutes} min`)).toBeLessThanOrEqual(LIMIT_MS);
    }
  });
});
