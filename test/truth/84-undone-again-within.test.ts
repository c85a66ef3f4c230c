import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

async function ran(workspace: WorkspaceApi, project: Project, script: string): Promise<string> {
  await workspace.run({ command: ["sh", "-c", script], cwd: project.folder });
  return (await workspace.operations()).at(-1)?.id ?? "";
}

async function isUndone(workspace: WorkspaceApi, id: string): Promise<boolean | undefined> {
  return (await workspace.operations()).find((one) => one.id === id)?.undone;
}

describe("Truth 84: work that was redone and undone within a transaction", () => {
  it("is undone, as before the transaction, once the transaction is rolled back", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    await workspace.undo();
    const { id } = await workspace.beginTransaction();
    await workspace.redo({ operation: run });
    await workspace.undo({ operation: run });
    project.write("b", "2\n");
    await workspace.rollbackTransaction(id);
    expect([existsSync(project.at("a")), existsSync(project.at("b"))]).toEqual([false, false]);
    expect(await isUndone(workspace, run)).toBe(true);
    const done = await workspace.redo({ operation: run });
    expect(done.changes.map(({ path }) => path)).toEqual(["a"]);
    expect(project.read("a")).toBe("1\n");
    expect(await isUndone(workspace, run)).toBe(false);
  });

  it.each([
    ["an undo of the whole run", {}, false],
    ["an undo of its work", { session: true }, false],
    ["an undo of the whole run, if all of that is redone before the rollback", {}, true],
    ["an undo of its work, if all of that is redone before the rollback", { session: true }, true],
  ])("is undone by %s, if everything since is undone within the transaction, too", async (_by, way, isRedone) => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    const { seq } = await workspace.head();
    await workspace.undo("session" in way ? { session: run } : {});
    const { id } = await workspace.beginTransaction();
    await workspace.redo();
    project.write("b", "2\n");
    const there = (): boolean[] => [existsSync(project.at("a")), existsSync(project.at("b"))];
    await workspace.undo({ since: `seq:${seq}` });
    expect([...there(), await isUndone(workspace, run)]).toEqual([true, false, false]);
    if (isRedone) {
      await workspace.redo();
      expect([...there(), await isUndone(workspace, run)]).toEqual([true, true, false]);
    }
    await workspace.rollbackTransaction(id);
    expect([...there(), await isUndone(workspace, run)]).toEqual([false, false, true]);
    await workspace.redo({ operation: run });
    expect([...there(), await isUndone(workspace, run)]).toEqual([true, false, false]);
  });

  it("is not undone, if the rollback takes back an earlier undo of it, too", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    const { id } = await workspace.beginTransaction();
    await workspace.undo({ operation: run });
    await workspace.redo({ operation: run });
    await workspace.undo({ operation: run });
    await workspace.rollbackTransaction(id);
    expect(project.read("a")).toBe("1\n");
    expect(await isUndone(workspace, run)).toBe(false);
    await workspace.undo({ operation: run });
    expect(existsSync(project.at("a"))).toBe(false);
    expect(await isUndone(workspace, run)).toBe(true);
  });

  it("is undone again, once every path that a redo of it wrote is undone, even if the redo did not have to write all of its paths", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { seq } = await workspace.head();
    const run = await ran(workspace, project, "echo 1 > a");
    project.write("b", "1\n");
    await workspace.restore(`seq:${seq}`);
    const restore = (await workspace.operations()).at(-1)?.id ?? "";
    await workspace.undo({ operation: restore });
    await workspace.undo({ session: run });
    await workspace.redo({ operation: restore });
    expect([existsSync(project.at("a")), existsSync(project.at("b"))]).toEqual([false, false]);
    expect(await isUndone(workspace, restore)).toBe(false);
    project.write("b", "2\n");
    await workspace.undo({ file: "b" });
    expect(await isUndone(workspace, restore)).toBe(true);
    expect(await isUndone(workspace, run)).toBe(true);
  });
});

