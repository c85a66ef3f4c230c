import { expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

async function unrecorded(workspace: WorkspaceApi): Promise<number | undefined> {
  return (await workspace.recent(1, { unrecorded: true })).unrecorded;
}

it("the list says how many paths are not recorded yet, without recording them", async () => {
  await using project = new Project();
  project.write("a", "1");
  const workspace = await project.init();
  expect(await unrecorded(workspace)).toBe(0);
  project.write("a", "2");
  project.write("new/b", "3");
  expect((await workspace.recent(1)).unrecorded).toBeUndefined();
  expect([await unrecorded(workspace), await unrecorded(workspace)]).toEqual([2, 2]);
  await workspace.snapshot();
  expect(await unrecorded(workspace)).toBe(0);
});

it("it says nothing if very much would have to be read, and the next operation sees the changes all the same", async () => {
  await using project = new Project();
  const workspace = await project.init();
  project.write("large", Buffer.alloc(17 * 1024 ** 2));
  expect(await unrecorded(workspace)).toBeUndefined();
  expect((await workspace.status()).changes.map(({ path }) => path)).toEqual(["large"]);
});

it("it says nothing where everything is recorded as it is made", async () => {
  await using project = new HostedProject();
  expect(await unrecorded(await project.create())).toBeUndefined();
});
