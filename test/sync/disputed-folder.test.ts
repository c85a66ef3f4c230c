import { expect, it } from "vitest";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";

it.each([
  ["local", { d: "a file now" }],
  ["upstream", { "d/": "", "d/f": "theirs" }],
] as const)(
  "a folder with a disputed file that became a file here is a conflict; keeping the %s side settles both",
  async (keep, kept) => {
    const rig = await FolderRig.start({ "d/f": "1", "d/g": "2" });
    const { host, desk } = rig;
    await rig.flush();
    desk.cut();
    desk.edit("d/f", "mine");
    await rig.during(host.write("d/f", "theirs"));
    await rig.pass(500);
    desk.heal();
    await rig.flush();
    desk.edit("d", undefined);
    desk.edit("d", "a file now");
    await rig.flush();
    const open = await rig.during(desk.sync.conflicts());
    expect(open.map(({ record }) => record.path).sort()).toEqual(["d", "d/f"]);
    // The deletion of `d/g`, which nobody disputes, goes to the origin.
    expect(await rig.during(host.tree())).toEqual({ "d/": "", "d/f": "theirs" });
    expect(desk.tree()).toEqual({ d: "a file now" });
    await rig.during(desk.sync.resolve("d" as WorkspacePath, { keep }));
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
    expect([desk.tree(), await rig.during(host.tree())]).toEqual([kept, kept]);
    await rig.close();
  },
);
