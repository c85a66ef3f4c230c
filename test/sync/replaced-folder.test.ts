import { afterEach, expect, it } from "vitest";
import { FolderRig, removeSim, writeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { workspaceRecord } from "../../src/engine/log/own-record.ts";

/** `rm -r FOLDER; mkdir FOLDER`, and something new in it. There are so few files that all may be deleted otherwise. */

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

it("the sync halts if nothing is left of what there was, whatever is there now", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  replaceContent();
  await rig.until(isHalted);
  expect(rig.desk.sync.shape).toMatchObject({
    halted: "root-emptied",
    reason: expect.stringContaining("everything except new entries"),
  });
  expect(await atOrigin()).toEqual(FILES);
  await rig.during(rig.desk.sync.resume({ accept: "restore" }));
  await rig.flush();
  expect(rig.desk.tree()).toEqual({ ...FILES, ...NEW });
  expect(await atOrigin()).toEqual({ ...FILES, ...NEW });
});

it("the origin follows once the deletions are accepted", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  replaceContent();
  await rig.until(isHalted);
  await rig.during(rig.desk.sync.resume({ accept: "deletions" }));
  await rig.flush();
  expect(await atOrigin()).toEqual(NEW);
});

it("a rename of every file goes to the origin, and does not halt the sync", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  for (const name of Object.keys(FILES)) {
    rig.desk.disk.rename(`${FOLDER}/${name}`, `${FOLDER}/moved-${name}`);
    rig.desk.hint(name, `moved-${name}`);
  }
  await rig.flush();
  expect(Object.keys(await atOrigin())).toEqual(Object.keys(FILES).map((name) => `moved-${name}`));
});

it("another folder with the same inode halts the sync, though most of what there was is in it", async () => {
  rig = await FolderRig.start(FILES, { parts: made("10") });
  await rig.flush();
  await rig.during(rig.desk.close());
  removeSim(rig.desk.disk, `${FOLDER}/f10`);
  await rig.during(rig.desk.start(made("11")));
  await rig.until(isHalted);
  expect(rig.desk.sync.shape.halted).toBe("root-replaced");
  expect(await atOrigin()).toEqual(FILES);
});

it("another folder into which the files were put back becomes the workspace's folder", async () => {
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

it("files that were seen to go with their folder, and are back with it, are not deleted at the origin", async () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`g${100 + i}`, `content ${i}\n`]));
  rig = await FolderRig.start(many);
  await rig.flush();
  const { desk } = rig;
  const some = Object.keys(many).slice(0, 20);
  // The folder is taken away during a look: first some files are seen to be gone, and then the whole folder.
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
