import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { OwnTime } from "../helpers/own-time.ts";
import { Project } from "../helpers/project.ts";

interface Ran {
  readonly workspace: WorkspaceApi;
  readonly run: string;
  /** The last event before the undo. */
  readonly seq: number;
}

/** Makes a run that changes `a` and makes `b`. */
async function ran(project: Project): Promise<Ran> {
  project.write("a", "1\n");
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "echo 2 > a; echo 2 > b"], cwd: project.folder });
  const [last] = (await workspace.operations()).toReversed();
  const { seq } = await workspace.head();
  return { workspace, run: last?.id ?? "", seq };
}

async function isUndone(workspace: WorkspaceApi, id: string): Promise<boolean | undefined> {
  return (await workspace.operations()).find((one) => one.id === id)?.undone;
}

/** The ways in which an undo is undone, and whether such a way can itself be undone. */
const WAYS: readonly [string, (ran: Ran, step: () => Promise<unknown>) => Promise<void>, boolean][] = [
  [
    "the rollback of the transaction in which it was done",
    async ({ workspace }, step) => {
      const { id } = await workspace.beginTransaction();
      await step();
      await workspace.rollbackTransaction(id);
    },
    false,
  ],
  [
    "an undo of everything since a moment",
    async ({ workspace, seq }, step) => {
      await step();
      await workspace.undo({ since: `seq:${seq}` });
    },
    true,
  ],
];

describe.each(WAYS)("Truth 82: an undo that was undone by %s", (_how, undoing, isRedoable) => {
  it("is no longer in force: the work that is there again does not count as undone, and can be undone", async () => {
    await using project = new Project();
    const all = await ran(project);
    const { workspace, run } = all;
    await undoing(all, () => workspace.undo());
    expect([project.read("a"), project.read("b")]).toEqual(["2\n", "2\n"]);
    expect(await isUndone(workspace, run)).toBe(false);
    expect((await workspace.undo({ session: run, dryRun: true })).changes.length).toBe(2);
    const again = await workspace.undo();
    expect(again.operation?.id).toBe(run);
    expect([project.read("a"), existsSync(project.at("b"))]).toEqual(["1\n", false]);
    expect(await isUndone(workspace, run)).toBe(true);
    await workspace.redo();
    expect([project.read("a"), project.read("b")]).toEqual(["2\n", "2\n"]);
    expect(await isUndone(workspace, run)).toBe(false);
  });

  it("is no longer in force, if it was an undo of selected work", async () => {
    await using project = new Project();
    const all = await ran(project);
    const { workspace, run } = all;
    await undoing(all, () => workspace.undo({ session: run }));
    expect(await isUndone(workspace, run)).toBe(false);
    expect((await workspace.undo({ session: run })).changes.length).toBe(2);
    expect([project.read("a"), existsSync(project.at("b"))]).toEqual(["1\n", false]);
    expect(await isUndone(workspace, run)).toBe(true);
  });

  it("leaves nothing to change for a redo by its id", async () => {
    await using project = new Project();
    const all = await ran(project);
    const { workspace, run } = all;
    let undo: string | null = null;
    await undoing(all, async () => {
      undo = (await workspace.undo({ session: run })).undo_id;
    });
    const head = await workspace.head();
    const redone = await workspace.redo({ operation: undo ?? "" });
    expect(redone.changes).toEqual([]);
    expect((await workspace.head()).seq).toBe(head.seq);
  });

  it.runIf(isRedoable)("is in force again once the undo of it is undone", async () => {
    await using project = new Project();
    const all = await ran(project);
    const { workspace, run } = all;
    await undoing(all, () => workspace.undo());
    const back = (await workspace.operations()).at(-1)?.id ?? "";
    await workspace.undo({ operation: back });
    expect([project.read("a"), existsSync(project.at("b"))]).toEqual(["1\n", false]);
    expect(await isUndone(workspace, run)).toBe(true);
    expect((await workspace.undo({ session: run })).changes).toEqual([]);
  });

  it("is no longer in force if only one of its paths was brought back", async () => {
    await using project = new Project();
    const all = await ran(project);
    const { workspace, run } = all;
    await undoing(all, async () => {
      await workspace.undo();
      project.write("b", "mine\n");
    });
    expect(await isUndone(workspace, run)).toBe(false);
    expect(project.read("a")).toBe("2\n");
  });

  it("may also be a redo: a redo that was undone that way is no longer in force", async () => {
    await using project = new Project();
    const { workspace, run } = await ran(project);
    await workspace.undo();
    const { seq } = await workspace.head();
    await undoing({ workspace, run, seq }, () => workspace.redo());
    expect([project.read("a"), existsSync(project.at("b"))]).toEqual(["1\n", false]);
    expect(await isUndone(workspace, run)).toBe(true);
    expect((await workspace.undo({ session: run })).changes).toEqual([]);
    await workspace.redo({ operation: run });
    expect([project.read("a"), project.read("b")]).toEqual(["2\n", "2\n"]);
    expect(await isUndone(workspace, run)).toBe(false);
  });
});

