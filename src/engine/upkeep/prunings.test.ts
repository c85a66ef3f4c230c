import { expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

it("prunings are listed with who asked for them and until when they can be brought back", async () => {
  await using project = new Project();
  project.write("a.txt", "0");
  const store = await project.store({ retention: { min_age_hours: 0 } });
  const { workspace } = await store.init({ roots: [project.folder] });
  for (const text of ["1", "2", "3"]) {
    project.write("a.txt", text);
    await workspace.snapshot();
  }
  expect(await workspace.prunings()).toEqual([]);
  const look = await workspace.prune({ keepLast: 1, dryRun: true });
  expect(look).toMatchObject({ pruned_snapshots: [1, 2], id: null, until: null });
  const done = await workspace.prune({ keepLast: 1 });
  const id = `${workspace.id}.pruning-${done.event}`;
  expect(done).toMatchObject({ id, pruned_snapshots: [1, 2] });
  const [only, ...others] = await workspace.prunings();
  expect(others).toEqual([]);
  expect(only).toMatchObject({
    ...{ id, event: done.event, actor: "human", cause: "asked", actions: 0, snapshots: 2 },
    ...{ can_be_brought_back: true, floor_seq: done.floor_seq },
  });
  expect(Math.abs(Date.parse(only?.until ?? "") - Date.parse(done.until ?? ""))).toBeLessThan(60_000);
});
