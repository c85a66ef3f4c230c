import { describe, expect, it } from "vitest";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { rebuildFromLog } from "../log/catch-up.ts";
import { changesOfSelection } from "./changes-of-selection.ts";
import { lastTurnWith } from "./selection.ts";
import { workElsewhere } from "./work-elsewhere.ts";
import { undoSelection } from "./undo-selection.ts";
import { finishAction } from "../actions/finish-action.ts";
import { snapshotAction } from "../actions/snapshot-action.ts";
import { replicaSessions } from "../actions/every-session.ts";

/** Makes an origin at which an agent in a sandbox has worked in two turns, and a person beside it. */
async function withAgent(files?: Record<string, string>): Promise<WriteBackRig> {
  const origin = await WriteBackRig.create(files);
  const a = await origin.write("a", "one\n");
  const by = { actor: "claude", session: "session-1" };
  await origin.accept([
    await origin.entry(1, "a", "two\n", { seen: a, ...by, turn: "turn-1", action: "x1" }),
    await origin.entry(2, "b", "made\n", { ...by, turn: "turn-2", action: "x2" }),
    await origin.entry(3, "c", "by hand\n", { actor: "human" }),
  ]);
  await origin.write("d", "at the origin\n");
  return origin;
}

describe.each<[string, Record<string, string> | undefined]>([
  ["without a folder", undefined],
  ["with a folder", {}],
])("work in a replica, at an origin %s", (_, files) => {
  it("is undone by its session, which may be named by the beginning of its id", async () => {
    await using origin = await withAgent(files);
    const { changes, selection } = await undoSelection(origin.context, { session: "session-" });
    expect(selection).toBe("session session-1");
    expect(changes.map(({ path }) => path).sort()).toEqual(["a", "b"]);
    expect(await origin.files()).toEqual({ a: "one\n", c: "by hand\n", d: "at the origin\n" });
    await expect(undoSelection(origin.context, { session: "another" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("is listed and undone by its turn, and its last turn is the last turn of the workspace", async () => {
    await using origin = await withAgent(files);
    expect(await changesOfSelection(origin.context, {})).toMatchObject({
      selection: "turn turn-2",
      changes: [{ path: "b", change_type: "created" }],
    });
    expect((await changesOfSelection(origin.context, { turn: "turn-1" })).changes).toMatchObject([{ path: "a" }]);
    await expect(changesOfSelection(origin.context, { turn: "turn-" })).rejects.toMatchObject({ code: "AMBIGUOUS" });
    await undoSelection(origin.context, { turn: "turn-1" });
    expect(await origin.files()).toMatchObject({ a: "one\n", b: "made\n" });
  });
});

it("work in a replica is found in the index, without reading the log", async () => {
  await using origin = await withAgent();
  const { context } = origin;
  let reads = 0;
  const read = context.log.read.bind(context.log);
  Object.assign(context.log, { read: (...from: Parameters<typeof read>) => ((reads += 1), read(...from)) });
  expect((await workElsewhere(context)).map(({ session, turn, from }) => [session, turn, from])).toEqual([
    ["session-1", "turn-1", "replica"],
    ["session-1", "turn-2", "replica"],
  ]);
  expect(reads).toBe(0);
});

it("work in a replica is the same after the index was built anew, and is counted once", async () => {
  await using origin = await withAgent();
  const before = await replicaSessions(origin.context);
  expect(before).toMatchObject([{ session_id: "session-1", kind: "replica", replica: "r1", changed: 2 }]);
  await rebuildFromLog(origin.context);
  expect(await replicaSessions(origin.context)).toEqual(before);
});

it("the last turn of a replica is not one of the origin's, which are found by their ids only", async () => {
  await using replica = await ReplicaRig.open({ a: "1" });
  const by = { actor: "claude", session: "s", turn: "t" };
  const change = await replica.change("a", await replica.file("a", "2"), { by, upstream: { seq: 2, iteration: 2 } });
  await replica.apply({ applied: 2, changes: [change] });
  await expect(changesOfSelection(replica.context, {})).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await changesOfSelection(replica.context, { turn: "t" })).changes).toMatchObject([{ path: "a" }]);
  expect((await changesOfSelection(replica.context, { session: "s" })).changes).toMatchObject([{ path: "a" }]);
});

it("a replica of whose own turns nothing is left takes none of the origin's turns", async () => {
  await using replica = await ReplicaRig.open({ a: "1", b: "1" });
  const by = { actor: "claude", session: "s", turn: "t" };
  const change = await replica.change("a", await replica.file("a", "2"), { by, upstream: { seq: 2, iteration: 2 } });
  await replica.apply({ applied: 2, changes: [change] });
  const own = { type: "write", session: "own", turn: "own-turn", actor: "claude", paths: ["b"] };
  const action = await snapshotAction(replica.context, own);
  await finishAction(replica.context, action?.id ?? "");
  const seen: string[] = [];
  const last = lastTurnWith(replica.context, {}, async ({ label }) => {
    seen.push(label);
    return false;
  });
  await expect(last).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(seen).toEqual(["turn own-turn"]);
});
