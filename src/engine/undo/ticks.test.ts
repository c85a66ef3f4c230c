import { expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { TicksOptions, TicksShape } from "../../api/tick-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ORIGIN, ReplicaRig, replicaRecord } from "../../testing/replica-rig.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { ticksOf } from "./ticks.ts";

/** Returns the ticks of a piece as rows, with the columns put together again. */
function rowsOf(shape: TicksShape): string[] {
  let last = 0;
  return shape.last.map((difference, n) => {
    last += difference;
    const at = (column: readonly number[]): number => column[n] ?? Number.NaN;
    const { who } = shape.actors[at(shape.actor)] ?? {};
    const turn = shape.turns[at(shape.turn)];
    return [
      `${last - at(shape.events)}-${last}`,
      shape.kinds[at(shape.kind)],
      shape.outcomes[at(shape.outcome)],
      who,
      ...(turn === undefined ? [] : [turn]),
      at(shape.changed),
    ].join(" ");
  });
}

async function ticks(workspace: WorkspaceApi, options?: TicksOptions): Promise<string[]> {
  return rowsOf(await workspace.ticks(options));
}

/** Everything that was done, without the seqs of the events. */
async function kinds(workspace: WorkspaceApi): Promise<string[]> {
  return (await ticks(workspace)).map((row) => row.replace(/^\S+ /, ""));
}

async function act(workspace: WorkspaceApi, type: string, paths: readonly string[], work: () => void): Promise<void> {
  const payload = type === "run_command" ? { command: "make" } : { paths };
  await workspace.action({ type, payload, actor: "claude", session: "s", turn: "t1" }, work);
}

it("each piece of work is one tick: actions, edits, snapshots, operations and runs, with how they ended", async () => {
  await using project = new Project();
  project.write("a", "1\n2\n3\n");
  const workspace = await project.init();
  await act(workspace, "write_file", ["a"], () => project.write("a", "one\n2\n3\n"));
  await act(workspace, "run_command", [], () => project.write("made", "1"));
  const failing = act(workspace, "write_file", ["a"], () => {
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  project.write("b", "1");
  project.write("c", "1");
  await workspace.snapshot({ name: "here" });
  await workspace.undo();
  await workspace.putFile("d", Buffer.from("1"));
  await workspace.run({ command: ["false"] });
  const all = [
    "snapshot done person 0",
    "tool done agent t1 1",
    "command done agent t1 1",
    "tool failed agent t1 0",
    "edit done person 2",
    "snapshot done person 4",
    "undo done person 1",
    "write done person 1",
    "run failed command 0",
  ];
  expect(await kinds(workspace)).toEqual(all);
  const before = await workspace.ticks();
  await workspace.rebuild();
  expect(await workspace.ticks()).toEqual(before);
});

it("a history is read in pieces, in either direction, and a piece never has an event twice", async () => {
  await using project = new Project();
  const workspace = await project.init();
  for (const path of ["a", "b", "c", "d", "e"])
    await act(workspace, "write_file", [path], () => project.write(path, "1"));
  const whole = await ticks(workspace);
  expect(whole).toHaveLength(6);
  const forward: string[] = [];
  for (let after = 0, more = true; more;) {
    const piece = await workspace.ticks({ after, limit: 4 });
    forward.push(...rowsOf(piece));
    after = piece.last.reduce((sum, one) => sum + one, 0);
    ({ more } = piece);
  }
  expect(forward).toEqual(whole);
  const newest = await workspace.ticks({ limit: 4, reverse: true });
  expect([rowsOf(newest), newest.more]).toEqual([whole.slice(2), true]);
  const older = await workspace.ticks({ limit: 4, reverse: true, before: newest.last[0] ?? 0 });
  expect([rowsOf(older), older.more]).toEqual([whole.slice(0, 2), false]);
  expect(await ticks(workspace, { after: newest.head })).toEqual([]);
  await expect(workspace.ticks({ limit: 20_001 })).rejects.toMatchObject({ code: "USAGE" });
});

it("changes that were recorded together are read in pieces, and none of them twice", async () => {
  await using project = new Project();
  const workspace = await project.init();
  for (const path of ["a", "b", "c", "d", "e"]) project.write(path, "1");
  await workspace.snapshot();
  const first =
    (await workspace.ticks({ limit: 4, reverse: true, before: (await workspace.ticks()).head })).last[0] ?? 0;
  const edits = (await ticks(workspace)).filter((row) => row.includes(" edit "));
  expect(edits).toEqual([`${first - 4}-${first} edit done person 5`]);
  const newest = await workspace.ticks({ limit: 2, reverse: true, before: first + 1 });
  expect([rowsOf(newest), newest.more]).toEqual([[`${first - 1}-${first} edit done person 2`], true]);
  const before = first - (newest.events[0] ?? 0);
  const older = await workspace.ticks({ limit: 3, reverse: true, before });
  expect(rowsOf(older)).toEqual([`${first - 4}-${first - 2} edit done person 3`]);
});

it("work that goes on is a tick, too, and what is recorded of it later replaces it", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const request = { type: "write_file", payload: { path: "a" }, session: "s", turn: "t", actor: "claude" };
  const action = await workspace.snapshotAction(request);
  const open = await workspace.ticks({ limit: 1, reverse: true });
  expect(rowsOf(open)).toEqual([expect.stringMatching(/ tool open agent t 0$/)]);
  project.write("a", "1");
  await workspace.finishAction(action?.id ?? "");
  const [done, ...others] = await ticks(workspace, { after: open.head });
  expect(others).toEqual([]);
  expect(done).toMatch(/ tool done agent t 1$/);
  const firstOf = (row = ""): string => row.slice(0, row.indexOf("-"));
  expect(firstOf(done)).toBe(firstOf(rowsOf(open)[0]));
});

it("an undo that did not merge with later work is marked", async () => {
  await using project = new Project();
  project.write("a", "1\n");
  const workspace = await project.init();
  await act(workspace, "write_file", ["a"], () => project.write("a", "2\n"));
  project.write("a", "3\n");
  await workspace.snapshot();
  await workspace.undo({ turn: "t1", session: "s", force: true });
  expect((await kinds(workspace)).at(-1)).toBe("undo conflict person 0");
});

/** The last ticks of a history, as the copy that they came from, with their kind and what they are a part of. */
function copiesOf(shape: TicksShape): string[] {
  return shape.last.map((_, n) => {
    const { actor, who } = shape.actors[shape.actor[n] ?? -1] ?? {};
    const of = [shape.sessions[shape.session[n] ?? -1], shape.turns[shape.turn[n] ?? -1]].join(" ");
    return `${shape.kinds[shape.kind[n] ?? -1]} ${who} ${actor} ${of}`;
  });
}

const WORK = { actor: "claude", session: "s", turn: "t", action: "a1" } as const;

it("at an origin, what an agent did in a replica is work of the replica, also if its event names an action", async () => {
  await using origin = await WriteBackRig.create({});
  await origin.accept([await origin.entry(1, "a", "1", WORK), await origin.entry(2, "b", "1")]);
  expect(copiesOf(await ticksOf(origin.context, { limit: 2, reverse: true }))).toEqual([
    "sync replica r1 s t",
    "sync replica r1  ",
  ]);
});

it("in a replica, what anyone did at an origin is work of the origin from which it came", async () => {
  await using replica = await ReplicaRig.open();
  const bring = async (path: string, origin: string, by?: typeof WORK): Promise<void> => {
    const change = await replica.change(path, await replica.file(path, "1"), by === undefined ? {} : { by });
    await replica.apply({ record: replicaRecord({ origin, applied: 1 }), changes: [change] });
  };
  await bring("a", ORIGIN, WORK);
  await bring("b", ORIGIN);
  const ofOne = [`sync replica ${ORIGIN} s t`, `sync replica ${ORIGIN}  `];
  const last = async (limit: number): Promise<string[]> =>
    copiesOf(await ticksOf(replica.context, { limit, reverse: true }));
  expect(await last(2)).toEqual(ofOne);
  const other = ORIGIN.replaceAll("1", "2");
  await bring("c", other, WORK);
  expect(await last(3)).toEqual([...ofOne, `sync replica ${other} s t`]);
});
