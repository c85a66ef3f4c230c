import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Progress, WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** A status records nothing, but it does not read a file again that an earlier one found to be as recorded. */

const FILES = 40;

/** The number of bytes of files that `look` reads. */
async function bytesRead(look: (onProgress: (progress: Progress) => void) => Promise<unknown>): Promise<number> {
  let most = 0;
  await look(({ phase, done }) => {
    if (phase === "capture") most = Math.max(most, done);
  });
  return most;
}

const statusOf = (workspace: WorkspaceApi): Promise<number> =>
  bytesRead((onProgress) => workspace.status({ onProgress }));

async function checkedOut(project: Project): Promise<void> {
  for (let at = 0; at < FILES; at += 1) project.write(`f${at}`, "x".repeat(1_000));
}

it("status reads files that were written right before their recording once, not each time", async () => {
  await using project = new Project();
  await checkedOut(project);
  const workspace = await project.init();
  await workspace.follow({ record: false });
  // From now on, the times of the files prove whether they have changed.
  await sleep(2_100);
  expect(await statusOf(workspace)).toBe(FILES * 1_000);
  expect(await statusOf(workspace)).toBe(0);
  project.write("f1", "other\n");
  expect(await statusOf(workspace)).toBe(6);
  // A changed file is reported again until it is recorded.
  expect((await workspace.status()).changes.map(({ path }) => path)).toEqual(["f1"]);
  expect((await workspace.snapshot()).changed).toBe(1);
  expect((await workspace.status()).changes).toEqual([]);
});

it("files that a status has read are not read again by the next process", async () => {
  await using project = new Project();
  await checkedOut(project);
  const first = await project.init();
  await sleep(2_100);
  expect(await statusOf(first)).toBe(FILES * 1_000);
  await first.close();
  expect(await statusOf(await project.open())).toBe(0);
});

it("a workspace that follows its folder records a changed file, however often status is asked for", async () => {
  await using project = new Project();
  project.write("f", "one\n");
  const workspace = await project.init();
  await workspace.follow({ record: true });
  const { seq } = await workspace.head();
  project.write("f", "two\n");
  const until = Date.now() + 10_000;
  while ((await workspace.status()).seq === seq && Date.now() < until) await sleep(5);
  expect((await workspace.history("f")).map(({ iteration }) => iteration)).toEqual([1, 2]);
});
