import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

/** Stages a file in a folder within the tracked one, as an operation does whose workspace or target is that folder. */

function stage(project: Project, folder: string): void {
  project.write(`${folder}/.chronicle-tmp/TOKEN/new/17`, "KEY=secret\n");
  project.write(`${folder}/file.txt`, "a file\n");
}

describe("Truth: staged files in a folder within a tracked one", () => {
  it("are never captured, neither by a snapshot nor by a record of the folder", async () => {
    await using project = new Project();
    project.write("a.txt", "a\n");
    const workspace = await project.init();
    stage(project, "deep/old");
    await workspace.snapshot();
    await workspace.record(["deep/old"]);
    const paths = (await workspace.files()).files.map(({ path }) => path);
    expect(paths).toEqual(["a.txt", "deep", "deep/old", "deep/old/file.txt"]);
  });

  it("are kept by a restore that would remove the folder, and the folder is listed as skipped", async () => {
    await using project = new Project();
    project.write("a.txt", "a\n");
    const workspace = await project.init();
    stage(project, "old");
    await workspace.snapshot();
    const { skipped } = await workspace.restore("0");
    expect(skipped).toMatchObject([{ path: "old", reason: "not-empty" }]);
    expect(readdirSync(project.at("old"), { recursive: true }).map(String)).toContain(
      join(".chronicle-tmp", "TOKEN", "new", "17"),
    );
  });

  it("make a `restore --to` into that folder refuse, with a hint at `.chronicle-tmp`", async () => {
    await using project = new Project();
    project.write("a.txt", "a\n");
    const workspace = await project.init();
    const to = join(project.base, "target");
    mkdirSync(join(to, ".chronicle-tmp/TOKEN"), { recursive: true });
    writeFileSync(join(to, ".chronicle-tmp/TOKEN/1"), "a\n");
    const refused = workspace.restore("0", { to });
    await expect(refused).rejects.toMatchObject({ code: "REFUSED", hint: expect.stringContaining(".chronicle-tmp") });
  });
});
