import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/**
 * Begins a transaction that cannot be rolled back, because a folder holds a file that is not recorded. Then kills its
 * owner.
 */
async function abandoned(project: Project): Promise<{ workspace: WorkspaceApi; id: string; notes: string[] }> {
  project.write(".gitignore", "*.o\n");
  project.write("important", "precious\n");
  const notes: string[] = [];
  const { workspace } = await (
    await project.store({ onNote: (note) => notes.push(note) })
  ).init({
    roots: [project.folder],
  });
  const owner = spawn("sleep", ["60"]);
  const { id } = await workspace.beginTransaction({ pid: owner.pid ?? 0 });
  project.write("build/x.o", "x\n");
  await workspace.snapshot();
  owner.kill("SIGKILL");
  await once(owner, "exit");
  return { workspace, id, notes };
}

describe("Truth 81: a transaction whose owner is gone, and that cannot be rolled back", () => {
  it("does not undo a later restore", async () => {
    await using project = new Project();
    const { workspace } = await abandoned(project);
    project.remove("important");
    await workspace.restore("0", { paths: ["important"] });
    await workspace.snapshot();
    await workspace.run({ command: ["true"], cwd: project.folder });
    expect(project.read("important")).toBe("precious\n");
  });

  it("does not undo a later undo", async () => {
    await using project = new Project();
    const { workspace } = await abandoned(project);
    await workspace.run({ command: ["sh", "-c", "echo mistake > important"], cwd: project.folder });
    await workspace.undo();
    await workspace.run({ command: ["true"], cwd: project.folder });
    expect(project.read("important")).toBe("precious\n");
  });

  it("is refused without a hint at --force if its rollback was forced", async () => {
    await using project = new Project();
    const { workspace, id } = await abandoned(project);
    const forced = { code: "REFUSED", hint: expect.not.stringContaining("--force") };
    await expect(workspace.rollbackTransaction(id, { force: true })).rejects.toMatchObject(forced);
  });

  it("is ended by the next change, which says what it left", async () => {
    await using project = new Project();
    const { workspace, id, notes } = await abandoned(project);
    await workspace.snapshot();
    expect(notes.join("\n")).toMatch(/could not be rolled back.*build.*its changes stay; `chronicle undo`/s);
    const [ended] = await workspace.transactions();
    expect([ended?.id, ended?.status]).toEqual([id, "committed"]);
    expect(existsSync(project.at("build/x.o"))).toBe(true);
    const { items } = await workspace.recent();
    expect(items.filter(({ undone }) => undone === true)).toEqual([]);
    // Once the file in the way is gone, the rest can be undone.
    project.remove("build/x.o");
    expect((await workspace.undo()).changes.map(({ path }) => path)).toEqual(["build"]);
    expect(existsSync(project.at("build"))).toBe(false);
  });
});
