import { renameSync } from "node:fs";
import { expect, test } from "vitest";
import { Project } from "../helpers/project.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";

/** Two handles have one workspace open. Each knows what the other has just recorded. */

async function two(project: Project): Promise<readonly [WorkspaceApi, WorkspaceApi]> {
  project.write("a", "1\n2\n3\n");
  return [await project.init(), await project.open()];
}

const of = { session: "s", turn: "t", toolCall: "call" };

async function written(project: Project, workspace: WorkspaceApi, content: string): Promise<string> {
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a" }, ...of });
  project.write("a", content);
  await workspace.finishAction(action?.id ?? "");
  return action?.id ?? "";
}

test("an action that one handle has begun can be finished by the other", async () => {
  await using project = new Project();
  const [one, other] = await two(project);
  const action = await one.snapshotAction({ type: "write_file", payload: { path: "a" } });
  project.write("a", "2");
  const end = await other.finishAction(action?.id ?? "");
  expect([end.action.state, end.changes.length]).toEqual(["done", 1]);
  expect((await one.finishAction(action?.id ?? "")).action.state).toBe("done");
});

test.each([
  ["rollback", (workspace: WorkspaceApi, id: string) => workspace.rollback(id)],
  ["undo of an action", (workspace: WorkspaceApi, id: string) => workspace.undo({ action: id })],
  ["undo of a call", (workspace: WorkspaceApi) => workspace.undo({ action: "call" })],
  ["undo of a turn", (workspace: WorkspaceApi) => workspace.undo({ turn: "t" })],
  ["undo of the last turn", (workspace: WorkspaceApi) => workspace.undo({ turn: "last" })],
  ["undo of a session", (workspace: WorkspaceApi) => workspace.undo({ session: "s" })],
  ["undo", (workspace: WorkspaceApi) => workspace.undo()],
  ["undo of a file", (workspace: WorkspaceApi) => workspace.undo({ file: "a" })],
] as const)("%s works on what the other handle has done", async (name, back) => {
  await using project = new Project();
  const [one, other] = await two(project);
  const id = await written(project, one, "X\n2\n3\n");
  await back(other, id);
  expect(project.read("a")).toBe("1\n2\n3\n");
  await (name === "rollback" ? one.undo() : one.redo());
  expect(project.read("a")).toBe("X\n2\n3\n");
});

test("pins, conflicts and transactions of one handle are known to the other", async () => {
  await using project = new Project();
  const [one, other] = await two(project);
  const id = await written(project, one, "X\n2\n3\n");
  await other.pin(id);
  expect((await one.showAction(id)).pinned).toBe(true);
  await written(project, one, "Y\n2\n3\n");
  await one.undo({ action: id });
  await other.resolve("a", { keep: "undo" });
  expect(project.read("a")).toBe("1\n2\n3\n");
  const { id: transaction } = await one.beginTransaction();
  project.write("b", "in it");
  await other.rollbackTransaction(transaction);
  expect(Object.keys(project.tree())).toEqual(["a"]);
  const next = await other.beginTransaction();
  const within = await one.snapshotAction({ type: "write_file", payload: { path: "a" }, transaction: next.id });
  expect(within?.transaction_id).toBe(next.id);
});

test("files that one handle has recorded as gone, and that are back, are recorded by the other", async () => {
  await using project = new Project();
  project.write("d/x", "same\n");
  project.write("kept/y", "same\n");
  const [one, other] = await two(project);
  await one.snapshot();
  await other.snapshot();
  project.remove("d");
  renameSync(project.at("kept"), project.at("away"));
  await one.snapshot();
  // A new folder of the same name, and a folder that comes back with a file in it that nobody touched.
  project.write("d/z", "new\n");
  renameSync(project.at("away"), project.at("kept"));
  await other.snapshot();
  expect(Object.keys((await other.manifest("latest")).files)).toEqual(["a", "d", "d/z", "kept", "kept/y"]);
  expect((await other.status()).changes).toEqual([]);
});

test("a diff with the present includes a change that the other handle records meanwhile", async () => {
  await using project = new Project();
  const [one, other] = await two(project);
  project.write("large", new Uint8Array(64 * 1024 * 1024));
  for (const [from, to] of [
    ["baseline", "now"],
    ["now", "baseline"],
  ] as const) {
    project.write("a", `from ${from}`);
    const looking = one.diff(from, to);
    const before = (await other.log({})).at(-1)?.seq ?? 0;
    const action = await other.snapshotAction({ type: "write_file", payload: { path: "a" } });
    const found = await looking;
    expect(found.changes.map(({ path }) => path)).toEqual(["a", "large"]);
    // The action had recorded the change before the diff had read the large file.
    expect(to === "now" ? found.to_seq : found.from_seq).toBeGreaterThan(before);
    await other.finishAction(action?.id ?? "");
  }
});
