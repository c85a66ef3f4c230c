import { afterEach, expect, it } from "vitest";
import { HOLDS_ALL } from "../../src/core/tree/folder-traits.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** An edit stays here, and its folder is named, if the origin has in the folder's place what the disk cannot hold. */

let rig: FolderRig;
afterEach(() => rig.close());

async function proposals(): Promise<number> {
  const { index } = rig.desk.context;
  const { seq: to } = await rig.during(index.head());
  const events = await rig.during(index.events({ from: 1, to, limit: 10_000 }));
  return events.filter(({ recordId }) => recordId.startsWith("proposal:")).length;
}

it("an edit in a folder that the origin has replaced by a link is kept back, and is not proposed", async () => {
  rig = await FolderRig.start({ "d/x": "1", "b.txt": "b" });
  const { desk, host } = rig;
  desk.context.worktree.traitsOf = () => ({ ...HOLDS_ALL, symlinks: false });
  await rig.flush();
  desk.cut();
  desk.edit("d/x", "mine");
  await rig.during(host.write("d", undefined));
  await rig.during(host.workspace.putFile("d", Buffer.from("b.txt"), { kind: "symlink" }));
  await rig.pass(500);
  desk.heal();
  await rig.flush();
  const kept = { state: "in-sync", pending: 0, conflicts: 0, kept_back: 1 };
  for (let round = 0; round < 3; round += 1) {
    expect(await proposals()).toBe(0);
    expect(desk.tree()).toEqual({ "b.txt": "b", "d/": "", "d/x": "mine" });
    expect(desk.sync.shape).toMatchObject(kept);
    // The folder's name also stands for the edit in it.
    expect(desk.sync.shape.not_held_paths).toMatchObject([{ path: "d", side: "both" }]);
    await rig.during(desk.sync.pause());
    await rig.during(desk.sync.resume());
    await rig.flush();
  }
  // Once the origin has no link there any more, the edit goes to the origin.
  await rig.during(host.write("d", undefined));
  await rig.flush();
  await rig.pass(5_000);
  await rig.flush();
  expect(await rig.during(host.tree())).toEqual({ "b.txt": "b", "d/": "", "d/x": "mine" });
  expect(desk.sync.shape).toMatchObject({ state: "in-sync", pending: 0, conflicts: 0 });
  expect(desk.sync.shape).not.toHaveProperty("kept_back");
});
