import { describe, expect, it } from "vitest";
import type { ConflictRecord, IdentifiedConflict } from "../../core/records/conflict-record.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { ORIGIN, replicaRecord, ReplicaRig } from "../../testing/replica-rig.ts";
import { snapshotAction } from "../actions/snapshot-action.ts";
import { hasWritten } from "./journal.ts";
import { processorTime } from "../../testing/processor-time.ts";

const CONFLICT = "22222222-2222-4222-8222-222222222222";

interface Sides {
  readonly path: string;
  readonly baseSeq: number;
  readonly since?: number;
  readonly base?: Entry | undefined;
}

function conflict({ path, baseSeq, since, base }: Sides, settled?: ConflictRecord["settled"]): IdentifiedConflict {
  const sync = { origin: ORIGIN, baseSeq, upstreamSeq: baseSeq + 1, ...(since === undefined ? {} : { since }) };
  const states = { path: path as never, base, current: undefined, wanted: undefined };
  const record = { ...states, reason: "content", undo: "", met: "2030-01-01T00:00:00.000Z", sync } as const;
  const state = settled === undefined ? { state: "open" as const } : { state: "settled" as const, settled };
  return { id: CONFLICT, record: { ...record, ...state } };
}

const seen = async (replica: ReplicaRig, after = 0): Promise<(string | number)[][]> =>
  (await replica.journal(after)).entries.map((one) => [one.path, one.seen]);

describe("a change in the folder is journaled", () => {
  it("from the event on with which the folder became a replica", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    await replica.edit("a", "2");
    expect(await replica.journal()).toEqual({ entries: [], upTo: await replica.head() });
    await replica.apply({});
    expect((await replica.journal()).entries).toEqual([]);
    await replica.edit("a", "3");
    await replica.edit("a", undefined);
    const [edited, deleted] = (await replica.journal()).entries;
    expect(edited).toMatchObject({ path: "a", seen: 0, actor: "human", entry: { hash: await replica.keep("3") } });
    expect(deleted).toMatchObject({ path: "a", entry: undefined, localSeq: await replica.head() });
  });

  it("as based on the origin's state of the path at the last reconciliation before the change", async () => {
    await using replica = await ReplicaRig.open({ a: "1", b: "1" });
    for (const seq of [3, 7]) replica.upstream("a", await replica.file("a", `${seq}`), seq);
    await replica.apply({ applied: 5 });
    await replica.edit("a", "2");
    await replica.edit("b", "2");
    await replica.apply({ applied: 9 });
    await replica.edit("a", "3");
    expect(await seen(replica)).toEqual([
      ["a", 3],
      ["b", 0],
      ["a", 7],
    ]);
  });

  it("as a change of its own if it is a merge, based on what it was merged with", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    replica.upstream("a", await replica.file("a", "u"), 4);
    await replica.apply({ applied: 1 });
    await replica.edit("a", "2");
    const merged = await replica.file("a", "2u");
    const change = await replica.change("a", merged, { cause: "merge" });
    const contents = merged.hash === undefined ? [] : [merged.hash];
    await replica.apply({ applied: 4, changes: [change], contents });
    const { entries } = await replica.journal();
    expect(entries.map((one) => [one.seen, one.entry?.hash])).toEqual([
      [0, await replica.keep("2")],
      [4, merged.hash],
    ]);
  });

  it("with its actor, turn and action", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    await replica.apply({ applied: 1 });
    const request = { type: "write_file", payload: { path: "a" }, turn: "t7", actor: "agent" };
    const action = await snapshotAction(replica.context, request);
    await replica.edit("a", "2");
    const { entries } = await replica.journal();
    expect(entries).toMatchObject([{ actor: "agent", turn: "t7", action: action?.id }]);
  });

  it("with the actor, turn and action of the merged edit if it is a merge", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    replica.upstream("a", await replica.file("a", "u"), 4);
    await replica.apply({ applied: 1 });
    const request = { type: "write_file", payload: { path: "a" }, turn: "t7", actor: "agent" };
    const action = await snapshotAction(replica.context, request);
    await replica.edit("a", "2");
    const merged = await replica.file("a", "2u");
    const change = await replica.change("a", merged, { cause: "merge" });
    const contents = merged.hash === undefined ? [] : [merged.hash];
    await replica.apply({ applied: 4, changes: [change], contents });
    const [, entry] = (await replica.journal()).entries;
    expect(entry).toMatchObject({ actor: "agent", turn: "t7", action: action?.id, entry: { hash: merged.hash } });
  });

  it("only if it was made after the sync was begun anew", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    await replica.apply({ applied: 1 });
    await replica.edit("a", "2");
    await replica.apply({ record: replicaRecord({ sandboxId: "anew" }) });
    await replica.edit("a", "3");
    expect((await replica.journal()).entries.map(({ entry }) => entry?.hash)).toEqual([await replica.keep("3")]);
  });

  it("in pages, and from any page on", async () => {
    await using replica = await ReplicaRig.open({ a: "0" });
    replica.upstream("a", await replica.file("a", "u"), 2);
    await replica.apply({ applied: 2 });
    for (let i = 1; i <= 5; i += 1) await replica.edit("a", `${i}`);
    await replica.apply({ applied: 3 });
    const all = (await replica.journal()).entries;
    expect(all).toHaveLength(5);
    const first = await replica.journal(0, 2);
    expect(first.entries).toEqual(all.slice(0, 2));
    expect(first.upTo).toBe(first.entries[1]?.localSeq);
    const rest = await replica.journal(first.upTo, 10);
    expect(rest).toEqual({ entries: all.slice(2), upTo: await replica.head() });
  });
});

