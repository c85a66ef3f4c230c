import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

async function lastId(workspace: WorkspaceApi): Promise<string> {
  return (await workspace.operations()).at(-1)?.id ?? "";
}

async function ran(workspace: WorkspaceApi, project: Project, script: string): Promise<string> {
  await workspace.run({ command: ["sh", "-c", script], cwd: project.folder });
  return lastId(workspace);
}

async function isUndone(workspace: WorkspaceApi, id: string): Promise<boolean | undefined> {
  return (await workspace.operations()).find((one) => one.id === id)?.undone;
}

async function openPaths(workspace: WorkspaceApi): Promise<string[]> {
  return (await workspace.conflicts()).map(({ path }) => path);
}

describe("Truth 85: a redo that met a conflict", () => {
  /** Undoes the work of a run, and writes a file by hand in its place, so that the redo meets a conflict there. */
  async function met(workspace: WorkspaceApi, project: Project, script: string) {
    const run = await ran(workspace, project, script);
    await workspace.undo({ session: run });
    project.write("a", "by hand\n");
    const done = await workspace.redo({ operation: run });
    expect(done.unmerged.map(({ path }) => path)).toEqual(["a"]);
    return run;
  }

  it("does not count work as redone if nothing of it is there", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const earlier = await ran(workspace, project, "echo 0 > z");
    const run = await met(workspace, project, "echo 1 > a");
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["by hand\n", true]);
    await workspace.undo();
    expect([existsSync(project.at("z")), await isUndone(workspace, earlier)]).toEqual([false, true]);
    expect(await openPaths(workspace)).toEqual(["a"]);
  });

  it("can be tried again, and leaves one conflict", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await met(workspace, project, "echo 1 > a");
    const again = await workspace.redo({ operation: run });
    expect(again.unmerged.map(({ path }) => path)).toEqual(["a"]);
    expect(await openPaths(workspace)).toEqual(["a"]);
    project.remove("a");
    await workspace.redo();
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
    expect(await openPaths(workspace)).toEqual([]);
  });

  it("can be undone if it wrote something, without a further conflict, and redone after that", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const earlier = await ran(workspace, project, "echo 0 > z");
    const run = await met(workspace, project, "echo 1 > a; echo 1 > b");
    expect([project.read("b"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
    const undone = await workspace.undo();
    expect(undone.unmerged).toEqual([]);
    expect(undone.changes.map(({ path }) => path)).toEqual(["b"]);
    expect([await openPaths(workspace), await isUndone(workspace, run)]).toEqual([[], true]);
    await workspace.redo();
    expect([project.read("b"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
    await workspace.undo();
    await workspace.undo();
    expect([existsSync(project.at("z")), await isUndone(workspace, earlier)]).toEqual([false, true]);
  });

  it.each([
    ["undo", false, "1\n"],
    ["merged", false, "both\n"],
    ["current", true, "by hand\n"],
  ] as const)("makes the run count as undone or not, as the conflict is settled: %s", async (keep, undone, content) => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await met(workspace, project, "echo 1 > a");
    await workspace.resolve("a", { keep, content: Buffer.from("both\n") });
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual([content, undone]);
    if (keep === "current") return;
    await workspace.undo();
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["by hand\n", true]);
    expect(await openPaths(workspace)).toEqual(["a"]);
    await workspace.redo();
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual([content, false]);
  });

  it("counts a file that is on disk already as redone", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a; echo 1 > c");
    await workspace.undo({ session: run });
    project.write("a", "by hand\n");
    project.write("c", "1\n");
    await workspace.redo({ operation: run });
    expect(await isUndone(workspace, run)).toBe(false);
    await workspace.undo({ operation: run });
    expect([project.read("a"), existsSync(project.at("c"))]).toEqual(["by hand\n", false]);
    expect(await isUndone(workspace, run)).toBe(true);
  });
});

