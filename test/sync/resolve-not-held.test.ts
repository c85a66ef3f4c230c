import { afterEach, expect, it } from "vitest";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { HOLDS_ALL } from "../../src/core/tree/folder-traits.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/**
 * A resolve with the folder's side does not send a state that is here only because the folder's disk cannot hold the
 * origin's state. Its proposals are not repeated either.
 */

let rig: FolderRig;
afterEach(() => rig.close());

const link = (path: string, target: string) =>
  rig.during(rig.host.workspace.putFile(path, Buffer.from(target), { kind: "symlink" }));
const keep = (path: string) => rig.during(rig.desk.sync.resolve(path as WorkspacePath, { keep: "local" }));

async function disputed(): Promise<string[]> {
  return (await rig.during(rig.desk.sync.conflicts())).map(({ record }) => `${record.path} ${record.reason}`);
}

async function proposals(): Promise<string[]> {
  const { index } = rig.desk.context;
  const { seq: to } = await rig.during(index.head());
  const events = await rig.during(index.events({ from: 1, to, limit: 10_000 }));
  return events.map(({ recordId }) => recordId).filter((id) => id.startsWith("proposal:"));
}

/** A folder without links. */
async function started(files: Readonly<Record<string, string>>): Promise<FolderRig> {
  rig = await FolderRig.start(files);
  rig.desk.context.worktree.traitsOf = () => ({ ...HOLDS_ALL, symlinks: false });
  await rig.flush();
  return rig;
}

it("a folder that the origin replaced by a link, and that cannot be removed here, is kept and never sent", async () => {
  const { desk, host } = await started({ ".gitignore": "*.o\n", "d/x": "1", "b.txt": "b" });
  desk.edit("d/x.o", "ignored");
  await rig.flush();
  await rig.during(host.write("d", undefined));
  await link("d", "b.txt");
  await rig.flush();
  expect(await disputed()).toEqual(["d blocked"]);
  await keep("d");
  for (let round = 0; round < 3; round += 1) {
    await rig.flush();
    await rig.pass(5_000);
    // The proposal says in the log what the folder's side is based on. It is never sent.
    expect(await proposals()).toEqual(["proposal:file:d"]);
    expect(await rig.during(host.tree())).toMatchObject({ d: "b.txt" });
    expect(desk.tree()).toMatchObject({ "d/": "", "d/x.o": "ignored" });
    expect(desk.sync.shape.not_held_paths).toMatchObject([{ path: "d", side: "both" }]);
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
    await rig.during(desk.sync.pause());
    await rig.during(desk.sync.resume());
  }
});

it("a file that replaces a folder in which the origin has a link is a blocked conflict until the link is gone", async () => {
  const { desk, host } = await started({ "d/e/x": "1", "d/y": "1", "b.txt": "b" });
  desk.cut();
  desk.edit("d", "a file here");
  await rig.during(host.write("d/e", undefined));
  await link("d/e", "../b.txt");
  await rig.during(host.write("d/y", "2"));
  await rig.pass(500);
  desk.heal();
  await rig.flush();
  expect(await disputed()).toEqual(["d folder"]);
  await keep("d");
  await rig.flush();
  expect(await disputed()).toEqual(["d blocked"]);
  const many = (await proposals()).length;
  await rig.pass(60_000);
  expect(await proposals()).toHaveLength(many);
  expect(desk.tree()).toEqual({ "b.txt": "b", d: "a file here" });
  expect(await rig.during(host.tree())).toMatchObject({ "d/": "", "d/e": "../b.txt" });
  // Once the origin's link is gone, the file is sent.
  await rig.during(host.write("d/e", undefined));
  await rig.flush();
  await rig.pass(5_000);
  if ((await disputed()).length > 0) await keep("d");
  await rig.flush();
  expect(await rig.during(host.tree())).toEqual({ "b.txt": "b", d: "a file here" });
  expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
});

it("the removal of a folder in which the origin has a link is a blocked conflict, and the link stays", async () => {
  const { desk, host } = await started({ "d/y": "1", "b.txt": "b", "c.txt": "c" });
  await link("d/e", "../b.txt");
  await rig.flush();
  expect(desk.tree()).toEqual({ "b.txt": "b", "c.txt": "c", "d/": "", "d/y": "1" });
  desk.edit("d", undefined);
  await rig.flush();
  await rig.pass(60_000);
  await rig.flush();
  expect(await disputed()).toEqual(["d blocked"]);
  expect(await rig.during(host.tree())).toEqual({ "b.txt": "b", "c.txt": "c", "d/": "", "d/e": "../b.txt" });
});
