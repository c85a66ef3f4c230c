import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

const IGNORED = "what git ignores, and nobody has a copy of\n";

/** Makes a project whose files a run removes, and in which ignored paths take their places later. */
async function taken(project: Project) {
  for (const name of ["file", "folder/inside", "both"]) project.write(name, "before\n");
  project.write("other", "before\n");
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "rm -r file folder both; echo after > other"], cwd: project.folder });
  project.write(".gitignore", "file\nfolder\nboth\n");
  project.write("file", IGNORED);
  project.write("folder", IGNORED);
  mkdirSync(project.at("both"));
  project.write("both/made", IGNORED);
  return workspace;
}

const LEFT = [
  { path: "both", reason: "left-out" },
  { path: "file", reason: "left-out", detail: expect.stringContaining("move it away") as unknown },
  { path: "folder", reason: "left-out" },
  { path: "folder/inside", reason: "left-out", detail: expect.stringContaining("the place of folder") as unknown },
];

describe("Truth 76: an ignored path in the way of an undo or a restore", () => {
  it("is named as such and stays, and the same undo continues once it is moved away", async () => {
    await using project = new Project();
    const workspace = await taken(project);
    expect((await workspace.undo({ dryRun: true })).skipped).toMatchObject(LEFT);
    const undone = await workspace.undo();
    expect(undone.changes.map(({ path }) => path)).toEqual(["other"]);
    expect(undone.skipped).toMatchObject(LEFT);
    expect(undone.notes).toEqual([expect.stringContaining("once nothing is in their way")]);
    expect([project.read("file"), project.read("folder"), project.read("both/made")]).toEqual(Array(3).fill(IGNORED));
    for (const name of ["file", "folder", "both"]) project.remove(name);
    const run = (await workspace.operations()).find(({ kind }) => kind === "run");
    const again = await workspace.undo({ operation: run?.id ?? "" });
    expect([again.skipped, project.read("folder/inside"), project.read("file")]).toEqual([[], "before\n", "before\n"]);
  });

  it("makes a restore of its path alone refuse with that reason", async () => {
    await using project = new Project();
    const workspace = await taken(project);
    await expect(workspace.restore("0", { paths: ["file"] })).rejects.toMatchObject({
      code: "REFUSED",
      data: { blocked: [{ path: "file", reason: "left-out" }] },
    });
  });
});
