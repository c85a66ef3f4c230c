import { afterEach, expect, it } from "vitest";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/**
 * A conflict that is resolved with the origin's side stays open if a folder cannot be removed because it holds
 * untracked files.
 */

let rig: FolderRig;
afterEach(() => rig.close());

it("a conflict that a resolve leaves open is reported as open", async () => {
  rig = await FolderRig.start({ ".gitignore": "*.o\n", "d/x": "1", a: "a" });
  await rig.flush();
  const { desk, host } = rig;
  desk.edit("d/x.o", "untracked");
  // The file cannot be removed for now.
  desk.machine.plan(({ name, path }) => (name === "rename" && path.includes("/x -> ") ? { errno: "EACCES" } : "go"));
  await rig.during(host.write("d", undefined));
  await rig.flush();
  const open = await rig.during(desk.sync.conflicts());
  expect(open.map(({ record: { path, reason } }) => [path, reason])).toEqual([
    ["d", "blocked"],
    ["d/x", "blocked"],
  ]);
  expect(desk.tree()).toMatchObject({ "d/x": "1" });
  desk.machine.plan(() => "go");
  desk.happened.length = 0;
  const left = await rig.during(desk.sync.resolve("d" as WorkspacePath, { keep: "upstream" }));
  expect(desk.tree()).toMatchObject({ "d/": "", "d/x.o": "untracked" });
  expect(desk.tree()).not.toHaveProperty("d/x");
  expect(left.record).toMatchObject({ path: "d", state: "open", reason: "blocked" });
  expect(await rig.during(desk.sync.conflicts())).toEqual([left]);
  expect(desk.happened.filter(({ kind }) => kind === "conflict")[0]).toMatchObject({ path: "d", state: "open" });
  desk.edit("d/x.o", undefined);
  await rig.flush();
  await rig.pass(30_000);
  await rig.flush();
  expect(desk.tree()).toEqual({ ".gitignore": "*.o\n", a: "a" });
  expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
});