describe("Truth 85: a redo by its id of work that is undone only in part", () => {
  it("brings that part back", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a; echo 1 > b");
    await workspace.undo({ file: "a" });
    const dry = await workspace.redo({ operation: run, dryRun: true });
    const done = await workspace.redo({ operation: run });
    expect([dry, done].map(({ changes }) => changes.map(({ path }) => path))).toEqual([["a"], ["a"]]);
    expect([project.read("a"), project.read("b")]).toEqual(["1\n", "1\n"]);
    await workspace.undo();
    expect([existsSync(project.at("a")), project.read("b")]).toEqual([false, "1\n"]);
  });

  it("brings back what is left, if another part was redone", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a; echo 1 > b");
    await workspace.undo({ file: "a" });
    const first = await lastId(workspace);
    await workspace.undo({ file: "b" });
    await workspace.redo({ operation: first });
    await workspace.redo({ operation: run });
    expect([project.read("a"), project.read("b"), await isUndone(workspace, run)]).toEqual(["1\n", "1\n", false]);
    const nothing = await workspace.redo({ operation: run });
    expect([nothing.changes, nothing.notes]).toEqual([[], ["it is not undone"]]);
  });

  it("is refused if that part was undone with other work, or by several undos", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a; echo 1 > b; echo 1 > c");
    project.write("a", "2\n");
    await workspace.undo({ file: "a" });
    const undo = await lastId(workspace);
    await expect(workspace.redo({ operation: run })).rejects.toMatchObject({
      code: "REFUSED",
      message: "a part of this work was undone together with other work",
      data: { undo },
    });
    await workspace.undo({ file: "b" });
    await expect(workspace.redo({ operation: run })).rejects.toMatchObject({
      message: "a part of this work was undone by several undos",
    });
  });

  it("meets the conflict again that an earlier redo met", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a; echo 1 > b");
    await workspace.undo({ session: run });
    project.write("a", "by hand\n");
    await workspace.redo();
    await workspace.undo();
    await workspace.redo();
    expect([await openPaths(workspace), project.read("b")]).toEqual([[], "1\n"]);
    const again = await workspace.redo({ operation: run });
    expect(again.unmerged.map(({ path }) => path)).toEqual(["a"]);
    expect(await openPaths(workspace)).toEqual(["a"]);
  });
});

describe("Truth 85: a redo by its id of work whose undo undid an undo or redo of other work, too", () => {
  it.each(["undo", "redo"] as const)(
    "is refused, and names the undo whose redo brings all of it back: %s",
    async (verb) => {
      await using project = new Project();
      const workspace = await project.init();
      const other = await ran(workspace, project, "echo 1 > a");
      if (verb === "redo") await workspace.undo({ operation: other });
      const { seq } = await workspace.head();
      const run = await ran(workspace, project, "echo 1 > b");
      await workspace[verb]({ operation: other });
      await workspace.undo({ since: `seq:${seq}` });
      const undo = await lastId(workspace);
      expect([existsSync(project.at("a")), existsSync(project.at("b"))]).toEqual([verb === "undo", false]);
      await expect(workspace.redo({ operation: run })).rejects.toMatchObject({
        code: "REFUSED",
        message: "this work was undone together with other work",
        data: { undo },
      });
      await workspace.redo({ operation: undo });
      expect([existsSync(project.at("a")), existsSync(project.at("b"))]).toEqual([verb === "redo", true]);
    },
  );

  it("is refused if that undo undid the same work with other work at the same path, and was undone itself", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { seq } = await workspace.head();
    const other = await ran(workspace, project, "echo 1 > a");
    const { id } = await workspace.beginTransaction();
    const run = await ran(workspace, project, "echo 2 > a");
    await workspace.undo({ since: `seq:${seq}` });
    const undo = await lastId(workspace);
    await workspace.rollbackTransaction(id);
    const rollback = await lastId(workspace);
    expect(project.read("a")).toBe("1\n");
    // A redo of the rollback would put the undo in force again. The work would stay undone, and the other work with it.
    await expect(workspace.redo({ operation: run })).rejects.toMatchObject({
      code: "REFUSED",
      message: "the undo of this work was itself undone, together with other work",
      data: { undo: rollback },
    });
    await workspace.redo({ operation: rollback });
    expect(existsSync(project.at("a"))).toBe(false);
    await workspace.redo({ operation: undo });
    expect(project.read("a")).toBe("2\n");
    expect([await isUndone(workspace, run), await isUndone(workspace, other)]).toEqual([false, false]);
  });

  it.each(["operation", "session"])("redoes work whose undo (by %s) was rolled back with it", async (by) => {
    await using project = new Project();
    const workspace = await project.init();
    project.write("a", "0\n");
    await workspace.snapshot();
    const { id } = await workspace.beginTransaction();
    const run = await ran(workspace, project, "echo 2 > a");
    await workspace.undo({ [by]: run });
    await workspace.rollbackTransaction(id);
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["0\n", true]);
    await workspace.redo({ operation: run });
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["2\n", false]);
  });
});