async function undoneRun(workspace: WorkspaceApi, command: string): Promise<boolean | undefined> {
  return (await workspace.operations()).find((one) => one.kind === "run" && one.summary.includes(command))?.undone;
}

describe("Truth 82: an undo that undid an undo", () => {
  const begun = async (project: Project) => {
    project.write("a", "1\n");
    const workspace = await project.init();
    const run = (line: string) => workspace.run({ command: ["sh", "-c", line], cwd: project.folder });
    const seq = async (): Promise<string> => `seq:${(await workspace.head()).seq}`;
    return { workspace, run, seq };
  };

  it.each(["a rollback", "an undo since a moment"])(
    "and the redo after it, by %s: the next undo undoes the work",
    async (how) => {
      await using project = new Project();
      const { workspace, run, seq } = await begun(project);
      await run("echo 2 > a");
      const since = await seq();
      const { id } = await workspace.beginTransaction();
      await workspace.undo();
      await workspace.redo();
      await run("echo y > y");
      if (how === "a rollback") await workspace.rollbackTransaction(id);
      else await workspace.commitTransaction(id).then(() => workspace.undo({ since }));
      const { operation, changes } = await workspace.undo();
      expect([operation?.summary, changes.length]).toEqual([expect.stringContaining("2 > a"), 1]);
      expect(project.read("a")).toBe("1\n");
    },
  );

  it("and its work, too: the work stays undone, and redos bring it back", async () => {
    await using project = new Project();
    const { workspace, run, seq } = await begun(project);
    const since = await seq();
    await run("echo 2 > a");
    await run("echo y > y");
    await workspace.undo();
    await workspace.undo({ since });
    expect(await undoneRun(workspace, "y > y")).toBe(true);
    await expect(workspace.undo()).rejects.toMatchObject({ code: "NOT_FOUND" });
    await workspace.redo();
    await workspace.redo();
    expect([project.read("a"), project.read("y")]).toEqual(["2\n", "y\n"]);
  });

  it("and its work, by the rollback of their transaction or for one of two files: the work stays undone", async () => {
    await using project = new Project();
    const { workspace, run } = await begun(project);
    const { id } = await workspace.beginTransaction();
    await run("echo 2 > a; echo 2 > b");
    await workspace.undo();
    await run("echo y > y");
    await workspace.rollbackTransaction(id);
    expect(await undoneRun(workspace, "2 > a")).toBe(true);
    await run("echo 3 > a; echo 3 > b");
    await workspace.undo();
    await run("echo 4 > b");
    await workspace.undo({ file: "b" });
    expect(await undoneRun(workspace, "3 > a")).toBe(true);
  });

  it("of a part of a transaction: the transaction is not called undone", async () => {
    await using project = new Project();
    const { workspace, run, seq } = await begun(project);
    const { id } = await workspace.beginTransaction();
    await run("echo 2 > a");
    const since = await seq();
    await workspace.undo();
    await run("echo y > y");
    await workspace.commitTransaction(id);
    await workspace.undo({ since });
    expect(project.read("a")).toBe("2\n");
    expect((await workspace.operations()).find((one) => one.id === id)?.undone).toBe(false);
    await workspace.undo();
    expect(project.read("a")).toBe("1\n");
  });

  it("does not end an action: an action that works on after its undo does not count as undone", async () => {
    await using project = new Project();
    const { workspace } = await begun(project);
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "make" }, session: "s" });
    const id = action?.id ?? "";
    project.write("a", "2\n");
    await workspace.snapshot();
    await workspace.undo({ action: id });
    project.write("a", "3\n");
    await workspace.finishAction(id, { outcome: "done" });
    expect((await workspace.operations()).find((one) => one.id === id)?.undone).toBe(false);
    await workspace.undo();
    expect(project.read("a")).toBe("1\n");
    expect((await workspace.operations()).find((one) => one.id === id)?.undone).toBe(true);
  });

  it("can be there 40 times, and the list of operations is still fast", async () => {
    await using project = new Project();
    const { workspace, run, seq } = await begun(project);
    const since = await seq();
    for (let i = 0; i < 40; i += 1) {
      await run(`echo ${i} > a`);
      await workspace.undo({ since });
    }
    using own = new OwnTime();
    for (let i = 0; i < 5; i += 1) await workspace.operations();
    expect(own.ms).toBeLessThan(1_000);
  });
});
