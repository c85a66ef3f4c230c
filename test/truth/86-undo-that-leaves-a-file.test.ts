import { existsSync, mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";

async function ran(workspace: WorkspaceApi, project: Project, script: string): Promise<string> {
  await workspace.run({ command: ["sh", "-c", script], cwd: project.folder });
  return (await workspace.operations()).at(-1)?.id ?? "";
}

/** An agent's action, which changes the files as `change` does. */
async function acted(workspace: WorkspaceApi, path: string, change: () => void): Promise<void> {
  const request = { type: "write_file", payload: { path }, actor: "ann", session: "s-ann" };
  const action = await workspace.snapshotAction(request);
  change();
  await workspace.finishAction(action?.id ?? "");
}

async function isUndone(workspace: WorkspaceApi, id: string): Promise<boolean | undefined> {
  return (await workspace.operations()).find((one) => one.id === id)?.undone;
}

describe("Truth 86: an undo of selected work that leaves a path as it is", () => {
  it("does not call a run undone whose file it left, because a folder with others' work is in its place", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const earlier = await ran(workspace, project, "echo 0 > z");
    const run = await ran(workspace, project, "mkdir e; echo 1 > e/f");
    await acted(workspace, "e/f", () => {
      project.remove("e/f");
    });
    mkdirSync(project.at("e/f"));
    await acted(workspace, "e/f/x", () => {
      project.write("e/f/x", "ann\n");
    });
    const { skipped } = await workspace.undo({ actor: "human" });
    expect(skipped.map(({ path }) => path)).toContain("e/f");
    expect([project.read("e/f/x"), existsSync(project.at("z"))]).toEqual(["ann\n", false]);
    expect([await isUndone(workspace, earlier), await isUndone(workspace, run)]).toEqual([true, false]);
  });

  it("does not do so either, once the conflict that it met at another path is settled for it", async () => {
    await using project = new Project();
    project.write("m", "0\n");
    const workspace = await project.init();
    const run = await ran(workspace, project, "mkdir e; echo 1 > e/f; echo 1 > m");
    await acted(workspace, "e/f", () => {
      project.remove("e/f");
    });
    await acted(workspace, "m", () => {
      project.write("m", "ann\n");
    });
    mkdirSync(project.at("e/f"));
    await acted(workspace, "e/f/x", () => {
      project.write("e/f/x", "ann\n");
    });
    const { unmerged } = await workspace.undo({ actor: "human" });
    expect(unmerged.map(({ path }) => path)).toEqual(["m"]);
    await workspace.resolve("m", { keep: "undo" });
    expect([project.read("m"), project.read("e/f/x")]).toEqual(["0\n", "ann\n"]);
    expect(await isUndone(workspace, run)).toBe(false);
  });

  it("does not call a run undone whose change it left, because the earlier content was erased", async () => {
    await using project = new Project();
    project.write("f", "secret\n");
    const workspace = await project.init();
    const earlier = await ran(workspace, project, "echo 0 > z");
    const run = await ran(workspace, project, "echo 1 > f; echo 1 > g");
    await workspace.erase({ what: sha256("secret\n"), reason: "it got in" });
    const { skipped } = await workspace.undo({ session: run });
    expect(skipped.map(({ path }) => path)).toEqual(["f"]);
    expect([project.read("f"), existsSync(project.at("g"))]).toEqual(["1\n", false]);
    expect(await isUndone(workspace, run)).toBe(false);
    // The next undo passes it over.
    await workspace.undo();
    expect([project.read("f"), existsSync(project.at("z"))]).toEqual(["1\n", false]);
    expect(await isUndone(workspace, earlier)).toBe(true);
  });

  it("calls a run undone of which only a folder is left, because others' work is in it", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "mkdir e; echo 1 > e/f");
    await acted(workspace, "e/x", () => {
      project.write("e/x", "ann\n");
    });
    await workspace.undo({ session: run });
    expect([existsSync(project.at("e/f")), project.read("e/x")]).toEqual([false, "ann\n"]);
    expect(await isUndone(workspace, run)).toBe(true);
  });
});
