import { describe, expect, it } from "vitest";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import type { ReplicaRecord } from "../../src/core/records/replica-record.ts";
import { FolderRig, type RigDesk } from "../../src/testing/folder-rig.ts";

/** A folder was deleted here, but something in it stays at the origin. This is one conflict, and is proposed once. */

const FILES = { "d/f": "1", "d/g/h": "2", "d/g/x.log": "3", a: "a" };

async function deleted(record: Partial<ReplicaRecord>): Promise<FolderRig> {
  const rig = await FolderRig.start(FILES, { record });
  await rig.flush();
  rig.desk.edit("d", undefined);
  await rig.flush();
  await rig.pass(30_000);
  return rig;
}

function refusals({ happened }: RigDesk): number {
  return happened.filter((one) => one.kind === "pushed" && one.rejected > 0).length;
}

const OUTGOING = { filterFrom: ["*.log"] };
const INCOMING = { filterTo: ["*.log"] };

describe.each([
  ["not written back", OUTGOING],
  ["kept out of the folder", INCOMING],
])("a deleted folder in which something is %s", (_, record) => {
  it("is one conflict, and everything else in it is deleted at the origin", async () => {
    const rig = await deleted(record);
    const { host, desk } = rig;
    expect(await rig.during(host.tree())).toEqual({ a: "a", "d/": "", "d/g/": "", "d/g/x.log": "3" });
    expect(desk.tree()).toEqual({ a: "a" });
    const conflicts = await rig.during(desk.sync.conflicts());
    expect(conflicts.map(({ record: { path, reason, sync } }) => [path, reason, sync?.detail])).toEqual([
      ["d", "blocked", 'at the origin, the folder holds "d/g/x.log", which is not deleted there'],
    ]);
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", pending: 0, conflicts: 1 });
    expect(refusals(desk)).toBe(1);
    await rig.close();
  });

  it("is deleted at the origin once that is gone", async () => {
    const rig = await deleted(record);
    const { host, desk } = rig;
    await rig.during(host.write("d/g/x.log", undefined));
    await rig.flush();
    expect(await rig.during(host.tree())).toEqual({ a: "a" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
    await rig.close();
  });

  it("is still one conflict after a restart, and comes back if the upstream side is kept", async () => {
    const rig = await deleted(record);
    const { host, desk } = rig;
    await rig.during(desk.close());
    await rig.during(desk.start());
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 1 });
    await rig.during(desk.sync.resolve("d" as WorkspacePath, { keep: "upstream" }));
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
    const log = record === OUTGOING ? { "d/g/x.log": "3" } : {};
    expect(desk.tree()).toEqual({ a: "a", "d/": "", "d/g/": "", ...log });
    expect(await rig.during(host.tree())).toEqual({ a: "a", "d/": "", "d/g/": "", "d/g/x.log": "3" });
    await rig.close();
  });

  it("is a conflict again if the local side is kept", async () => {
    const rig = await deleted(record);
    const { desk } = rig;
    await rig.during(desk.sync.resolve("d" as WorkspacePath, { keep: "local" }));
    await rig.flush();
    await rig.pass(30_000);
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 1 });
    expect(refusals(desk)).toBe(2);
    await rig.close();
  });

  it("comes back by itself if the origin always wins", async () => {
    const rig = await deleted({ ...record, mode: "two-way-resolved" });
    const { desk } = rig;
    expect(desk.tree()).toEqual({ a: "a", "d/": "", "d/g/": "" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", pending: 0, conflicts: 0 });
    await rig.close();
  });

  it("that has become a file here stays a folder at the origin until that is gone", async () => {
    const rig = await deleted(record);
    const { host, desk } = rig;
    desk.edit("d", "a file now");
    await rig.flush();
    await rig.pass(30_000);
    expect(desk.tree()).toEqual({ a: "a", d: "a file now" });
    expect(await rig.during(host.tree())).toEqual({ a: "a", "d/": "", "d/g/": "", "d/g/x.log": "3" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 1 });
    await rig.during(host.write("d/g/x.log", undefined));
    await rig.flush();
    expect(await rig.during(host.tree())).toEqual({ a: "a", d: "a file now" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
    await rig.close();
  });
});
