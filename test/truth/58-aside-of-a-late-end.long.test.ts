import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ClockedProject } from "../helpers/clocked-project.ts";

/**
 * Files that were kept aside for an action stay kept while the action may still end. Its late end compares with them.
 */

const HOUR = 60;
const SESSION = { session: "s", turn: "t1" };

async function swept() {
  const project = new ClockedProject();
  project.write(".gitignore", "*.env\n");
  project.write(".git/HEAD", "ref: refs/heads/main\n");
  project.write("local.env", "KEY=1");
  project.write("other.env", "KEY=2");
  project.write("a.txt", "a");
  const workspace = await project.init();
  const request = { type: "run_command", payload: { command: "git clean -fdx" }, ...SESSION };
  const { id = "" } = (await workspace.snapshotAction(request)) ?? {};
  const remove = (path: string): void => rmSync(join(project.folder, path), { recursive: true });
  const isThere = (path: string): boolean => existsSync(join(project.folder, path));
  return { project, workspace, id, remove, isThere };
}

const LOCAL = { path: "local.env", change_type: "deleted", kept: true, lost: false };
const OTHER = { ...LOCAL, path: "other.env" };

test.each(["done", "failed"] as const)(
  "a call that was taken for denied and then %s has its removed file brought back by undo",
  async (outcome) => {
    const { project, workspace, id, remove } = await swept();
    await using _ = project;
    await workspace.finishAction(id, { outcome: "denied" });
    remove("local.env");
    project.pass(HOUR);
    await workspace.gc();
    const { action } = await workspace.finishAction(id, { outcome });
    expect(action.omitted_changes).toMatchObject([LOCAL]);
    project.pass(25 * HOUR);
    await workspace.gc();
    expect((await workspace.undo()).operation).toMatchObject({ id });
    expect([project.read("local.env"), project.read("other.env")]).toEqual(["KEY=1", "KEY=2"]);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  },
);

test("an abandoned call that ends after all has the files brought back that it removed before and after", async () => {
  const { project, workspace, id, remove, isThere } = await swept();
  await using _ = project;
  remove("local.env");
  await workspace.abandonActions(SESSION);
  expect((await workspace.showAction(id)).omitted_changes).toMatchObject([LOCAL]);
  project.pass(25 * HOUR);
  await workspace.gc();
  remove("other.env");
  const { action } = await workspace.finishAction(id);
  expect(action.omitted_changes).toMatchObject([LOCAL, OTHER]);
  await workspace.gc();
  await workspace.undo();
  expect([project.read("local.env"), project.read("other.env")]).toEqual(["KEY=1", "KEY=2"]);
  await workspace.redo();
  expect([isThere("local.env"), isThere("other.env")]).toEqual([false, false]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});

test.each([
  [
    "a new turn",
    (on: Awaited<ReturnType<typeof swept>>) =>
      on.workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, ...SESSION, turn: "t2" }),
  ],
  ["the end of its session", (on: Awaited<ReturnType<typeof swept>>) => on.workspace.endSession("s")],
  ["a stop", (on: Awaited<ReturnType<typeof swept>>) => on.workspace.abandonActions(SESSION)],
])("a call that was abandoned by %s before it removed a file has the file brought back", async (_why, abandon) => {
  const on = await swept();
  const { project, workspace, id, remove } = on;
  await using _ = project;
  await abandon(on);
  expect((await workspace.showAction(id)).state).toBe("abandoned");
  remove("local.env");
  await workspace.gc();
  const { action } = await workspace.finishAction(id);
  expect(action.omitted_changes).toMatchObject([LOCAL]);
  await workspace.undo({ action: id });
  expect(project.read("local.env")).toBe("KEY=1");
});

test("an abandoned call that ends as denied has its removed file brought back", async () => {
  const { project, workspace, id, remove } = await swept();
  await using _ = project;
  remove("local.env");
  await workspace.abandonActions(SESSION);
  const { action } = await workspace.finishAction(id, { outcome: "denied" });
  expect(action.omitted_changes).toMatchObject([LOCAL]);
  await workspace.gc();
  await workspace.undo({ action: id });
  expect(project.read("local.env")).toBe("KEY=1");
});

test("an undo of an abandoned call leaves files that the call has not changed, and does not mention them", async () => {
  const { project, workspace, id, remove } = await swept();
  await using _ = project;
  remove("local.env");
  await workspace.abandonActions(SESSION);
  project.write("other.env", "KEY=3, by hand");
  const { skipped, notes } = await workspace.undo({ action: id });
  expect([skipped, notes.join()]).toEqual([[], expect.not.stringContaining("other.env")]);
  expect([project.read("local.env"), project.read("other.env")]).toEqual(["KEY=1", "KEY=3, by hand"]);
});

test("a `.git` that an abandoned call removes late comes back", async () => {
  const { project, workspace, remove, isThere } = await swept();
  await using _ = project;
  const request = { type: "run_command", payload: { command: "rm -rf .git" }, ...SESSION };
  const { id = "" } = (await workspace.snapshotAction(request)) ?? {};
  await workspace.abandonActions(SESSION);
  await workspace.gc();
  remove(".git");
  await workspace.finishAction(id);
  await workspace.undo({ action: id });
  expect(isThere(".git") && project.read(".git/HEAD")).toBe("ref: refs/heads/main\n");
});

test("a call that ends after its kept files may have been freed leaves a sound history", async () => {
  const { project, workspace, id, remove } = await swept();
  await using _ = project;
  await workspace.finishAction(id, { outcome: "denied" });
  project.pass(8 * 24 * HOUR);
  await workspace.gc();
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  remove("local.env");
  await workspace.finishAction(id);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a removal by an abandoned call is still reported if the call ends after its kept files were freed", async () => {
  const { project, workspace, id, remove } = await swept();
  await using _ = project;
  remove("local.env");
  await workspace.abandonActions(SESSION);
  project.pass(8 * 24 * HOUR);
  await workspace.gc();
  expect((await workspace.finishAction(id)).action.omitted_changes).toMatchObject([LOCAL]);
  expect((await workspace.undo({ action: id })).skipped).toMatchObject([{ path: "local.env" }]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});

test("an erase of a path also erases what is kept of it for a call that may still end", async () => {
  const { project, workspace, id, remove, isThere } = await swept();
  await using _ = project;
  await workspace.abandonActions(SESSION);
  await workspace.erase({ what: "local.env" });
  remove("local.env");
  await workspace.finishAction(id);
  await workspace.undo({ action: id });
  expect(isThere("local.env")).toBe(false);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});
