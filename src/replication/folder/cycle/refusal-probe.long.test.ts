import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../../testing/folder-rig.ts";

/** An origin that is read-only for a while: refused changes go by themselves once it may be written again. */

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

it("everything goes, without a word of anybody's", async () => {
  await archived();
  // It is probed several times meanwhile.
  await rig.pass(300_000);
  await rig.during(rig.host.setArchived(false));
  await rig.pass(900_000);
  expect(rig.desk.sync.shape.kept_back).toBeUndefined();
  await rig.flush();
  expect(await rig.during(rig.host.tree())).toEqual({ a: "mine", b: "mine", c: "mine" });
});

it("is asked more and more seldom, with one path, and leaves few lines in the log", async () => {
  await archived();
  const before = (await rig.desk.context.index.head()).seq;
  await rig.pass(3_600_000);
  const lines = (await rig.desk.context.index.head()).seq - before;
  expect(lines).toBeGreaterThan(8);
  expect(lines).toBeLessThan(70);
  expect(rig.desk.sync.shape).toMatchObject({ kept_back: 3, state: "in-sync" });
});

it("nothing is asked while it is paused; what is kept back goes after that", async () => {
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
