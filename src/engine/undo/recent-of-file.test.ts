import { mkdirSync, rmSync } from "node:fs";
import { expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

/** Records a change of 700 other files, so that what was before is outside of the first window of the list. */
async function others(project: Project, workspace: WorkspaceApi, round: number): Promise<void> {
  for (let i = 0; i < 700; i += 1) project.write(`other/${i}`, `${round} ${i}`);
  await workspace.snapshot();
}

async function listed(workspace: WorkspaceApi, file: string, limit: number): Promise<string[]> {
  const { items } = await workspace.recent(limit, { file });
  return items.map(({ kind, paths, snapshot }) => `${kind} ${snapshot} ${paths.map(({ path }) => path).join(" ")}`);
}

it("the list of a file has its newest work, however much other work lies between, and all of it if it is asked for", async () => {
  await using project = new Project();
  project.write("old", "0");
  project.write("never", "0");
  const workspace = await project.init();
  for (let round = 1; round <= 3; round += 1) {
    project.write("old", `${round}`);
    project.write("late", `${round}`);
    await workspace.snapshot();
    await others(project, workspace, round);
  }
  const both = [5, 3, 1].map((number) => `snapshot ${number} late old`);
  expect(await listed(workspace, "late", 20)).toEqual(both);
  expect(await listed(workspace, "late", 1)).toEqual(both.slice(0, 1));
  expect(await listed(workspace, "old", 2)).toEqual(both.slice(0, 2));
  expect(await listed(workspace, "old", 20)).toEqual(both);
  expect(await listed(workspace, "never", 20)).toEqual([]);
  expect(await listed(workspace, "unknown", 20)).toEqual([]);
  expect(await listed(workspace, "other", 20)).toHaveLength(3);
});

it("the list of a file has the work within the folder that was there before", async () => {
  await using project = new Project();
  const workspace = await project.init();
  project.write("name/within", "1");
  await workspace.snapshot();
  rmSync(project.at("name"), { recursive: true });
  project.write("name", "a file");
  await others(project, workspace, 1);
  expect(await listed(workspace, "name", 20)).toHaveLength(2);
  rmSync(project.at("name"));
  mkdirSync(project.at("name"));
  project.write("name/again", "1");
  await others(project, workspace, 2);
  expect(await listed(workspace, "name", 20)).toHaveLength(3);
});