describe("Truth 84: work that was undone in two parts", () => {
  it.each([["the first"], ["the second"]])(
    "does not count as undone, once %s of the two undos is redone",
    async (which) => {
      await using project = new Project();
      const workspace = await project.init();
      const run = await ran(workspace, project, "echo 1 > a; echo 1 > b");
      await workspace.undo({ file: "a" });
      const first = (await workspace.operations()).at(-1)?.id ?? "";
      await workspace.undo({ file: "b" });
      const second = (await workspace.operations()).at(-1)?.id ?? "";
      expect(await isUndone(workspace, run)).toBe(true);
      await workspace.redo({ operation: which === "the first" ? first : second });
      expect([existsSync(project.at("a")), existsSync(project.at("b"))]).toEqual([
        which === "the first",
        which === "the second",
      ]);
      expect(await isUndone(workspace, run)).toBe(false);
      await workspace.undo({ operation: run });
      expect([existsSync(project.at("a")), existsSync(project.at("b"))]).toEqual([false, false]);
      expect(await isUndone(workspace, run)).toBe(true);
    },
  );

  it("cannot be redone by its id: the error names both undos", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a; echo 1 > b");
    await workspace.undo({ file: "a" });
    const first = (await workspace.operations()).at(-1)?.id ?? "";
    await workspace.undo({ file: "b" });
    const second = (await workspace.operations()).at(-1)?.id ?? "";
    await expect(workspace.redo({ operation: run })).rejects.toMatchObject({
      code: "REFUSED",
      message: "this work was undone by several undos",
      data: { undos: [second, first] },
    });
    await workspace.redo({ operation: second });
    await workspace.redo({ operation: first });
    expect([project.read("a"), project.read("b")]).toEqual(["1\n", "1\n"]);
    expect(await isUndone(workspace, run)).toBe(false);
  });

  it("can be redone by its id, if an undo of one path undid everything except a folder", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "mkdir d; echo 1 > d/a");
    await workspace.undo({ session: run });
    await workspace.redo();
    await workspace.undo({ file: "d/a" });
    expect(existsSync(project.at("d/a"))).toBe(false);
    await ran(workspace, project, "echo 2 > b");
    await workspace.redo({ operation: run });
    expect(project.read("d/a")).toBe("1\n");
    expect(await isUndone(workspace, run)).toBe(false);
  });

  it("cannot be redone by its id, if an undo of one path undid an edit by hand, too", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    project.write("a", "2\n");
    await workspace.undo({ file: "a" });
    const undo = (await workspace.operations()).at(-1)?.id ?? "";
    expect(await isUndone(workspace, run)).toBe(true);
    await expect(workspace.redo({ operation: run })).rejects.toMatchObject({ code: "REFUSED", data: { undo } });
    await workspace.redo({ operation: undo });
    expect(project.read("a")).toBe("2\n");
  });

  it("cannot be redone by its id, if two undos hold the same change", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    const { id } = await workspace.beginTransaction();
    await workspace.undo({ session: run });
    const part = (await workspace.operations()).at(-1)?.id ?? "";
    await workspace.rollbackTransaction(id);
    const rollback = (await workspace.operations()).at(-1)?.id ?? "";
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
    await workspace.undo({ operation: run });
    const whole = (await workspace.operations()).at(-1)?.id ?? "";
    await workspace.redo({ operation: rollback });
    expect([existsSync(project.at("a")), await isUndone(workspace, run)]).toEqual([false, true]);
    await expect(workspace.redo({ operation: run })).rejects.toMatchObject({
      code: "REFUSED",
      message: "this work was undone by several undos",
      hint: `\`chronicle redo ${whole.slice(0, 8)}\`, then \`chronicle redo ${part.slice(0, 8)}\`: each redoes everything that one of these undos had undone`,
      data: { undos: [whole, part] },
    });
    await workspace.redo({ operation: whole });
    expect([existsSync(project.at("a")), await isUndone(workspace, run)]).toEqual([false, true]);
    await workspace.redo({ operation: part });
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
  });

  it("cannot be redone by its id, if an undo of one path undid other work of the same transaction, too", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction();
    const first = await ran(workspace, project, "echo 1 > a");
    await ran(workspace, project, "echo 2 > a; echo 2 > b");
    await workspace.commitTransaction(id);
    await workspace.undo({ file: "a" });
    const undo = (await workspace.operations()).at(-1)?.id ?? "";
    expect(await isUndone(workspace, first)).toBe(true);
    await expect(workspace.redo({ operation: first })).rejects.toMatchObject({ code: "REFUSED", data: { undo } });
    expect(existsSync(project.at("a"))).toBe(false);
  });

  it("names five of many undos, and says how many more there are", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const run = await ran(workspace, project, names.map((name) => `echo 1 > ${name}`).join("; "));
    for (const name of names) await workspace.undo({ file: name });
    await expect(workspace.redo({ operation: run })).rejects.toMatchObject({
      hint: expect.stringContaining("and 2 more (`chronicle list` shows them)") as string,
    });
  });
});

describe("Truth 84: work that was undone, redone and undone again", () => {
  it.each(["the first undo", "the redo"])("can be redone by the id of %s", async (which) => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    await workspace.undo({ session: run });
    const undo = (await workspace.operations()).at(-1)?.id ?? "";
    await workspace.redo();
    const redo = (await workspace.operations()).at(-1)?.id ?? "";
    await workspace.undo();
    expect([existsSync(project.at("a")), await isUndone(workspace, run)]).toEqual([false, true]);
    await workspace.redo({ operation: which === "the first undo" ? undo : redo });
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
    await workspace.undo();
    expect([existsSync(project.at("a")), await isUndone(workspace, run)]).toEqual([false, true]);
    await workspace.redo();
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
  });
});
