import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

const TURN = { session: "s", turn: "t1", actor: "claude" };

async function write(project: Project, workspace: WorkspaceApi, path: string, content: string): Promise<void> {
  await workspace.action({ type: "write_file", payload: { path }, ...TURN }, () => project.write(path, content));
}

/** Makes a turn of six actions. The limits prune all but the first action of the session and the last two. */
async function flooded(project: Project): Promise<WorkspaceApi> {
  for (const n of [0, 1, 2, 3, 4, 5]) project.write(`f${n}`, "base\n");
  const store = await project.store({ retention: { max_snapshots: 3 } });
  const { workspace } = await store.init({ roots: [project.folder] });
  await write(project, workspace, "f0", "new\n");
  // Neither the baseline nor the snapshot of a kept action holds this content of f1.
  project.write("f1", "draft\n");
  for (const n of [1, 2, 3, 4, 5]) await write(project, workspace, `f${n}`, "new\n");
  await workspace.gc();
  expect((await workspace.list()).map((one) => one.action_summary)).toEqual(
    ["f0", "f4", "f5"].map((path) => `write_file: ${path}`),
  );
  return workspace;
}

const read = (project: Project): string[] => [0, 1, 2, 3, 4, 5].map((n) => project.read(`f${n}`).trim());

describe.each([{ turn: "t1" }, { session: "s" }, { actor: "claude" }])(
  "undo of %o, a part of which was pruned",
  (work) => {
    it("is refused with the paths that cannot be undone, and changes nothing", async () => {
      await using project = new Project();
      const workspace = await flooded(project);
      const error: unknown = await workspace.undo(work).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: "PRUNED", data: { pruned: ["f1"] } });
      expect(String(error)).toMatch(/the earlier content of f1 was pruned by event \d+/);
      expect(read(project)).toEqual(["new", "new", "new", "new", "new", "new"]);
      const { changes } = await workspace.changes(work, { patch: true });
      expect(changes.map((one) => one.pruned ?? one.patch?.includes("+new"))).toEqual([
        true,
        true,
        true,
        true,
        true,
        true,
      ]);
      expect(changes.filter((one) => one.pruned).map((one) => one.path)).toEqual(["f1"]);
      await workspace.close();
    });

    it("with force undoes all other paths, also those of pruned actions, and lists the skipped path, also in a dry run", async () => {
      await using project = new Project();
      const workspace = await flooded(project);
      const skipped = [{ path: "f1", reason: "content-missing", detail: expect.stringContaining("pruned by event") }];
      expect((await workspace.undo({ ...work, dryRun: true, force: true })).skipped).toEqual(skipped);
      const done = await workspace.undo({ ...work, force: true });
      expect(done.skipped).toEqual(skipped);
      expect(read(project)).toEqual(["base", "new", "base", "base", "base", "base"]);
      await workspace.redo();
      expect(read(project)).toEqual(["new", "new", "new", "new", "new", "new"]);
      await workspace.close();
    });
  },
);

it("a dry run of undo notes that earlier work of the session or actor was compacted away with the archive", async () => {
  await using project = new Project();
  project.write("a", "a\n");
  const workspace = await project.init();
  await write(project, workspace, "a", "A\n");
  await workspace.endSession("s");
  await workspace.compact({ dropArchive: true });
  await write(project, workspace, "b", "b\n");
  for (const work of [{ session: "s" }, { actor: "claude" }]) {
    const { notes, changes } = await workspace.undo({ ...work, dryRun: true });
    expect(notes).toEqual([expect.stringMatching(/before event \d+ was compacted away, so it is not undone/)]);
    expect(changes.map((one) => one.path)).toEqual(["b"]);
  }
});
