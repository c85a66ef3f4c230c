import { expect, it } from "vitest";
import type { IdentifiedConflict } from "../../src/core/records/conflict-record.ts";
import { decodeConflict } from "../../src/core/records/conflict-record.ts";
import { sameEntry } from "../../src/core/values/entry.ts";
import { decodeReplica } from "../../src/core/records/replica-record.ts";
import type { SimOperation } from "../../src/testing/sim-disk/sim-faults.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { ORIGIN, ReplicaRig } from "../../src/testing/replica-rig.ts";
import { openConflicts } from "../../src/engine/facts/open-conflicts.ts";
import { settle } from "../../src/engine/capture/operate.ts";
import { readEvent } from "../../src/engine/log/read-events.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/**
 * A step of a replica, cut off anywhere. Files, conflicts, proposals and the applied seq are all in the state before
 * the step, or all in the state after it. The applied seq is never ahead of the folder.
 */

const ALL = process.env["SWEEP_ALL"] !== undefined;
const FILES = { "edited.txt": "old", "gone.txt": "gone", "mine.txt": "mine", "kept.txt": "kept", "merged.txt": "ours" };
const CONFLICT = "22222222-2222-4222-8222-222222222222";

const KEPT = "kept.txt" as never;

const BEFORE: Readonly<Record<string, string>> = FILES;
const AFTER: Readonly<Record<string, string>> = {
  "edited.txt": "new",
  "mine.txt": "mine",
  "kept.txt": "kept",
  "merged.txt": "both",
  made: "/",
  "made/new.txt": "from upstream",
};

async function prepared(): Promise<SimDisk> {
  await using replica = await ReplicaRig.open(FILES);
  await replica.apply({ applied: 3 });
  return replica.disk;
}

function conflictOf(wanted: IdentifiedConflict["record"]["wanted"]): IdentifiedConflict {
  const sync = { origin: ORIGIN, baseSeq: 2, upstreamSeq: 6 };
  const states = { base: undefined, current: wanted, wanted };
  const path = "mine.txt" as never;
  const met = "2030-01-01T00:00:00.000Z";
  return { id: CONFLICT, record: { path, state: "open", reason: "content", undo: "", met, sync, ...states } };
}

/** Makes the step, or the rest of it. Blocked changes are tried again, and their conflicts are withdrawn. */
async function step(replica: ReplicaRig): Promise<number> {
  const merged = await replica.file("merged.txt", "both");
  const wanted = [
    await replica.change("made", replica.folder("made")),
    await replica.change("made/new.txt", await replica.file("made/new.txt", "from upstream")),
    await replica.change("edited.txt", await replica.file("edited.txt", "new"), { upstream: { seq: 5, iteration: 2 } }),
    await replica.change("gone.txt", undefined),
    await replica.change("merged.txt", merged, { cause: "merge" }),
  ];
  const changes = wanted.filter(({ before, after }) => !sameEntry(before, after));
  const held = (await openConflicts(replica.context)).filter(({ record }) => record.reason === "blocked");
  const done = held.map(({ id, record }) => ({
    id,
    record: { ...record, state: "settled", settled: "withdrawn" } as const,
  }));
  const conflicts = [conflictOf(await replica.recorded("mine.txt")), ...done];
  const contents = merged.hash === undefined ? [] : [merged.hash];
  const { seq } = await replica.apply({ applied: 7, changes, conflicts, proposals: [KEPT], contents });
  return seq;
}

async function appliedIn({ context }: ReplicaRig): Promise<number> {
  const row = await context.index.record(`replica:${ORIGIN}`);
  return row === undefined ? 0 : decodeReplica((await readEvent(context, row)).record).applied;
}

async function check(disk: SimDisk, { acknowledged }: SweepContext<number>): Promise<void> {
  await using replica = await ReplicaRig.open({}, disk, 500_000);
  await settle(replica.context);
  const isDone = (await appliedIn(replica)) === 7;
  if (acknowledged.length > 0) expect(isDone).toBe(true);
  const open = await openConflicts(replica.context);
  const held = new Set<string>(open.flatMap(({ record }) => (record.reason === "blocked" ? [record.path] : [])));
  expect(replica.files()).toEqual(isDone ? afterBut(held) : BEFORE);
  expect(open.filter(({ id }) => id === CONFLICT)).toHaveLength(isDone ? 1 : 0);
  expect(open).toHaveLength(held.size + (isDone ? 1 : 0));
  const { entries } = await replica.journal();
  const told = new Set<string>(entries.map(({ path }) => path));
  const toTell = ["kept.txt", "merged.txt"].filter((path) => isDone && !held.has(path));
  expect([...told].sort()).toEqual(toTell);
  expect((await verify(replica.context)).problems).toEqual([]);
  // The step can be made or repeated without a repair.
  if (!isDone || held.size > 0) await step(replica);
  expect(replica.files()).toEqual(AFTER);
  expect((await openConflicts(replica.context)).map(({ id }) => id)).toEqual([CONFLICT]);
  // Files that were set aside may not be removed yet. Further steps remove them.
  const newer = await replica.change("edited.txt", await replica.file("edited.txt", "newer"));
  expect((await replica.apply({ applied: 8, changes: [newer] })).blocked).toEqual([]);
  await replica.context.worktree.close();
  await expectNothingLeft(disk);
}

