import { describe, expect, it } from "vitest";
import { ORIGIN, ReplicaRig } from "../../testing/replica-rig.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { recentWork } from "../recent.ts";
import { takeSnapshot } from "../snapshot.ts";

describe("recent work has a line for what a sync brought", () => {
  it("at a replica: what came in a row is one, unless something was done in between", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    const before = await replica.head();
    await replica.apply({ applied: 1, changes: [await replica.change("b", await replica.file("b", "2"))] });
    const both = [await replica.change("a", undefined), await replica.change("c", await replica.file("c", "3"))];
    await replica.apply({ applied: 2, changes: both });
    // A step that brings nothing is none.
    await replica.apply({ applied: 3, changes: [] });
    await takeSnapshot(replica.context, { name: "mine" });
    await replica.apply({ applied: 4, changes: [await replica.change("d", await replica.file("d", "4"))] });
    const { items } = await recentWork(replica.context);
    expect(items.map(({ kind, changed }) => [kind, changed])).toEqual([
      ["sync", 1],
      ["snapshot", 3],
      ["sync", 3],
      ["baseline", 1],
    ]);
    expect(items[2]).toMatchObject({ id: ORIGIN, back: `chronicle restore seq:${before}` });
    expect(items[2]?.summary).toMatch(/^from /);
    expect((await recentWork(replica.context, 1)).items).toEqual(items.slice(0, 1));
  });

  it.each([
    ["without a folder", undefined],
    ["with a folder", {}],
  ])("at an origin %s: what a replica wrote", async (_, files) => {
    await using origin = await WriteBackRig.create(files);
    const a = await origin.write("a", "one");
    const head = (await origin.context.index.head()).seq;
    await origin.accept([await origin.entry(1, "a", "two", { seen: a }), await origin.entry(2, "d/b", "new")]);
    // What is so already, and what was not taken, brought nothing.
    await origin.accept([await origin.entry(3, "d/b", "new"), await origin.entry(4, "a", "late")]);
    const { items } = await recentWork(origin.context);
    expect(items.filter(({ kind }) => kind === "sync")).toEqual([
      expect.objectContaining({ id: "r1", summary: "from the replica r1", changed: 2 }),
    ]);
    const [first] = items;
    expect(first?.kind).toBe("sync");
    expect(Number(/seq:(\d+)$/.exec(first?.back ?? "")?.[1])).toBeGreaterThanOrEqual(head);
  });
});
