import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

async function ran(workspace: WorkspaceApi, project: Project, script: string): Promise<string> {
  await workspace.run({ command: ["sh", "-c", script], cwd: project.folder });
  return (await workspace.operations()).at(-1)?.id ?? "";
}

async function undone(workspace: WorkspaceApi): Promise<readonly (readonly [string, boolean])[]> {
  const all = await workspace.operations();
  return all.filter(({ kind }) => kind === "run").map(({ id, undone: isUndone }) => [id, isUndone] as const);
}

describe("Truth 83: a redo by the id of work that was undone by a selection", () => {
  it("brings the work back, if the undo took nothing else", async () => {
    await using project = new Project();
    project.write("a", "1\n");
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 2 > a; echo 2 > b");
    await workspace.undo({ session: run });
    const done = await workspace.redo({ operation: run });
    expect(done.changes.map(({ path }) => path)).toEqual(["a", "b"]);
    expect([project.read("a"), project.read("b")]).toEqual(["2\n", "2\n"]);
    expect(await undone(workspace)).toEqual([[run, false]]);
    const back = await workspace.undo();
    expect(back.changes.map(({ path }) => path)).toEqual(["a", "b"]);
    expect([project.read("a"), existsSync(project.at("b"))]).toEqual(["1\n", false]);
    expect(await undone(workspace)).toEqual([[run, true]]);
  });

  it("is refused if the undo took other work, too, and names the redo that brings all of it back", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { seq } = await workspace.head();
    const first = await ran(workspace, project, "echo 1 > a");
    const second = await ran(workspace, project, "echo 2 > b");
    await workspace.undo({ since: `seq:${seq}` });
    const head = await workspace.head();
    const undo = (await workspace.operations()).at(-1)?.id ?? "";
    for (const dryRun of [true, false])
      await expect(workspace.redo({ operation: first, dryRun })).rejects.toMatchObject({
        code: "REFUSED",
        message: "this work was undone together with other work",
        hint: expect.stringContaining(`\`chronicle redo ${undo.slice(0, 8)}\` redoes all of it together`) as string,
        data: { undo },
      });
    expect(await workspace.head()).toEqual(head);
    expect(await undone(workspace)).toEqual([
      [first, true],
      [second, true],
    ]);
    await workspace.redo({ operation: undo });
    expect([project.read("a"), project.read("b")]).toEqual(["1\n", "2\n"]);
    expect(await undone(workspace)).toEqual([
      [first, false],
      [second, false],
    ]);
  });

  it("is refused for a part of a transaction that was undone as a whole", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction();
    const first = await ran(workspace, project, "echo 1 > a");
    await ran(workspace, project, "echo 2 > b");
    await workspace.commitTransaction(id);
    const undo = await workspace.undo();
    expect(undo.operation?.id).toBe(id);
    await expect(workspace.redo({ operation: first })).rejects.toMatchObject({ code: "REFUSED" });
    await workspace.redo({ operation: id });
    expect([project.read("a"), project.read("b")]).toEqual(["1\n", "2\n"]);
  });

  it("brings the work back after an undo of the redo of its undo by selection", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    await workspace.undo({ session: run });
    await workspace.redo();
    await workspace.undo();
    expect(existsSync(project.at("a"))).toBe(false);
    const done = await workspace.redo({ operation: run });
    expect(done.changes.map(({ path }) => path)).toEqual(["a"]);
    expect(project.read("a")).toBe("1\n");
    expect(await undone(workspace)).toEqual([[run, false]]);
  });

  it("uses the last undo, if the work was undone alone before", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    await workspace.undo();
    await workspace.redo();
    await workspace.undo({ session: run });
    await workspace.redo({ operation: run });
    expect(project.read("a")).toBe("1\n");
    await workspace.undo({ operation: run });
    expect(existsSync(project.at("a"))).toBe(false);
    await workspace.redo({ operation: run });
    expect(project.read("a")).toBe("1\n");
    expect(await undone(workspace)).toEqual([[run, false]]);
  });

  it("is refused if its undo was itself undone with other work, and names that undo", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { seq } = await workspace.head();
    const first = await ran(workspace, project, "echo 1 > a");
    const second = await ran(workspace, project, "echo 2 > b");
    await workspace.undo({ operation: first });
    await workspace.undo({ since: `seq:${seq}` });
    const undo = (await workspace.operations()).at(-1)?.id ?? "";
    const head = await workspace.head();
    await expect(workspace.redo({ operation: first })).rejects.toMatchObject({ code: "REFUSED", data: { undo } });
    expect(await workspace.head()).toEqual(head);
    await workspace.redo({ operation: second });
    expect([existsSync(project.at("a")), project.read("b")]).toEqual([false, "2\n"]);
    expect(await undone(workspace)).toEqual([
      [first, true],
      [second, false],
    ]);
    await workspace.redo({ operation: first });
    expect([project.read("a"), project.read("b")]).toEqual(["1\n", "2\n"]);
    expect(await undone(workspace)).toEqual([
      [first, false],
      [second, false],
    ]);
  });

  it("is refused if the undo by selection was itself undone, and names it once it is in force again", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { seq } = await workspace.head();
    const first = await ran(workspace, project, "echo 1 > a");
    await ran(workspace, project, "echo 2 > b");
    await workspace.undo({ since: `seq:${seq}` });
    const both = (await workspace.operations()).at(-1)?.id ?? "";
    const third = await ran(workspace, project, "echo 3 > c");
    await workspace.undo({ since: `seq:${seq}` });
    await expect(workspace.redo({ operation: first })).rejects.toMatchObject({ code: "REFUSED" });
    await workspace.redo({ operation: third });
    expect([existsSync(project.at("a")), project.read("c")]).toEqual([false, "3\n"]);
    await expect(workspace.redo({ operation: first })).rejects.toMatchObject({ data: { undo: both } });
    await workspace.redo({ operation: both });
    expect([project.read("a"), project.read("b"), project.read("c")]).toEqual(["1\n", "2\n", "3\n"]);
  });

  it("brings back a part of a transaction that was undone alone before the transaction was", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction();
    const first = await ran(workspace, project, "echo 1 > a");
    await ran(workspace, project, "echo 2 > b");
    await workspace.commitTransaction(id);
    await workspace.undo({ operation: first });
    await workspace.undo({ operation: id });
    await workspace.redo({ operation: first });
    expect([project.read("a"), existsSync(project.at("b"))]).toEqual(["1\n", false]);
  });
});
