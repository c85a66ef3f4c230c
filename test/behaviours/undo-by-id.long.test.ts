import { describe, expect, it } from "vitest";
import type { OperationShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** Undo and redo of an operation that is named by its id, or by the id of an undo or a redo of it. */

async function worked(
  project: Project,
  workspace: WorkspaceApi,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const paths = Object.keys(files);
  const action = await workspace.snapshotAction({ type: "write_file", payload: { paths } });
  for (const [path, text] of Object.entries(files)) project.write(path, text);
  await workspace.finishAction(action?.id ?? "");
  return action?.id ?? "";
}

async function operation(workspace: WorkspaceApi, id: string): Promise<OperationShape | undefined> {
  return (await workspace.operations()).find((one) => one.id === id);
}

async function events(workspace: WorkspaceApi): Promise<number> {
  return (await workspace.head()).seq;
}

async function begun(project: Project): Promise<WorkspaceApi> {
  project.write("a", "1");
  project.write("b", "1");
  return project.init();
}

describe("redo of an operation by its id", () => {
  it("does nothing if the operation is not undone", async () => {
    await using project = new Project();
    const workspace = await begun(project);
    const id = await worked(project, workspace, { a: "2" });
    const before = await events(workspace);
    const { changes, undo_id: redone, notes } = await workspace.redo({ operation: id });
    expect([changes, redone, notes]).toEqual([[], null, ["it is not undone"]]);
    expect([project.read("a"), await events(workspace)]).toEqual(["2", before]);
  });

  it("redoes the operation once, and does nothing the second time", async () => {
    await using project = new Project();
    const workspace = await begun(project);
    const id = await worked(project, workspace, { a: "2" });
    await workspace.undo();
    await workspace.redo({ operation: id });
    const before = await events(workspace);
    await workspace.redo({ operation: id });
    expect([project.read("a"), await events(workspace)]).toEqual(["2", before]);
    await workspace.undo();
    expect(project.read("a")).toBe("1");
  });

  it("redoes the operation even after a newer one, and a plain undo then undoes it first", async () => {
    await using project = new Project();
    const workspace = await begun(project);
    const id = await worked(project, workspace, { a: "2" });
    await workspace.undo();
    await worked(project, workspace, { b: "2" });
    await workspace.redo({ operation: id });
    expect([project.read("a"), (await operation(workspace, id))?.undone]).toEqual(["2", false]);
    await workspace.undo();
    expect([project.read("a"), project.read("b")]).toEqual(["1", "2"]);
  });
});

describe.each(["undo", "redo"] as const)("%s of an undo by its id", (way) => {
  it("redoes the work that the undo took back", async () => {
    await using project = new Project();
    const workspace = await begun(project);
    await worked(project, workspace, { b: "2" });
    const id = await worked(project, workspace, { a: "2" });
    const { undo_id: undone } = await workspace.undo();
    await workspace[way]({ operation: undone ?? "" });
    expect([project.read("a"), (await operation(workspace, id))?.undone]).toEqual(["2", false]);
    const { operation: next } = await workspace.undo();
    expect([next?.id, project.read("a"), project.read("b")]).toEqual([id, "1", "2"]);
  });

  it("does nothing if the work was redone meanwhile", async () => {
    await using project = new Project();
    const workspace = await begun(project);
    await worked(project, workspace, { a: "2" });
    const { undo_id: undone } = await workspace.undo();
    await workspace.redo();
    const before = await events(workspace);
    await workspace[way]({ operation: undone ?? "" });
    expect([project.read("a"), await events(workspace)]).toEqual(["2", before]);
  });
});

it("an undo of a redo by its id undoes the work again", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  const id = await worked(project, workspace, { a: "2" });
  await workspace.undo();
  const { undo_id: redone } = await workspace.redo();
  await workspace.undo({ operation: redone ?? "" });
  expect([project.read("a"), (await operation(workspace, id))?.undone]).toEqual(["1", true]);
  await workspace.redo();
  expect(project.read("a")).toBe("2");
});

it("an undo of a forced undo brings the edit back that it removed", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  await worked(project, workspace, { a: "2" });
  project.write("a", "edited");
  const { undo_id: undone } = await workspace.undo({ force: true });
  expect(project.read("a")).toBe("1");
  await workspace.undo({ operation: undone ?? "" });
  expect(project.read("a")).toBe("edited");
});

it("a write in a transaction is undone by its id, and a plain redo redoes it", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  const { id } = await workspace.beginTransaction();
  const { undo_id: written } = await workspace.putFile("a", Buffer.from("2"));
  await workspace.commitTransaction(id);
  await workspace.undo({ operation: written ?? "" });
  expect(project.read("a")).toBe("1");
  await workspace.redo();
  expect(project.read("a")).toBe("2");
  await workspace.undo();
  expect(project.read("a")).toBe("1");
});

it("two undos of one operation, one for each path, are redone by one redo", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  const id = await worked(project, workspace, { a: "2", b: "2" });
  await workspace.undo();
  project.write("a", "2");
  await workspace.undo({ operation: id });
  expect([project.read("a"), project.read("b")]).toEqual(["1", "1"]);
  await workspace.redo();
  expect([project.read("a"), project.read("b")]).toEqual(["2", "2"]);
  await workspace.undo();
  expect([project.read("a"), project.read("b")]).toEqual(["1", "1"]);
});

it("a path that an undo has left alone is undone by a later undo of the session", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  const action = await workspace.snapshotAction({ type: "write_file", payload: { paths: ["a", "b"] }, session: "s" });
  for (const path of ["a", "b"]) project.write(path, "2");
  await workspace.finishAction(action?.id ?? "");
  project.remove("a");
  project.write("a/somebody's", "own");
  const { skipped } = await workspace.undo({ force: true });
  expect([skipped.map(({ path }) => path), project.read("b")]).toEqual([["a"], "1"]);
  await workspace.restore(`seq:${(await operation(workspace, action?.id ?? ""))?.to_seq ?? 0}`, { paths: ["a"] });
  expect(project.read("a")).toBe("2");
  await workspace.undo({ session: "s" });
  expect(project.read("a")).toBe("1");
});
