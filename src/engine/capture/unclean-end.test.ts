import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ClockedProject } from "../../../test/helpers/clocked-project.ts";
import { storeBackends } from "../../../test/helpers/store-parts.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { openContext } from "../../compose/open-context.ts";
import { openParts } from "../../compose/open-parts.ts";
import { storeTasks } from "../../compose/store-tasks.ts";
import { surroundings } from "./unclean-end.ts";

/** Records a new file, after some minutes of the clock. */
async function record(project: ClockedProject, workspace: WorkspaceApi, path: string, minutes: number): Promise<void> {
  project.pass(minutes);
  project.write(path, path);
  await workspace.snapshot();
}

/** Returns the paths that are read again after the machine was started anew. */
async function readAgain(project: ClockedProject, { id }: WorkspaceApi): Promise<readonly string[]> {
  const places = { home: join(project.base, "store"), configFolder: join(project.base, "config"), waitMs: 5_000 };
  const note = join(places.home, "workspaces", id, "whereabouts.json");
  const noted = JSON.parse(readFileSync(note, "utf8")) as Record<string, unknown>;
  writeFileSync(note, JSON.stringify({ ...noted, boot: "00000000-0000-4000-8000-000000000000" }));
  const parts = await openParts(places, { ...storeBackends(), now: () => project.now });
  const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id) });
  const { unclean } = await surroundings(context, true);
  await close();
  await parts.blobs.close();
  return [...(unclean?.recent ?? [])];
}

test("files that were recorded within ten minutes before an unclean end are read again", async () => {
  await using project = new ClockedProject();
  const workspace = await project.init();
  for (const [path, minutes] of [
    ["a", 0],
    ["b", 20],
    ["c", 5],
    ["d", 4],
  ] as const)
    await record(project, workspace, path, minutes);
  expect(await readAgain(project, workspace)).toEqual(["b", "c", "d"]);
});

test.each([false, true])(
  "such files are read again even if they were recorded before a compaction (archive dropped: %s)",
  async (dropArchive) => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    await record(project, workspace, "a", 0);
    await record(project, workspace, "b", 20);
    await workspace.compact({ dropArchive });
    await record(project, workspace, "c", 4);
    expect(await readAgain(project, workspace)).toEqual(["b", "c"]);
    await record(project, workspace, "d", 20);
    expect(await readAgain(project, workspace)).toEqual(["d"]);
  },
);

test("files that were recorded while the clock was behind are read again", async () => {
  await using project = new ClockedProject();
  const workspace = await project.init();
  await record(project, workspace, "a", 0);
  // The machine starts without its clock, and gets the time from the network a minute later.
  await record(project, workspace, "b", -60 * 24);
  await record(project, workspace, "c", 60 * 24 + 30);
  expect(await readAgain(project, workspace)).toEqual(["b", "c"]);
});

test("files from shortly before the clock went back are read again if it was behind at the end", async () => {
  await using project = new ClockedProject();
  const workspace = await project.init();
  await record(project, workspace, "a", 0);
  await record(project, workspace, "b", 20);
  await record(project, workspace, "c", -60 * 24);
  await record(project, workspace, "d", 4);
  project.pass(60 * 24);
  expect(await readAgain(project, workspace)).toEqual(["b", "c", "d"]);
});

test("after a clock that was ahead, only files that were recorded since it was set right are considered", async () => {
  await using project = new ClockedProject();
  const workspace = await project.init();
  await record(project, workspace, "a", 0);
  await record(project, workspace, "b", 60 * 24 * 365);
  await record(project, workspace, "c", -60 * 24 * 365);
  await record(project, workspace, "d", 20);
  expect(await readAgain(project, workspace)).toEqual(["d"]);
});