describe("conflicts", () => {
  it("the base of an open conflict counts, and the folder's base counts again once the conflict is settled", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    for (const seq of [2, 6]) replica.upstream("a", await replica.file("a", `${seq}`), seq);
    await replica.apply({ applied: 6, conflicts: [conflict({ path: "a", baseSeq: 2 })] });
    await replica.edit("a", "2");
    const between = await replica.head();
    await replica.apply({ applied: 6, conflicts: [conflict({ path: "a", baseSeq: 2 }, "current")] });
    await replica.edit("a", "3");
    const both = [
      ["a", 2],
      ["a", 6],
    ];
    expect(await seen(replica)).toEqual(both);
    expect(await seen(replica, between - 1)).toEqual(both);
    expect(await seen(replica, between)).toEqual(both.slice(1));
  });

  it("beneath a conflict about a folder, the state before the conflict counts as the base", async () => {
    await using replica = await ReplicaRig.open({ "d/a": "1" });
    for (const seq of [2, 6]) replica.upstream("d/a", await replica.file("d/a", `${seq}`), seq);
    await replica.apply({ applied: 6, conflicts: [conflict({ path: "d", baseSeq: 1, since: 3 })] });
    await replica.edit("d/a", "2");
    expect(await seen(replica)).toEqual([["d/a", 2]]);
  });

  it("the folder's side, if it is kept, is proposed as a change of the origin's state, with its actor", async () => {
    await using replica = await ReplicaRig.open({ a: "1" });
    for (const seq of [2, 6]) replica.upstream("a", await replica.file("a", `${seq}`), seq);
    await replica.apply({ applied: 2 });
    await replica.edit("a", "mine");
    await replica.apply({ applied: 6, conflicts: [conflict({ path: "a", baseSeq: 2 })] });
    const at = await replica.head();
    const settled = conflict({ path: "a", baseSeq: 2 }, "current");
    await replica.apply({ applied: 6, conflicts: [settled], proposals: ["a" as never] });
    const { entries } = await replica.journal(at);
    expect(entries).toMatchObject([
      { path: "a", seen: 6, actor: "human", entry: { hash: await replica.keep("mine") } },
    ]);
  });

  it("a proposal may be a file that was there from the beginning, or a deletion", async () => {
    await using replica = await ReplicaRig.open({ a: "1", b: "1" });
    await replica.apply({ applied: 1 });
    await replica.edit("b", undefined);
    const at = await replica.head();
    await replica.apply({ applied: 1, proposals: ["a" as never, "b" as never] });
    const { entries } = await replica.journal(at);
    expect(entries.map((one) => [one.path, one.entry?.hash])).toEqual([
      ["a", await replica.keep("1")],
      ["b", undefined],
    ]);
  });
});

it("hasWritten tells whether the replica's event with a seq wrote a path", async () => {
  await using replica = await ReplicaRig.open({ a: "1" });
  await replica.apply({ applied: 1 });
  await replica.edit("b", "2");
  const { entries } = await replica.journal();
  const seq = entries.find(({ path }) => path === "b")?.localSeq ?? 0;
  const has = (at: number, path: string): Promise<boolean> => hasWritten(replica.context, at, path as WorkspacePath);
  expect(seq).toBeGreaterThan(1);
  expect(await has(seq, "b")).toBe(true);
  expect(await has(seq, "a")).toBe(false);
  expect(await has(1, "b")).toBe(false);
  expect(await has((await replica.head()) + 1, "b")).toBe(false);
});

it("the journal is read quickly if nothing is new, however many events are before", async () => {
  await using replica = await ReplicaRig.open();
  const changes = [];
  for (let i = 0; i < 3_000; i += 1) changes.push(await replica.change(`f${i}`, replica.folder(`f${i}`)));
  await replica.apply({ applied: 1, changes });
  const { upTo, entries } = await replica.journal();
  expect([upTo, entries]).toEqual([await replica.head(), []]);
  const spent = processorTime();
  for (let i = 0; i < 1_000; i += 1) await replica.journal(upTo);
  expect(spent()).toBeLessThan(200);
});
