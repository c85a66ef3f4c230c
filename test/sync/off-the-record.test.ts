import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { beginOffRecord, endOffRecord } from "../../src/engine/capture/off-record.ts";

let rig: FolderRig;

afterEach(() => rig.close());

/** Edits the folder off the record. */
async function unrecorded({ desk }: FolderRig, edits: Readonly<Record<string, string | undefined>>): Promise<void> {
  const work = await rig.during(beginOffRecord(desk.hold.context));
  for (const [path, content] of Object.entries(edits)) desk.edit(path, content);
  if (work !== undefined) await rig.during(endOffRecord(desk.hold.context, work));
}

it("changes off the record in a folder that follows an origin do not go to the origin", async () => {
  rig = await FolderRig.start({ a: "1", b: "1", gone: "1" });
  await rig.flush();
  await unrecorded(rig, { a: "secret", new: "secret", gone: undefined });
  rig.desk.edit("b", "2");
  await rig.flush();
  await rig.pass(3_000);
  expect(await rig.during(rig.host.tree())).toEqual({ a: "1", b: "2", gone: "1" });
  expect(rig.desk.tree()).toEqual({ a: "secret", b: "2", new: "secret" });
});

it("a change of the origin to a path that was written off the record does not overwrite it, and is a conflict", async () => {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  await unrecorded(rig, { a: "secret" });
  await rig.during(rig.host.write("a", "2"));
  await rig.flush().catch(() => undefined);
  await rig.pass(3_000);
  expect(rig.desk.tree()).toMatchObject({ a: "secret" });
  expect(rig.desk.sync.shape.conflicts).toBe(1);
  expect(await rig.during(rig.host.tree())).toEqual({ a: "2" });
});
