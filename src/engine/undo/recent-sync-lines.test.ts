import { describe, expect, it } from "vitest";
import { ORIGIN, ReplicaRig } from "../../testing/replica-rig.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { compact } from "../upkeep/compact.ts";
import { prune } from "../upkeep/prune.ts";
import { recentWork } from "./recent.ts";
import { restore } from "./restore.ts";
import { takeSnapshot } from "../read/snapshot.ts";

describe("a line of recent work for what a sync brought", () => {
  it("at a replica: steps in a row are one line, unless something was done in between", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    await replica.apply({ applied: 1, changes: [await replica.change("b", await replica.file("b", "2"))] });
    const both = [await replica.change("a", undefined), await replica.change("c", await replica.file("c", "3"))];
    await replica.apply({ applied: 2, changes: both });
    // A step that brings nothing has no line.
    await replica.apply({ applied: 3, changes: [] });
    await takeSnapshot(replica.context, { name: "mine" });
    await replica.apply({ applied: 4, changes: [await replica.change("d", await replica.file("d", "4"))] });
    const { items } = await recentWork(replica.context);
    expect(items.map(({ kind, changed }) => [kind, changed])).toEqual([
      ["sync", 1],
      ["snapshot", 0],
      ["sync", 3],
      ["baseline", 1],
    ]);
    expect(items[0]?.back).toMatch(/^chronicle restore seq:\d+$/);
    // There is no way back to before the folder was filled. A restore would leave the files that filled it, and would
    // remove only the person's own edits.
    expect(items[2]).toMatchObject({ id: ORIGIN, back: "" });
    expect(items[2]?.summary).toMatch(/^from /);
    expect((await recentWork(replica.context, 1)).items).toEqual(items.slice(0, 1));
  });

  it("at a replica: an edit in between ends the line, and the way back to before the next line keeps the edit", async () => {
    await using replica = await ReplicaRig.open();
    const bring = async (applied: number, path: string): Promise<void> => {
      const upstream = { seq: applied, iteration: 1 };
      await replica.apply({
        applied,
        changes: [await replica.change(path, await replica.file(path, "1"), { upstream })],
      });
    };
    await bring(3, "a");
    await bring(4, "b");
    await replica.edit("mine", "mine");
    await bring(5, "c");
    await bring(6, "d");
    const { items } = await recentWork(replica.context);
    expect(items.map(({ kind, changed }) => [kind, changed])).toEqual([
      ["sync", 2],
      ["watch", 1],
      ["sync", 2],
      ["baseline", 0],
    ]);
    await restore(replica.context, /restore (.*)/.exec(items[0]?.back ?? "")?.[1] ?? "");
    expect(replica.files()).toEqual({ a: "1", b: "1", mine: "mine" });
  });

  it("has no way back to a state that was pruned", async () => {
    await using origin = await WriteBackRig.create({});
    for (const [i, path] of ["a", "b", "c"].entries()) {
      await origin.accept([await origin.entry(i + 1, path, "1")]);
      await takeSnapshot(origin.context, {});
    }
    const backs = async (): Promise<boolean[]> => {
      const { items } = await recentWork(origin.context);
      return items.filter(({ kind }) => kind === "sync").map(({ back }) => back !== "");
    };
    expect(await backs()).toEqual([true, true, true]);
    await prune(origin.context, { keepLast: 1, now: true });
    expect(await backs()).toEqual([false, false, false]);
  });

  it("at an origin: somebody's edit in the folder between two answers ends the line", async () => {
    await using origin = await WriteBackRig.create({});
    await origin.accept([await origin.entry(1, "a", "1")]);
    await origin.write("mine", "mine");
    await origin.accept([await origin.entry(2, "b", "2")]);
    const { items } = await recentWork(origin.context);
    expect(items.filter(({ kind }) => kind === "sync").map(({ changed }) => changed)).toEqual([1, 1]);
  });

  it("at an origin: entries that came before a compaction, and are sent again, are not counted again", async () => {
    await using origin = await WriteBackRig.create({});
    const first = await origin.entry(1, "a", "1");
    await origin.accept([first]);
    await compact(origin.context, { dropArchive: true });
    const { seq } = await origin.context.index.head();
    await origin.accept([first, await origin.entry(2, "b", "2")]);
    const [line] = (await recentWork(origin.context)).items;
    expect(line).toMatchObject({ kind: "sync", changed: 1 });
    expect(Number(/^chronicle restore seq:(\d+)$/.exec(line?.back ?? "")?.[1])).toBeGreaterThanOrEqual(seq);
  });

  it.each([
    ["without a folder", undefined],
    ["with a folder", {}],
  ])("at an origin %s: the writes of a replica are one line", async (_, files) => {
    await using origin = await WriteBackRig.create(files);
    const a = await origin.write("a", "one");
    const head = (await origin.context.index.head()).seq;
    await origin.accept([await origin.entry(1, "a", "two", { seen: a }), await origin.entry(2, "d/b", "new")]);
    // Entries that change nothing, and entries that were refused, bring nothing.
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