const DAY_NS = 25n * 3_600_000_000_000n;

/** Checks that staged files of an apply that never began, which no intent names, are removed a day later. */
async function expectNothingLeft(disk: SimDisk): Promise<void> {
  if (setAside(disk).length === 0) return;
  let now = (disk.lstat("/proj/edited.txt")?.mtimeNs ?? 0n) + DAY_NS;
  const later = disk.fork({ clock: () => (now += 1_000n) });
  await using replica = await ReplicaRig.open({}, later, 900_000);
  const changes = [await replica.change("edited.txt", await replica.file("edited.txt", "newest"))];
  expect((await replica.apply({ applied: 9, changes })).blocked).toEqual([]);
  await replica.context.worktree.close();
  expect(setAside(later)).toEqual([]);
}

function setAside(disk: SimDisk): string[] {
  return Object.keys(disk.dump("/")).filter((path) => /(^|\/)(staging|\.chronicle-tmp)\/[^/]+/.test(path));
}

/** The tree after the step, in which the `held` paths are as before. */
function afterBut(held: ReadonlySet<string>): Record<string, string> {
  const all = { ...BEFORE, ...AFTER };
  const paths = Object.keys(all).filter((path) => (held.has(path) ? path in BEFORE : path in AFTER));
  return Object.fromEntries(paths.map((path) => [path, (held.has(path) ? BEFORE : AFTER)[path] ?? ""]));
}

const run = async (disk: SimDisk, acknowledge: (fact: number) => void): Promise<void> => {
  await using replica = await ReplicaRig.open({}, disk, 100_000);
  acknowledge(await step(replica));
};

it("a step of a replica that is cut off anywhere is made as a whole or not at all", { timeout: 600_000 }, async () => {
  const { checks } = await sweepCrashes<number>({
    prepare: prepared,
    run,
    check,
    ...(ALL ? {} : { every: 5, fates: ["forget", { seed: 1 }], errnos: ["EIO", "ENOSPC"] }),
  });
  expect(checks).toBeGreaterThan(ALL ? 400 : 50);
});

it("a step of which only the first lines of a commit are written is made as a whole or not at all", async () => {
  const disk = await prepared();
  const writes: number[] = [];
  const onOperation = ({ name, path, index }: SimOperation): "go" => {
    if (name === "write" && path.endsWith("events.wal")) writes.push(index);
    return "go";
  };
  await run(disk.fork({ onOperation }), () => undefined);
  // The seed decides how much of a torn write is there.
  const fates = Array.from({ length: 12 }, (_, seed) => ({ seed }));
  for (const only of writes)
    await sweepCrashes<number>({ prepare: () => disk, run, check, modes: ["torn"], fates, only, errnos: [] });
  expect(writes).toHaveLength(2);
});

it("files that a step has set aside and a crash has left are removed by the next step", async () => {
  const disk = await prepared();
  disk.unlinkAllBeside = () => new Promise(() => undefined);
  // The replica is not closed, because the power fails.
  const replica = await ReplicaRig.open({}, disk, 100_000);
  await step(replica);
  const after = disk.crash("keep");
  expect(setAside(after)).not.toEqual([]);
  await using again = await ReplicaRig.open({}, after, 500_000);
  expect(await settle(again.context)).toEqual([]);
  await again.apply({
    applied: 8,
    changes: [await again.change("edited.txt", await again.file("edited.txt", "newer"))],
  });
  await again.context.worktree.close();
  expect(setAside(after)).toEqual([]);
  expect(again.files()).toEqual({ ...AFTER, "edited.txt": "newer" });
});

it("the record of a conflict is recorded exactly", async () => {
  await using replica = await ReplicaRig.open(FILES);
  await step(replica);
  const row = await replica.context.index.record(`conflict:${CONFLICT}`);
  const event = row === undefined ? undefined : await readEvent(replica.context, row);
  expect(decodeConflict(event?.record ?? {})).toEqual(conflictOf(await replica.recorded("mine.txt")).record);
});
