import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ClockedProject } from "../../../test/helpers/clocked-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

/**
 * The remembered states of the disk (`stat.cache`) are kept with the last event that the worktree knew. Tests that
 * later changes are found, whichever process closes the workspace last.
 */

async function paths(workspace: WorkspaceApi): Promise<string[]> {
  return Object.keys((await workspace.manifest("latest")).files);
}

test("deletions are found even if the remembered states were lost, and the next process did not scan the disk", async () => {
  await using project = new Project();
  project.write("kept", "1");
  project.write("gone/x", "2");
  const first = await project.init();
  await first.close();
  rmSync(join(project.home, "workspaces", first.id, "stat.cache"));
  const second = await project.open();
  await second.records.upsert("r", { value: 1 });
  await second.close();
  project.remove("gone");
  const third = await project.open();
  expect((await third.status()).changes.map((change) => change.path)).toEqual(["gone", "gone/x"]);
  await third.snapshot();
  expect(await paths(third)).toEqual(["kept"]);
  await third.restore("0");
  expect(project.read("gone/x")).toBe("2");
});

test("a deletion is found even if a process that did not know the file closed last", async () => {
  await using project = new Project();
  project.write("kept", "1");
  const early = await project.init();
  const late = await project.open();
  project.write("b", "recorded by the other");
  await late.snapshot();
  await late.close();
  await early.close();
  project.remove("b");
  const next = await project.open();
  await next.snapshot();
  expect(await paths(next)).toEqual(["kept"]);
});

test("a change is found even if a process that scanned before another log was accepted closed last", async () => {
  // By the clock of this project, no file is read so soon after it was written that it must be read again.
  await using project = new ClockedProject();
  project.write("a", "1");
  const first = await project.init();
  await first.close();
  const log = join(project.base, "store/workspaces", first.id, "events.wal");
  copyFileSync(log, `${log}.old`);
  const early = await project.open();
  project.write("a", "2");
  await early.snapshot();
  const { seq } = await early.head();
  renameSync(`${log}.old`, log);
  const late = await project.open();
  expect(await late.acceptHead()).toMatchObject({ accepted: true });
  for (let n = 0; (await late.head()).seq <= seq; n += 1) await late.records.upsert(`r${n}`, { value: n });
  await late.close();
  await early.close();
  const next = await project.open();
  expect((await next.status()).changes).toMatchObject([{ path: "a", change_type: "modified" }]);
});
