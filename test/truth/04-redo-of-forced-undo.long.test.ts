import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

async function work(workspace: WorkspaceApi, script: string): Promise<string> {
  const { session } = await workspace.run({ command: ["sh", "-c", script] });
  return session.session_id;
}

describe("Truth 4: a redo brings back the bytes that were there, and so does an undo of the redo", () => {
  it("undo --force over an edit, then redo: the edit is back", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    const workspace = await project.init();
    await work(workspace, "echo after > f; mkdir -p made; echo new > made/new");
    project.write("f", "edited since\n");
    project.write("made/new", "edited too\n");
    const whole = project.tree();
    await workspace.undo({ force: true });
    expect(project.read("f")).toBe("before\n");
    const redone = await workspace.redo();
    expect(project.tree()).toEqual(whole);
    expect(redone.skipped).toEqual([]);
    // Another undo and redo do the same.
    await workspace.undo();
    expect(project.read("f")).toBe("before\n");
    await workspace.redo();
    expect(project.tree()).toEqual(whole);
  });

  it("redo --force over an edit, then undo: the edit is back", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    project.write("gone", "was here\n");
    const workspace = await project.init();
    await work(workspace, "echo after > f; rm gone");
    await workspace.undo();
    project.write("f", "edited since\n");
    project.write("gone", "edited as well\n");
    const whole = project.tree();
    await workspace.redo({ force: true });
    expect(project.read("f")).toBe("after\n");
    await workspace.undo();
    expect(project.tree()).toEqual(whole);
  });

  it("redo after a forced undo of a restore or of a named operation: the edit is back", async () => {
    await using project = new Project();
    project.write("f", "first\n");
    const workspace = await project.init();
    const run = await work(workspace, "echo second > f");
    project.write("f", "third\n");
    await workspace.restore("baseline");
    project.write("f", "fourth\n");
    await workspace.undo({ force: true });
    expect(project.read("f")).toBe("third\n");
    await workspace.redo();
    expect(project.read("f")).toBe("fourth\n");
    await workspace.undo({ operation: run, force: true });
    expect(project.read("f")).toBe("first\n");
    await workspace.redo({ operation: run });
    expect(project.read("f")).toBe("fourth\n");
  });

  it("a redo over a later edit is refused; after a forced redo, undo brings the edit back", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    const workspace = await project.init();
    await work(workspace, "echo after > f");
    project.write("f", "edited since\n");
    await workspace.undo({ force: true });
    project.write("f", "edited once more\n");
    await expect(workspace.redo()).rejects.toMatchObject({ code: "REFUSED" });
    expect(project.read("f")).toBe("edited once more\n");
    await workspace.redo({ force: true });
    expect(project.read("f")).toBe("edited since\n");
    await workspace.undo();
    expect(project.read("f")).toBe("edited once more\n");
  });
});
