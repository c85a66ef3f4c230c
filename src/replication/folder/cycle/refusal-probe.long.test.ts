import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../../testing/folder-rig.ts";

/**
 * The origin is archived for a while. Once the origin can be written again, the sync sends the refused changes by
 * itself.
 */

let rig: FolderRig;
afterEach(() => rig.close());

async function archived(): Promise<void> {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  await rig.during(rig.host.setArchived(true));
  for (const name of ["a", "b", "c"]) rig.desk.edit(name, "mine");
  await rig.flush();
  expect(rig.desk.sync.shape).toMatchObject({ kept_back: 3 });
}

it("all refused changes are sent after the origin is unarchived, without a request", async () => {
  await archived();
  // The sync probes the origin several times meanwhile.
  await rig.pass(300_000);
  await rig.during(rig.host.setArchived(false));
  await rig.pass(900_000);
  expect(rig.desk.sync.shape.kept_back).toBeUndefined();
  await rig.flush();
  expect(await rig.during(rig.host.tree())).toEqual({ a: "mine", b: "mine", c: "mine" });
});

it("the probes of an hour leave fewer than 70 lines in the log", async () => {
  await archived();
  const before = (await rig.desk.context.index.head()).seq;
  await rig.pass(3_600_000);
  const lines = (await rig.desk.context.index.head()).seq - before;
  expect(lines).toBeGreaterThan(8);
  expect(lines).toBeLessThan(70);
  expect(rig.desk.sync.shape).toMatchObject({ kept_back: 3, state: "in-sync" });
});

it("a paused sync does not probe the origin, and sends the kept-back changes once it is resumed", async () => {
  await archived();
  await rig.during(rig.desk.sync.pause());
  const before = (await rig.desk.context.index.head()).seq;
  await rig.pass(900_000);
  expect((await rig.desk.context.index.head()).seq).toBe(before);
  await rig.during(rig.host.setArchived(false));
  await rig.during(rig.desk.sync.resume());
  await rig.flush();
  expect(await rig.during(rig.host.tree())).toEqual({ a: "mine", b: "mine", c: "mine" });
});