describe("Truth 85: further conflicts of a redo", () => {
  it("an undo removes the part of a file that the redo merged in", async () => {
    await using project = new Project();
    const workspace = await project.init();
    project.write("m", "m0\n\nx\n\nn0\n");
    await workspace.snapshot();
    const run = await ran(workspace, project, "printf 'm1\\n\\nx\\n\\nn1\\n' > m");
    await workspace.undo({ session: run });
    project.write("m", "hand\n\nx\n\nn0\n");
    const done = await workspace.redo();
    expect([project.read("m"), done.unmerged.length]).toEqual(["hand\n\nx\n\nn1\n", 1]);
    expect(await isUndone(workspace, run)).toBe(false);
    await workspace.undo();
    expect(project.read("m")).toBe("hand\n\nx\n\nn0\n");
  });

  it.each(["take, then undo the rest", "undo the rest, then take"])(
    "work with a conflict is in force only if the conflict is settled for the redo before the rest is undone: %s",
    async (order) => {
      await using project = new Project();
      const workspace = await project.init();
      const run = await ran(workspace, project, "echo 1 > a; echo 1 > b");
      await workspace.undo({ session: run });
      project.write("a", "by hand\n");
      await workspace.redo();
      if (order.startsWith("take")) await workspace.resolve("a", { keep: "undo" });
      await workspace.undo({ file: "b" });
      if (!order.startsWith("take")) {
        // Nothing of the redo is in force any more, so its conflict is withdrawn.
        expect([await openPaths(workspace), await isUndone(workspace, run)]).toEqual([[], true]);
        return;
      }
      expect([project.read("a"), existsSync(project.at("b"))]).toEqual(["1\n", false]);
      expect(await isUndone(workspace, run)).toBe(false);
      await workspace.undo({ session: run });
      expect([existsSync(project.at("a")), await isUndone(workspace, run)]).toEqual([false, true]);
    },
  );

  it("withdraws the conflict with any undo that leaves nothing of the redone work", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a; echo 1 > b");
    await workspace.undo({ session: run });
    project.write("a", "by hand\n");
    await workspace.redo();
    await workspace.undo({ session: run });
    expect([await openPaths(workspace), await isUndone(workspace, run)]).toEqual([[], true]);
    expect(project.read("a")).toBe("by hand\n");
  });

  it("leaves one conflict, if the settlement is undone after a further undo met one", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    await workspace.undo({ session: run });
    project.write("a", "by hand\n");
    await workspace.redo();
    await workspace.resolve("a", { keep: "merged", content: Buffer.from("both\n") });
    await workspace.undo({ session: run });
    expect(await openPaths(workspace)).toEqual(["a"]);
    await workspace.undo();
    expect(await openPaths(workspace)).toEqual(["a"]);
    expect(project.read("a")).toBe("by hand\n");
  });

  it("meets no conflict at the undo, if the redone undo was a rollback", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction();
    await ran(workspace, project, "echo 1 > a; echo 1 > b");
    await workspace.rollbackTransaction(id);
    project.write("a", "by hand\n");
    await workspace.redo();
    expect([await openPaths(workspace), project.read("b")]).toEqual([["a"], "1\n"]);
    const undone = await workspace.undo();
    expect([undone.unmerged, undone.changes.map(({ path }) => path)]).toEqual([[], ["b"]]);
    expect([await openPaths(workspace), project.read("a")]).toEqual([[], "by hand\n"]);
  });

  it("redoes work by its id if its file was undone twice", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    await workspace.undo({ file: "a" });
    await workspace.redo();
    await workspace.undo({ file: "a" });
    await workspace.redo({ operation: run });
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
  });

  it("leaves undone what another undo of the same work still holds", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const run = await ran(workspace, project, "echo 1 > a");
    const { id } = await workspace.beginTransaction();
    await workspace.undo({ operation: run });
    await workspace.rollbackTransaction(id);
    const rollback = await lastId(workspace);
    await workspace.undo({ session: run });
    const part = await lastId(workspace);
    await workspace.redo({ operation: rollback });
    await workspace.redo({ operation: part });
    expect([existsSync(project.at("a")), await isUndone(workspace, run)]).toEqual([false, true]);
    await workspace.undo();
    expect([existsSync(project.at("a")), await isUndone(workspace, run)]).toEqual([false, true]);
    await workspace.redo();
    await workspace.redo({ operation: run });
    expect([project.read("a"), await isUndone(workspace, run)]).toEqual(["1\n", false]);
  });
});
