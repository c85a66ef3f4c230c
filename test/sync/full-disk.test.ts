import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** The folder's disk is full for a while. The sync says when it tries again; `flush` and `resume` try at once. */

let rig: FolderRig;
afterEach(() => rig.close());

async function full(): Promise<void> {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  rig.desk.machine.plan(({ name, path }) =>
    name === "write" && path.startsWith("/proc/self/fd/") ? { errno: "ENOSPC" } : "go",
  );
  await rig.during(rig.host.write("a", "2"));
  // After this time, the waits are as long as they get.
  await rig.pass(70_000);
  expect(rig.desk.tree()).toEqual({ a: "1" });
}

const waitMs = (): number => Date.parse(rig.desk.sync.shape.retry_at ?? "") - rig.desk.context.now();

describe("a full disk", () => {
  it("is reported with the time of the next try, and that try comes by itself", async () => {
    await full();
    const { degraded } = rig.desk.sync.shape;
    expect(degraded).toMatch(/a step has failed, and is tried again: .*not enough space/);
    const wait = waitMs();
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(8_000);
    rig.desk.machine.plan(undefined);
    await rig.pass(wait + 1_000);
    expect(rig.desk.tree()).toEqual({ a: "2" });
    expect(rig.desk.sync.shape.retry_at).toBeUndefined();
    expect(rig.desk.sync.shape.degraded).toBeUndefined();
  });

  it.each([
    ["flush", async () => void (await rig.desk.sync.flush())],
    ["resume", () => rig.desk.sync.resume()],
  ])("that has room again is tried at once by %s", async (_, ask) => {
    await full();
    await rig.until(() => waitMs() > 5_000);
    rig.desk.machine.plan(undefined);
    const from = rig.clock.now;
    await rig.during(ask());
    await rig.until(() => rig.desk.tree()["a"] === "2");
    expect(rig.clock.now - from).toBeLessThan(2_000);
    expect(rig.desk.sync.shape.retry_at).toBeUndefined();
  });

  it("that stays full after a resume is tried again after a short wait", async () => {
    await full();
    await rig.during(rig.desk.sync.resume());
    await rig.until(() => rig.desk.sync.shape.retry_at !== undefined);
    expect(waitMs()).toBeLessThanOrEqual(500);
  });
});
