import { afterEach, expect, it } from "vitest";
import { FolderRig, removeSim, writeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { workspaceRecord } from "../../src/engine/log/own-record.ts";

/** `rm -r FOLDER; mkdir FOLDER`, and something new in it: with few files, which may all be deleted otherwise. */

let rig: FolderRig;
afterEach(() => rig.close());

const FILES = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${10 + i}`, `content ${i}\n`]));
const NEW = { new: "new\n" };

const isHalted = (): boolean => rig.desk.sync.shape.state === "halted";
const atOrigin = () => rig.during(rig.host.tree());

function replaceContent(): void {
  for (const name of Object.keys(FILES)) removeSim(rig.desk.disk, `${FOLDER}/${name}`);
  writeSim(rig.desk.disk, `${FOLDER}/new`, NEW.new);
  rig.desk.hint(...Object.keys(FILES), "new");
}

/** The folder of these rigs, made at some other time. */
function made(birth: string) {
  return { identity: () => ({ dev: "1", ino: "2", birth }) };
}

it("nothing is left of what there was: it halts, whatever is there now", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  replaceContent();
  await rig.until(isHalted);
  expect(rig.desk.sync.shape).toMatchObject({ halted: "root-emptied", reason: expect.stringContaining("before") });
  expect(await atOrigin()).toEqual(FILES);
  await rig.during(rig.desk.sync.resume({ accept: "restore" }));
  await rig.flush();
  expect(rig.desk.tree()).toEqual({ ...FILES, ...NEW });
  expect(await atOrigin()).toEqual({ ...FILES, ...NEW });
});

it("meant so, the origin follows", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  replaceContent();
  await rig.until(isHalted);
  await rig.during(rig.desk.sync.resume({ accept: "deletions" }));
  await rig.flush();
  expect(await atOrigin()).toEqual(NEW);
});

it("everything has another name by now: nothing is lost, and nothing halts", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  for (const name of Object.keys(FILES)) {
    rig.desk.disk.rename(`${FOLDER}/${name}`, `${FOLDER}/moved-${name}`);
    rig.desk.hint(name, `moved-${name}`);
  }
  await rig.flush();
  expect(Object.keys(await atOrigin())).toEqual(Object.keys(FILES).map((name) => `moved-${name}`));
});

it("another folder with the same inode is another folder, though most of what there was is in it", async () => {
  rig = await FolderRig.start(FILES, { parts: made("10") });
  await rig.flush();
  await rig.during(rig.desk.close());
  removeSim(rig.desk.disk, `${FOLDER}/f10`);
  await rig.during(rig.desk.start(made("11")));
  await rig.until(isHalted);
  expect(rig.desk.sync.shape.halted).toBe("root-replaced");
  expect(await atOrigin()).toEqual(FILES);
});

it("what was put back into another folder is the workspace's from then on: moved later, it is known again", async () => {
  const folder = (ino: string) => ({ identity: () => ({ dev: "1", ino }) });
  rig = await FolderRig.start(FILES, { parts: folder("2") });
  await rig.flush();
  await rig.during(rig.desk.close());
  for (const name of Object.keys(FILES)) removeSim(rig.desk.disk, `${FOLDER}/${name}`);
  await rig.during(rig.desk.start(folder("3")));
  await rig.until(isHalted);
  await rig.during(rig.desk.sync.resume({ accept: "restore" }));
  await rig.flush();
  expect(rig.desk.tree()).toEqual(FILES);
  expect(await rig.during(workspaceRecord(rig.desk.context))).toMatchObject({ device: "1", inode: "3" });
});

it("what was seen to go as the folder went away, and is back with it, does not go at the origin before that is seen", async () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`g${100 + i}`, `content ${i}\n`]));
  rig = await FolderRig.start(many);
  await rig.flush();
  const { desk } = rig;
  const some = Object.keys(many).slice(0, 20);
  // The folder is taken away while somebody looks: of some files it is seen that they are gone, and then of all of it.
  for (const name of some) desk.disk.rename(`${FOLDER}/${name}`, `/home/${name}`);
  desk.hint(...some);
  await rig.pass(100);
  desk.disk.rename(FOLDER, "/home/away");
  await rig.until(isHalted);
  expect(desk.sync.shape.halted).toBe("root-vanished");
  desk.disk.rename("/home/away", FOLDER);
  for (const name of some) desk.disk.rename(`/home/${name}`, `${FOLDER}/${name}`);
  await rig.during(desk.close());
  await rig.during(desk.start());
  // Meanwhile the connection is made.
  desk.watchMs = 5_000;
  await rig.during(rig.host.write("other", "1"));
  const resumed = desk.sync.resume();
  await rig.pass(4_000);
  expect(await atOrigin()).toEqual({ ...many, other: "1" });
  await rig.during(resumed);
  await rig.flush();
  expect(desk.tree()).toEqual({ ...many, other: "1" });
  expect(await atOrigin()).toEqual({ ...many, other: "1" });
});
