import { afterEach, expect, it } from "vitest";
import { FolderRig, type RigDesk } from "../../src/testing/folder-rig.ts";

let rig: FolderRig;

afterEach(() => rig.close());

it("a replica that becomes a new one deletes nothing at first, even if its process ends before it has begun", async () => {
  rig = await FolderRig.start({ a: "1", b: "1" });
  const { host, desk } = rig;
  await rig.flush();
  desk.cut();
  desk.edit("a", undefined);
  await rig.during(desk.sync.becomeNew("22222222-2222-4222-8222-222222222222"));
  await rig.during(desk.close());
  await rig.during(desk.start());
  expect(desk.sync.shape).toMatchObject({ state: "paused" });
  desk.heal();
  await rig.during(desk.sync.resume());
  await rig.flush();
  expect(await rig.during(host.tree())).toEqual({ a: "1", b: "1" });
  expect(desk.tree()).toEqual({ a: "1", b: "1" });
  // From here on, a deletion counts.
  desk.edit("b", undefined);
  await rig.flush();
  expect(await rig.during(host.tree())).toEqual({ a: "1" });
});

it("once the first step of a new replica is in the log, a deletion counts, even if its process has ended", async () => {
  const seen = new Set<boolean>();
  let isThrough = false;
  for (let at = 0; !isThrough; at += 1) {
    rig = await FolderRig.start({ a: "1", b: "1" });
    const { host, desk } = rig;
    await rig.flush();
    desk.edit("a", undefined);
    await rig.during(desk.sync.becomeNew("22222222-2222-4222-8222-222222222222"));
    await rig.during(desk.close());
    await rig.during(desk.start());
    const before = intentsIn(desk);
    // Its first step brings `a` back.
    let writes = 0;
    desk.machine.plan(({ reads }) => (!reads && (writes += 1) > at ? "stop-after" : "go"));
    await rig.during(desk.sync.resume().catch(() => undefined));
    await rig.pass(3_000);
    isThrough = !desk.disk.stopped;
    desk.cut();
    await rig.during(desk.close().catch(() => undefined));
    desk.machine.losePower("keep");
    desk.heal();
    const hasBegun = intentsIn(desk) > before;
    seen.add(hasBegun);
    desk.edit("b", undefined);
    await rig.during(desk.start());
    if (desk.sync.shape.state === "paused") await rig.during(desk.sync.resume());
    await rig.flush();
    const wanted = hasBegun ? { a: "1" } : { a: "1", b: "1" };
    expect(desk.tree(), `power cut after write ${at}`).toEqual(wanted);
    expect(await rig.during(host.tree()), `power cut after write ${at}`).toEqual(wanted);
    await rig.close();
  }
  expect([...seen]).toEqual([false, true]);
});

/** How many lines of its log begin or end a step. */
function intentsIn({ disk, context: { workspaceId } }: RigDesk): number {
  const log = disk.crash("keep").content(`/store/workspaces/${workspaceId}/events.wal`)?.toString() ?? "";
  return log.split("intent:").length;
}
