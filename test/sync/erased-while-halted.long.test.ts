import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { listFiles } from "../../src/engine/read/list-files.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/** A file that the origin erases while a sync is halted by a large deletion does not come back with the rest. */

const FILES = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${10 + i}`, `content ${i}\n`]));
const NAMES = Object.keys(FILES);
const SECRET = "a token that got in\n";

let rig: FolderRig;
afterEach(() => rig.close());

const isHalted = (): boolean => rig.desk.sync.shape.state === "halted";
const there = async (): Promise<string[]> =>
  (await rig.during(rig.host.workspace.files())).files.map(({ path }) => path);
const recorded = async (): Promise<string[]> =>
  (await rig.during(listFiles(rig.desk.context, {}))).files.map(({ path }) => path);

async function started(): Promise<void> {
  rig = new FolderRig();
  await rig.during(rig.host.open({ hasFolder: true }));
  for (const [path, content] of Object.entries({ ...FILES, "keys.txt": SECRET }))
    await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  await rig.flush();
  await rig.pass(20_000);
}

async function restored(): Promise<void> {
  await rig.during(rig.desk.sync.resume({ accept: "restore" }));
  await rig.flush();
  await rig.pass(5_000);
  await rig.flush();
  expect(await there()).toEqual(NAMES);
  expect(await recorded()).toEqual(NAMES);
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  expect(await rig.during(verify(rig.desk.context))).toMatchObject({ ok: true, problems: [] });
}

it.each(["with the others", "a moment before"])(
  "a file that was deleted at the origin %s, and is erased there while the sync is halted, does not come back",
  async (when) => {
    await started();
    if (when === "a moment before") {
      await rig.during(rig.host.write("keys.txt", undefined));
      await rig.flush();
    }
    for (const name of [...(when === "a moment before" ? [] : ["keys.txt"]), ...NAMES])
      await rig.during(rig.host.write(name, undefined));
    await rig.until(isHalted);
    await rig.during(rig.host.workspace.erase({ what: "keys.txt" }));
    await restored();
    expect(rig.desk.tree()).toEqual(FILES);
  },
);

it.each(["with the others", "a moment before"])(
  "a file that was deleted here %s, and is erased at the origin while the sync is halted, does not come back",
  async (when) => {
    await started();
    if (when === "a moment before") {
      rig.desk.edit("keys.txt", undefined);
      await rig.flush();
    }
    for (const name of [...(when === "a moment before" ? [] : ["keys.txt"]), ...NAMES]) rig.desk.edit(name, undefined);
    await rig.until(isHalted);
    if (when !== "a moment before") await rig.during(rig.host.write("keys.txt", undefined));
    await rig.during(rig.host.workspace.erase({ what: "keys.txt" }));
    await restored();
    expect(rig.desk.tree()).toEqual(FILES);
  },
);

it("a restore puts back what the replica holds if the origin cannot be reached", async () => {
  await started();
  for (const name of [...NAMES, "keys.txt"]) rig.desk.edit(name, undefined);
  await rig.until(isHalted);
  rig.desk.cut();
  await rig.during(rig.desk.sync.resume({ accept: "restore" }));
  await rig.pass(5_000);
  expect(rig.desk.tree()).toEqual({ ...FILES, "keys.txt": SECRET });
  rig.desk.heal();
  await rig.pass(10_000);
  await rig.flush();
  expect(await there()).toEqual([...NAMES, "keys.txt"]);
});

it("a restore does not wait for ever for an origin that is silent", async () => {
  await started();
  for (const name of [...NAMES, "keys.txt"]) rig.desk.edit(name, undefined);
  await rig.until(isHalted);
  rig.desk.silent.add("a");
  await rig.during(rig.desk.sync.resume({ accept: "restore" }));
  await rig.pass(60_000);
  expect(rig.desk.tree()).toEqual({ ...FILES, "keys.txt": SECRET });
  rig.desk.silent.clear();
  await rig.pass(30_000);
  await rig.flush();
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
});
