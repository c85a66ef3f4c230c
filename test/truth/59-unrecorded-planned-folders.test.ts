import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/**
 * A recorded folder was removed. It is on disk again, and a rule that came meanwhile keeps it out. It can still be
 * restored.
 */

async function builtAgain(project: Project): Promise<{ workspace: WorkspaceApi; run: string }> {
  project.write("build/deep/a.txt", "once recorded\n");
  project.write("build/b.txt", "b\n");
  project.write("src/a.txt", "a\n");
  const workspace = await project.init();
  const { session } = await workspace.run({ command: ["rm", "-rf", "build"] });
  project.write(".gitignore", "build/\n");
  await workspace.snapshot();
  project.write("build/deep/out.o", "ignored\n");
  return { workspace, run: session.session_id };
}

const WAYS: readonly (readonly [string, (on: WorkspaceApi, run: string, dryRun: boolean) => Promise<unknown>])[] = [
  ["restore of everything", (on, _, dryRun) => on.restore("0", { dryRun })],
  ["restore of the folder", (on, _, dryRun) => on.restore("0", { paths: ["build"], dryRun })],
  ["restore with force", (on, _, dryRun) => on.restore("0", { paths: ["build"], force: true, dryRun })],
  ["undo", (on, _, dryRun) => on.undo({ dryRun })],
  ["undo of what removed it", (on, run, dryRun) => on.undo({ operation: run, dryRun })],
];

it.each(WAYS)("%s brings the recorded files back, and leaves the ignored one", async (how, goBack) => {
  await using project = new Project();
  const { workspace, run } = await builtAgain(project);
  const before = project.tree();
  expect(await goBack(workspace, run, true)).toMatchObject({ skipped: [] });
  expect(project.tree()).toEqual(before);
  expect(await goBack(workspace, run, false)).toMatchObject({ skipped: [] });
  expect([project.read("build/deep/a.txt"), project.read("build/b.txt")]).toEqual(["once recorded\n", "b\n"]);
  expect(project.read("build/deep/out.o")).toBe("ignored\n");
  const paths = (await workspace.files()).files.map(({ path }) => path).filter((path) => path.startsWith("build"));
  expect(paths).toEqual(["build", "build/b.txt", "build/deep", "build/deep/a.txt"]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  // Reverts that: a redo after an undo, otherwise an undo of the restore.
  await (how.startsWith("undo") ? workspace.redo() : workspace.undo());
  expect([existsSync(join(project.folder, "build/b.txt")), project.read("build/deep/out.o")]).toEqual([
    false,
    "ignored\n",
  ]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});

it("an unrecorded file at a path in the folder is left alone, and listed", async () => {
  await using project = new Project();
  const { workspace } = await builtAgain(project);
  project.write("build/b.txt", "another one\n");
  const { skipped } = await workspace.restore("0", { paths: ["build"] });
  expect(skipped.map(({ path }) => path)).toEqual(["build/b.txt"]);
  expect([project.read("build/deep/a.txt"), project.read("build/b.txt")]).toEqual(["once recorded\n", "another one\n"]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});
