import { expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { listRefusals, recordRefusal } from "../actions/agent-view.ts";
import type { Context } from "../log/context.ts";
import { takeSnapshot } from "../read/snapshot.ts";
import { listPrunings, prune } from "./prune.ts";

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

it("each pruning is listed, and after a compaction without an archive only the last one, which cannot be brought back", async () => {
  await using project = new Project();
  const store = await project.store({ retention: { min_age_hours: 0 } });
  const { workspace } = await store.init({ roots: [project.folder] });
  const pruned: (number | null)[] = [];
  for (const text of ["1", "2", "3", "4"]) {
    project.write("a.txt", text);
    await workspace.snapshot();
    pruned.push((await workspace.prune({ keepLast: 1 })).event);
    expect((await workspace.prunings()).map(({ event }) => event)).toEqual(pruned.filter((one) => one !== null));
  }
  expect((await workspace.prunings()).map((one) => one.can_be_brought_back)).toEqual([true, true, true]);
  await workspace.compact({ dropArchive: true });
  expect(await workspace.prunings()).toMatchObject([{ event: pruned.at(-1), can_be_brought_back: false }]);
});

it("prunings and refusals that were listed before are listed again without reading the log", async () => {
  await using origin = await WriteBackRig.create({});
  for (const text of ["1", "2"]) {
    await origin.write("a", text);
    await takeSnapshot(origin.context, {});
  }
  await prune(origin.context, { keepLast: 1 });
  await recordRefusal(origin.context, "gc", []);
  let reads = 0;
  const log = new Proxy(origin.context.log, {
    get: (target, key) => {
      if (key === "read") reads += 1;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const context: Context = { ...origin.context, log };
  const lists = async (): Promise<number[]> => [
    (await listPrunings(context)).length,
    (await listRefusals(context)).length,
  ];
  expect(await lists()).toEqual([1, 1]);
  reads = 0;
  expect([await lists(), reads]).toEqual([[1, 1], 0]);
});
