import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../testing/folder-rig.ts";

let rig: FolderRig;

afterEach(() => rig.close());

it("a replica that goes on as another one deletes nothing, also where its process ends before it has begun", async () => {
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
  // That was it: from here on a deletion is one.
  desk.edit("b", undefined);
  await rig.flush();
  expect(await rig.during(host.tree())).toEqual({ a: "1" });
});
