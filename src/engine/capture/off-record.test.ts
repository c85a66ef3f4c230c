import { renameSync } from "node:fs";
import { expect, test } from "vitest";
import { HeldLock } from "../../../test/helpers/held-lock.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

async function opened(project: Project): Promise<WorkspaceApi> {
  project.write("a.txt", "1\n");
  await (await project.init()).close();
  return (await project.store({ waitMs: 50 })).open({ folder: project.folder });
}

/** Expects that later changes are recorded, and nothing of the work is. */
async function expectOver(project: Project, workspace: WorkspaceApi): Promise<void> {
  await workspace.snapshot();
  project.write("later.txt", "mine\n");
  await workspace.snapshot();
  expect((await workspace.diff("0", "latest")).changes.map(({ path }) => path)).toEqual(["later.txt"]);
  expect((await workspace.status()).notes.join("\n")).not.toContain("going on");
}

test("an end that cannot be noted is reported and noted later, and then recording continues", async () => {
  await using project = new Project();
  await using workspace = await opened(project);
  let lock: HeldLock | undefined;
  const failed = workspace.offRecord(async () => {
    project.write("secret.txt", "x\n");
    lock = await HeldLock.take(project.home);
  });
  await expect(failed).rejects.toMatchObject({ code: "LOCKED", message: expect.stringContaining("off the record") });
  await lock?.release();
  await expectOver(project, workspace);
});

test("the error of the work is not lost if the end of the work cannot be noted either", async () => {
  await using project = new Project();
  await using workspace = await opened(project);
  let lock: HeldLock | undefined;
  const failed = workspace.offRecord(async () => {
    project.write("secret.txt", "x\n");
    lock = await HeldLock.take(project.home);
    throw new Error("mine");
  });
  await expect(failed).rejects.toThrow(/^mine$/);
  await lock?.release();
  await expectOver(project, workspace);
});

test("another process notes the end if the folder was missing at the end", async () => {
  await using project = new Project();
  await using workspace = await opened(project);
  await using other = await project.open();
  const away = `${project.folder}-away`;
  const failed = workspace.offRecord(() => {
    project.write("secret.txt", "x\n");
    renameSync(project.folder, away);
  });
  await expect(failed).rejects.toMatchObject({ message: expect.stringContaining("off the record") });
  renameSync(away, project.folder);
  await expectOver(project, other);
});

test.each([
  ["before the work", "ends"],
  ["before the work", "is found to be over"],
  ["meanwhile", "ends"],
  ["meanwhile", "is found to be over"],
])("the declared path of an action that was begun %s is recorded if the work %s", async (when, how) => {
  await using project = new Project();
  await using workspace = await opened(project);
  const away = `${project.folder}-away`;
  const begin = async (): Promise<string> =>
    (await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" } }))?.id ?? "";
  let id = when === "meanwhile" ? "" : await begin();
  const work = workspace.offRecord(async () => {
    project.write("secret.txt", "x\n");
    if (when === "meanwhile") id = await begin();
    project.write("a.txt", "2\n");
    if (how !== "ends") renameSync(project.folder, away);
  });
  await work.catch(() => renameSync(away, project.folder));
  const { changes } = await workspace.finishAction(id);
  expect(changes.map(({ path }) => path)).toEqual(["a.txt"]);
  expect(await workspace.history("a.txt")).toHaveLength(2);
  await expect(workspace.history("secret.txt")).rejects.toMatchObject({ code: "NOT_FOUND" });
  // The state before an action that was begun meanwhile may be off the record. Therefore no undo restores it.
  const { skipped } = await workspace.rollback(id);
  expect(skipped.map(({ reason }) => reason)).toEqual(when === "meanwhile" ? ["unseen"] : []);
  expect(project.read("a.txt")).toBe(when === "meanwhile" ? "2\n" : "1\n");
  expect(project.read("secret.txt")).toBe("x\n");
});

test("an action that is begun after the work does not record the work's change, even if it declares the path", async () => {
  await using project = new Project();
  await using workspace = await opened(project);
  const away = `${project.folder}-away`;
  const work = workspace.offRecord(() => {
    project.write("a.txt", "secret\n");
    renameSync(project.folder, away);
  });
  await work.catch(() => renameSync(away, project.folder));
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" } });
  await workspace.finishAction(action?.id ?? "");
  await workspace.snapshot();
  expect(await workspace.history("a.txt")).toHaveLength(1);
});
