import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

const SECRET = "what git ignores\n";

async function withPipe(project: Project) {
  project.write(".gitignore", "*.log\nbuild/\n");
  project.write("d/tracked", "tracked\n");
  project.write("d/x.log", SECRET);
  project.write("d/build/o", SECRET);
  execFileSync("mkfifo", [project.at("d/pipe")]);
  return project.init();
}

describe("a folder that holds a pipe, and files that the rules leave out", () => {
  test.each([
    ["delete", (workspace: Awaited<ReturnType<typeof withPipe>>) => workspace.deleteFile("d")],
    ["move", (workspace: Awaited<ReturnType<typeof withPipe>>) => workspace.moveFile("d", "e")],
  ])("a %s of it is refused, and records none of these files", async (_what, change) => {
    await using project = new Project();
    const workspace = await withPipe(project);
    const before = await workspace.head();
    await expect(change(workspace)).rejects.toMatchObject({ code: "REFUSED", data: { path: "d/pipe" } });
    expect(await workspace.head()).toMatchObject({ seq: before.seq });
    expect((await workspace.explain("d/x.log")).recorded).toBe(false);
    project.remove("d/pipe");
    await change(workspace);
    expect((await workspace.history("d/x.log")).length).toBeGreaterThan(0);
    await workspace.undo();
    expect([project.read("d/x.log"), project.read("d/build/o")]).toEqual([SECRET, SECRET]);
  });
});
