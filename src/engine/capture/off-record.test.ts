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

test("an end that cannot be noted is noted later, and says so: recording goes on then", async () => {
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

test("why the work failed is not lost, where its end cannot be noted either", async () => {
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

test("another process notes the end, where the folder was not there to be looked at", async () => {
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
