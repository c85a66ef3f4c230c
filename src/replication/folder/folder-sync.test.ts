import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../testing/folder-rig.ts";

let rig: FolderRig | undefined;

async function started(...given: Parameters<typeof FolderRig.start>): Promise<FolderRig> {
  return (rig = await FolderRig.start(...given));
}

afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

describe("a folder that follows an origin", () => {
  it("gets what is there, and what comes", async () => {
    const { host, desk, ...more } = await started({ a: "1", "d/b": "2" });
    await rig?.flush();
    expect(desk.tree()).toEqual({ a: "1", "d/": "", "d/b": "2" });
    await rig?.during(host.write("d/c", "3"));
    await rig?.flush();
    expect(desk.tree()).toEqual({ a: "1", "d/": "", "d/b": "2", "d/c": "3" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", lag: 0, pending: 0, conflicts: 0 });
    void more;
  });

  it("writes back what is edited, created and deleted in it", async () => {
    const { host, desk } = await started({ a: "1", "d/b": "2" });
    await rig?.flush();
    desk.edit("a", "one");
    desk.edit("d/b", undefined);
    desk.edit("new/c", "3");
    await rig?.flush();
    expect(await rig?.during(host.tree())).toEqual({ a: "one", "d/": "", "new/": "", "new/c": "3" });
  });
});
