import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** Files that an origin had long ago, and has no more, do not count as deleted now. */

let rig: FolderRig;
afterEach(() => rig.close());

const OLD = Array.from({ length: 600 }, (_, i) => `old${1000 + i}`);

async function makePast(): Promise<void> {
  for (const name of OLD) await rig.during(rig.host.write(name, name));
  for (const name of OLD) await rig.during(rig.host.write(name, undefined));
}

it("a folder that begins to follow gets the present files, and never sees the former ones", async () => {
  rig = new FolderRig();
  await rig.during(rig.host.open());
  await rig.during(rig.host.write("keep", "1"));
  await makePast();
  await rig.during(rig.desk.start());
  await rig.flush();
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync" });
  expect(rig.desk.tree()).toEqual({ keep: "1" });
  const seen = await rig.desk.context.index.touched(0, (await rig.desk.context.index.head()).seq);
  expect(seen.filter((path) => path.startsWith("old"))).toEqual([]);
});

it("a folder that is cut off again and again, and follows in new processes, never sees the former files either", async () => {
  rig = new FolderRig();
  await rig.during(rig.host.open());
  await rig.during(rig.host.write("keep", "1"));
  await makePast();
  for (let cuts = 0; cuts < 5; cuts += 1) {
    await rig.during(rig.desk.start());
    await rig.pass(5);
    rig.desk.cut();
    await rig.pass(2_000);
    expect(Object.keys(rig.desk.tree()).filter((path) => path.startsWith("old"))).toEqual([]);
    await rig.during(rig.desk.close());
    rig.desk.heal();
  }
  await rig.during(rig.desk.start());
  await rig.flush();
  expect(rig.desk.tree()).toEqual({ keep: "1" });
});

it("a folder that was away gets what came meanwhile, and is in sync", async () => {
  rig = await FolderRig.start({ keep: "1" });
  await rig.flush();
  rig.desk.cut();
  await makePast();
  await rig.during(rig.host.write("new", "2"));
  rig.desk.heal();
  await rig.flush();
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync" });
  expect(rig.desk.tree()).toEqual({ keep: "1", new: "2" });
});

it("a large folder that was moved at the origin is moved here in one step, in however many pieces that comes", async () => {
  rig = await FolderRig.start();
  const { workspace } = rig.host;
  const names = Array.from({ length: 600 }, (_, i) => `d/f${i}`);
  await rig.during(Promise.all(names.map((name) => workspace.putFile(name, Buffer.from(name)))));
  await rig.flush();
  const before = rig.desk.happened.length;
  await rig.during(workspace.moveFile("d", "e"));
  await rig.until(() => rig.desk.tree()["e/f7"] !== undefined);
  await rig.flush();
  expect(rig.desk.tree()).toEqual(await rig.during(rig.host.tree()));
  const since = rig.desk.happened.slice(before);
  expect(since.filter(({ kind }) => kind === "halted")).toEqual([]);
  expect(since.flatMap((one) => (one.kind === "applied" && one.paths > 0 ? one.paths : []))).toEqual([1_202]);
});
