import { afterEach, describe, expect, it } from "vitest";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { FolderRig, removeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** A sync has to halt, pause or stop, but cannot record that, because its disk is full. */

let rig: FolderRig;

afterEach(() => rig.close());

function fillDisk(isFull: boolean): void {
  const { machine } = rig.desk;
  machine.plan(
    isFull
      ? ({ name, path }) => (name === "write" && path.endsWith("events.wal") ? { errno: "ENOSPC" } : "go")
      : undefined,
  );
}

describe("a sync that halts on a full disk", () => {
  it("halts once there is room, if the origin has refused it", async () => {
    rig = new FolderRig();
    await rig.during(rig.host.open());
    let isFull = true;
    const connect = async (): Promise<never> => {
      fillDisk(isFull);
      throw new ChronicleError("FORBIDDEN", "the origin does not admit this client");
    };
    await rig.during(rig.desk.start({ connect }));
    await rig.pass(20_000);
    expect(rig.desk.sync.record.halted).toBeUndefined();
    expect(rig.desk.sync.shape).toMatchObject({ state: "offline", degraded: expect.stringContaining("ENOSPC") });
    fillDisk((isFull = false));
    await rig.until(() => rig.desk.sync.shape.state === "halted");
    expect(rig.desk.sync.shape.halted).toBe("forbidden");
  });

  it("halts once there is room, if its folder is gone, and the origin keeps its files", async () => {
    rig = await FolderRig.start({ a: "1" });
    await rig.flush();
    removeSim(rig.desk.disk, FOLDER);
    fillDisk(true);
    rig.desk.hintEverywhere();
    await rig.pass(20_000);
    expect(rig.desk.sync.record.halted).toBeUndefined();
    fillDisk(false);
    await rig.until(() => rig.desk.sync.shape.state === "halted");
    expect(rig.desk.sync.shape.halted).toBe("root-vanished");
    expect(await rig.during(rig.host.tree())).toEqual({ a: "1" });
  });
});

describe("a command to a sync on a full disk", () => {
  it.each(["pause", "stop", "resume"] as const)("to %s is refused, and the sync continues", async (what) => {
    rig = await FolderRig.start({ a: "1" });
    await rig.flush();
    fillDisk(true);
    await expect(rig.during(rig.desk.sync[what]())).rejects.toMatchObject({ code: "IO" });
    fillDisk(false);
    await rig.during(rig.host.write("a", "2"));
    await rig.until(() => rig.desk.tree()["a"] === "2");
    expect(rig.desk.sync.isActive).toBe(true);
  });
});

it("a step for which there is no room is reported with what to do, and is done once there is room", async () => {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  rig.desk.machine.plan(({ name }) => (name === "makeFolder" ? { errno: "ENOSPC" } : "go"));
  await rig.during(rig.host.write("a", "2"));
  await rig.until(() => rig.desk.sync.shape.degraded !== undefined);
  expect(rig.desk.sync.shape.degraded).toMatch(/a step has failed.*ENOSPC: simulated, makeFolder.*free some space/);
  rig.desk.machine.plan(undefined);
  await rig.until(() => rig.desk.tree()["a"] === "2");
});
