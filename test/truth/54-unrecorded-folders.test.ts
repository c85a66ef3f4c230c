import { join } from "node:path";
import { rmSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** Writes into a folder that exists, and that a rule keeps out of the history. */

async function sound(workspace: WorkspaceApi): Promise<void> {
  const { ok, problems } = await workspace.verify();
  expect(problems).toEqual([]);
  expect(ok).toBe(true);
  await workspace.compact();
}

async function ignoring(project: Project): Promise<WorkspaceApi> {
  project.write(".gitignore", "build/\n");
  project.write("build/deep/out.o", "ignored\n");
  project.write("src/a.txt", "a\n");
  return project.init();
}

const recorded = async (workspace: WorkspaceApi): Promise<string[]> =>
  (await workspace.files()).files.map(({ path }) => path).filter((path) => path.startsWith("build"));

describe("Truth: a write into an ignored folder that exists", () => {
  const writes: readonly (readonly [string, readonly string[], (on: WorkspaceApi) => Promise<unknown>])[] = [
    ["put", ["build", "build/new.txt"], (on) => on.putFile("build/new.txt", Buffer.from("1\n"))],
    [
      "put deeper",
      ["build", "build/deep", "build/deep/more", "build/deep/more/new.txt"],
      (on) => on.putFile("build/deep/more/new.txt", Buffer.from("1\n")),
    ],
    ["move", ["build", "build/b.txt"], (on) => on.moveFile("src/a.txt", "build/b.txt")],
    ["folder", ["build", "build/sub"], (on) => on.makeFolder("build/sub")],
  ];
  it.each(writes)("%s: records the folders of its path, and nothing else in them", async (_, paths, write) => {
    await using project = new Project();
    const workspace = await ignoring(project);
    await write(workspace);
    expect(await recorded(workspace)).toEqual(paths);
    await sound(workspace);
    await workspace.undo();
    expect(project.read("build/deep/out.o")).toBe("ignored\n");
    await sound(workspace);
  });

  it("makes status show later changes of its file", async () => {
    await using project = new Project();
    const workspace = await ignoring(project);
    await workspace.putFile("build/new.txt", Buffer.from("1\n"));
    project.write("build/new.txt", "edited\n");
    expect((await workspace.status()).changes).toMatchObject([{ path: "build/new.txt" }]);
    project.remove("build/new.txt");
    expect((await workspace.status()).changes).toMatchObject([{ path: "build/new.txt" }]);
  });

  it("restore of a path: records the folder of the path, too", async () => {
    await using project = new Project();
    project.write("build/a.txt", "once recorded\n");
    project.write("src/a.txt", "a\n");
    const workspace = await project.init();
    project.remove("build");
    project.write(".gitignore", "build/\n");
    await workspace.snapshot();
    project.write("build/out.o", "ignored\n");
    await workspace.restore("0", { paths: ["build/a.txt"] });
    expect(project.read("build/a.txt")).toBe("once recorded\n");
    expect(await recorded(workspace)).toEqual(["build", "build/a.txt"]);
    expect((await workspace.status()).changes).toEqual([]);
    await sound(workspace);
    expect(project.read("build/out.o")).toBe("ignored\n");
  });
});

describe("Truth: restore of a path whose folder is gone", () => {
  it.each([false, true])("brings the folder back, too (force: %s)", async (force) => {
    await using project = new Project();
    project.write("src/deep/main.ts", "main\n");
    project.write("src/deep/other.ts", "other\n");
    const workspace = await project.init();
    rmSync(join(project.folder, "src"), { recursive: true });
    await workspace.snapshot();
    const how = { paths: ["src/deep/main.ts"], force };
    expect((await workspace.restore("0", { ...how, dryRun: true })).changes.map(({ path }) => path)).toEqual([
      "src",
      "src/deep",
      "src/deep/main.ts",
    ]);
    const { skipped } = await workspace.restore("0", how);
    expect(skipped).toEqual([]);
    expect(Object.keys(project.tree())).toContain("src/deep/main.ts");
    expect(statSync(join(project.folder, "src/deep/main.ts")).isFile()).toBe(true);
    expect(Object.keys(project.tree())).not.toContain("src/deep/other.ts");
    await sound(workspace);
    await workspace.undo();
    expect(Object.keys(project.tree())).not.toContain("src");
  });

  it("is refused if something else stands in the folder's place", async () => {
    await using project = new Project();
    project.write("src/main.ts", "main\n");
    const workspace = await project.init();
    rmSync(join(project.folder, "src"), { recursive: true });
    project.write("src", "a file by now\n");
    await expect(workspace.restore("0", { paths: ["src/main.ts"] })).rejects.toMatchObject({ code: "REFUSED" });
    expect(project.read("src")).toBe("a file by now\n");
  });
});
