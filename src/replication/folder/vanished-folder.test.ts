import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../testing/folder-rig.ts";
import { FOLDER } from "../../testing/sync-machine.ts";
import { capture } from "../../workspace/capture.ts";

/** A folder that is moved away, and comes back. */

let rig: FolderRig;
afterEach(() => rig.close());

const FILES = { a: "1", b: "2", c: "3", d: "4", e: "5" };
const AWAY = "/home/away";

it("what was recorded as gone, and is there when the folder comes back, the origin never hears of", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  rig.desk.disk.rename(FOLDER, AWAY);
  rig.desk.hintEverywhere();
  await rig.until(() => rig.desk.sync.shape.state === "halted");
  expect(rig.desk.sync.shape.halted).toBe("root-vanished");
  rig.desk.disk.rename(AWAY, FOLDER);
  // As where it comes back bit by bit, and somebody looks in between.
  for (const name of ["a", "b"]) rig.desk.edit(name, undefined);
  const { changes } = await rig.during(capture(rig.desk.context, { cause: "capture" }));
  expect(changes.map(({ path }) => path)).toEqual(["a", "b"]);
  rig.desk.edit("a", "1");
  rig.desk.edit("b", "2");
  const before = (await rig.during(rig.host.workspace.log())).length;
  await rig.during(rig.desk.sync.resume());
  await rig.flush();
  await rig.pass(5_000);
  expect(await rig.during(rig.host.tree())).toEqual(FILES);
  expect(rig.desk.tree()).toEqual(FILES);
  const since = (await rig.during(rig.host.workspace.log())).slice(before);
  expect(since.map(({ record_id }) => record_id).filter((id) => id.startsWith("file"))).toEqual([]);
});

it("what somebody has deleted in it meanwhile goes to the origin", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  rig.desk.disk.rename(FOLDER, AWAY);
  rig.desk.hintEverywhere();
  await rig.until(() => rig.desk.sync.shape.state === "halted");
  rig.desk.disk.unlink(`${AWAY}/a`);
  rig.desk.disk.rename(AWAY, FOLDER);
  await rig.during(rig.desk.sync.resume());
  await rig.flush();
  const { a: _gone, ...rest } = FILES;
  expect(await rig.during(rig.host.tree())).toEqual(rest);
});
