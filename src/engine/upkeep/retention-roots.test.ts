import { existsSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

async function write(project: Project, workspace: WorkspaceApi, text: string): Promise<void> {
  const request = { type: "write_file", payload: { path: "a.txt" } };
  await workspace.action(request, () => project.write("a.txt", text));
}

async function beginning(workspace: WorkspaceApi): Promise<number> {
  const [first] = await workspace.log({ prefix: "session:" });
  return first?.seq ?? 0;
}

it("a pruning keeps the state at which an open run began, so that the run can be undone", async () => {
  await using project = new Project();
  project.write("a.txt", "0");
  const workspace = await project.init();
  await write(project, workspace, "before");
  const going = workspace.run({ command: ["sh", "-c", "echo b > b.txt; until test -e go; do sleep 0.05; done"] });
  await vi.waitUntil(() => existsSync(project.at("b.txt")), { timeout: 20_000 });
  // A second handle is used, because an operation of the same handle would wait for the run.
  const other = await project.open();
  const began = await beginning(other);
  for (const text of ["1", "2", "3"]) await write(project, other, text);
  const { floor_seq: floor } = await other.prune({ keepLast: 1 });
  expect(floor).toBeGreaterThan(began);
  const dryRuns = [began - 1, began].map((seq) => other.restore(`seq:${seq}`, { dryRun: true }));
  const restored = await Promise.allSettled(dryRuns);
  project.write("go", "");
  await going;
  expect(restored.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  const { items } = await workspace.recent();
  expect(items.find(({ kind }) => kind === "run")).toMatchObject({ back: "chronicle undo" });
  await workspace.undo();
  expect([existsSync(project.at("b.txt")), existsSync(project.at("go"))]).toEqual([false, false]);
  expect((await workspace.verify()).problems).toEqual([]);
  await other.close();
  await workspace.close();
});

it("a pruning keeps the state at which an open watch began, and `recent` lists the command that restores it", async () => {
  await using project = new Project();
  project.write("a.txt", "0");
  const workspace = await project.init();
  await write(project, workspace, "before");
  const recording = await workspace.watch();
  const began = await beginning(workspace);
  project.write("b.txt", "b");
  await vi.waitUntil(async () => (await workspace.log({ prefix: "file:b.txt" })).length > 0, { timeout: 20_000 });
  for (const text of ["1", "2", "3"]) await write(project, workspace, text);
  const { floor_seq: floor } = await workspace.prune({ keepLast: 1 });
  expect(floor).toBeGreaterThan(began);
  await recording.stop();
  const watch = (await workspace.recent()).items.find(({ kind }) => kind === "watch");
  expect(watch?.back).toMatch(/^chronicle restore (?:seq:\d+|[0-9a-zA-Z]{8})$/);
  await workspace.restore(watch?.back.split(" ").at(-1) ?? "");
  expect([project.read("a.txt"), existsSync(project.at("b.txt"))]).toEqual(["before", false]);
  await workspace.close();
});
