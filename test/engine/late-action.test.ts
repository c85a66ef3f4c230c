import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Project } from "../helpers/project.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";

const REQUEST = { type: "write_file", payload: { path: "f" } };
const COMMAND = { type: "run_command", payload: { command: "make" } };

/** An action that is begun in a transaction, writes there, and writes again and ends after the commit. */
async function late(project: Project, workspace: WorkspaceApi): Promise<{ id: string; transaction: string }> {
  const { id: transaction } = await workspace.beginTransaction();
  const action = await workspace.snapshotAction(REQUEST);
  project.write("f", "in it\n");
  project.write("other", "in it\n");
  await workspace.commitTransaction(transaction);
  project.write("f", "after it\n");
  const id = action?.id ?? "";
  await workspace.finishAction(id);
  return { id, transaction };
}

async function started(project: Project): Promise<WorkspaceApi> {
  project.write("f", "before\n");
  return project.init();
}

const read = (project: Project): string[] =>
  ["f", "other"].map((path) => (path in project.tree() ? project.read(path).trim() : ""));

describe("what an action does after its transaction was committed", () => {
  it("is an operation of its own: plain undo undoes it first, then the transaction", async () => {
    await using project = new Project();
    const workspace = await started(project);
    const { id, transaction } = await late(project, workspace);
    const operations = await workspace.operations();
    expect(operations.map((one) => [one.kind, one.id, one.changed])).toEqual([
      ["transaction", transaction, 2],
      ["action", id, 1],
    ]);
    await workspace.undo();
    expect(read(project)).toEqual(["in it", "in it"]);
    await workspace.undo();
    expect(read(project)).toEqual(["before", ""]);
    await workspace.redo();
    expect(read(project)).toEqual(["in it", "in it"]);
    await workspace.redo();
    expect(read(project)).toEqual(["after it", "in it"]);
  });

  it("is undone alone by plain undo; undo of the action then undoes what it did in the transaction", async () => {
    await using project = new Project();
    const workspace = await started(project);
    const { id } = await late(project, workspace);
    await workspace.undo();
    // What was done in the transaction is not undone yet.
    await workspace.undo({ action: id });
    expect(read(project)).toEqual(["before", "in it"]);
    expect((await workspace.operations()).filter((one) => !one.undone).map((one) => one.kind)).toEqual([
      "transaction",
      "undo",
      "undo",
    ]);
    await workspace.undo();
    expect(read(project)).toEqual(["before", ""]);
  });

  it("is undone with the action, and stays undone", async () => {
    await using project = new Project();
    const workspace = await started(project);
    const { id } = await late(project, workspace);
    await workspace.undo({ action: id });
    expect(read(project)).toEqual(["before", "in it"]);
    await workspace.undo();
    expect(read(project)).toEqual(["before", ""]);
    await expect(workspace.undo()).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

it("what an action changes after it was undone is reported at its end, and can be undone", async () => {
  await using project = new Project();
  const workspace = await started(project);
  const action = await workspace.snapshotAction({ ...REQUEST, session: "s", turn: "t1" });
  project.write("f", "in its turn\n");
  // A new turn begins, so the action counts as abandoned.
  await workspace.action({ type: "write_file", payload: { path: "g" }, session: "s", turn: "t2" }, () => undefined);
  const id = action?.id ?? "";
  await workspace.undo();
  expect(project.read("f")).toBe("before\n");
  project.write("f", "late\n");
  const ended = await workspace.finishAction(id);
  expect(ended.changes.map(({ path }) => path)).toEqual(["f"]);
  await workspace.undo({ action: id });
  expect(project.read("f")).toBe("before\n");
});

it("what an action does after its run has ended is an operation of its own", async () => {
  await using project = new Project();
  const workspace = await started(project);
  const go = join(project.base, "go");
  const wait = `const fs = require("fs"); const t = setInterval(() => fs.existsSync(${JSON.stringify(go)}) && clearInterval(t), 20)`;
  const running = workspace.run({ command: [process.execPath, "-e", wait] });
  const other = await project.open();
  await vi.waitFor(async () => expect(await other.sessions()).toHaveLength(1));
  const action = await other.snapshotAction(REQUEST);
  project.write("f", "in it\n");
  project.write("other", "in it\n");
  writeFileSync(go, "");
  await running;
  project.write("f", "after it\n");
  await other.finishAction(action?.id ?? "");
  expect((await workspace.operations()).map((one) => [one.kind, one.changed])).toEqual([
    ["run", 2],
    ["action", 1],
  ]);
  await workspace.undo();
  expect(read(project)).toEqual(["in it", "in it"]);
  await workspace.undo();
  expect(read(project)).toEqual(["before", ""]);
});

describe("the undo of a transaction while an action that was begun in it is still open", () => {
  it("undoes what the action did in the transaction: the action's end reports only what it did later", async () => {
    await using project = new Project();
    const workspace = await started(project);
    const { id: transaction } = await workspace.beginTransaction();
    const action = await workspace.snapshotAction(COMMAND);
    project.write("f", "in it\n");
    await workspace.commitTransaction(transaction);
    await workspace.undo();
    expect(project.read("f")).toBe("before\n");
    project.write("other", "after it\n");
    const ended = await workspace.finishAction(action?.id ?? "");
    expect(ended.changes.map(({ path }) => path)).toEqual(["other"]);
  });

  it("leaves what the action did between the commit and the undo, and that can be undone on its own", async () => {
    await using project = new Project();
    const workspace = await started(project);
    const { id: transaction } = await workspace.beginTransaction();
    const action = await workspace.snapshotAction(COMMAND);
    project.write("f", "in it\n");
    await workspace.commitTransaction(transaction);
    project.write("other", "after it\n");
    // What is there now is recorded before the undo.
    await workspace.undo({ operation: transaction });
    expect(read(project)).toEqual(["before", "after it"]);
    const id = action?.id ?? "";
    const ended = await workspace.finishAction(id);
    expect(ended.changes.map(({ path }) => path)).toEqual(["other"]);
    await workspace.undo();
    expect(read(project)).toEqual(["before", ""]);
    expect((await workspace.operations()).find((one) => one.id === id)?.undone).toBe(true);
  });
});

it("a session counts what its action did in a transaction, and its later changes although they were undone", async () => {
  await using project = new Project();
  const workspace = await started(project);
  const { id: transaction } = await workspace.beginTransaction();
  const action = await workspace.snapshotAction({ ...COMMAND, session: "s" });
  project.write("f", "in it\n");
  await workspace.commitTransaction(transaction);
  project.write("other", "after it\n");
  await workspace.finishAction(action?.id ?? "");
  await workspace.undo();
  expect(read(project)).toEqual(["in it", ""]);
  const ended = await workspace.endSession("s");
  expect(ended.changed).toBe(2);
});
