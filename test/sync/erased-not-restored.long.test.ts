import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { listFiles } from "../../src/engine/read/list-files.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/** A file that was erased right before a large deletion does not come back when the deletion is restored. */

const FILES = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${10 + i}`, `content ${i}\n`]));
const NAMES = Object.keys(FILES);
const SECRET = "a token that got in\n";

let rig: FolderRig;
afterEach(() => rig.close());

const isHalted = (): boolean => rig.desk.sync.shape.state === "halted";
const recorded = async (): Promise<string[]> =>
  (await rig.during(listFiles(rig.desk.context, {}))).files.map(({ path }) => path);
const there = async (): Promise<string[]> =>
  (await rig.during(rig.host.workspace.files())).files.map(({ path }) => path);

/** An origin with a folder of its own, and the desk. */
async function started(): Promise<void> {
  rig = new FolderRig();
  await rig.during(rig.host.open({ hasFolder: true }));
  for (const [path, content] of Object.entries({ ...FILES, "keys.txt": SECRET }))
    await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  await rig.flush();
}

async function restored(): Promise<void> {
  await rig.until(isHalted);
  await rig.during(rig.desk.sync.resume({ accept: "restore" }));
  await rig.flush();
  await rig.pass(5_000);
  await rig.flush();
  expect(await recorded()).toEqual(NAMES);
  expect(await there()).toEqual(NAMES);
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  expect(await rig.during(verify(rig.desk.context))).toMatchObject({ ok: true, problems: [] });
}

it.each(["gone", "there, as it stays"])(
  "a file that the origin has excluded and erased is not recorded again; here it is %s",
  async (how) => {
    await started();
    await rig.during(rig.host.workspace.configure({ excludeGlobs: ["keys*"] }));
    expect(await rig.during(rig.host.workspace.erase({ what: "keys.txt" }))).toMatchObject({ untracked: ["keys.txt"] });
    await rig.flush();
    expect(rig.desk.tree()["keys.txt"]).toBe(SECRET);
    if (how === "gone") rig.desk.edit("keys.txt", undefined);
    await rig.pass(500);
    for (const name of NAMES) await rig.during(rig.host.write(name, undefined));
    await restored();
    expect(rig.desk.tree()).toEqual(how === "gone" ? FILES : { ...FILES, "keys.txt": SECRET });
  },
);

it("a file that was deleted at the origin, and then erased there, does not come back", async () => {
  await started();
  await rig.during(rig.host.write("keys.txt", undefined));
  await rig.flush();
  await rig.during(rig.host.workspace.erase({ what: "keys.txt" }));
  await rig.flush();
  for (const name of NAMES) await rig.during(rig.host.write(name, undefined));
  await restored();
  expect(rig.desk.tree()).toEqual(FILES);
});

it("a file that was deleted here, and then erased at the origin, does not come back", async () => {
  await started();
  rig.desk.edit("keys.txt", undefined);
  await rig.flush();
  await rig.during(rig.host.workspace.erase({ what: "keys.txt" }));
  await rig.flush();
  for (const name of NAMES) rig.desk.edit(name, undefined);
  await restored();
  expect(rig.desk.tree()).toEqual(FILES);
});
