import { describe, expect, it } from "vitest";
import { decodeConflict } from "../../core/records/conflict-record.ts";
import { sha256 } from "../../core/values/hash.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import { comparePaths } from "../../core/values/path.ts";
import { decodeReplica } from "../../core/records/replica-record.ts";
import { ORIGIN, replicaRecord, ReplicaRig } from "../../testing/replica-rig.ts";
import { listConflicts } from "../undo/conflicts.ts";
import { listOperations } from "../undo/operations.ts";
import { rootAtHead } from "../log/tree.ts";

describe("a step of an origin, applied to the folder", () => {
  it("scans through the rules only if there may be something to record", async () => {
    await using replica = await ReplicaRig.open({ "a.txt": "one", "b.txt": "b" });
    const { worktree } = replica.context;
    const scan = worktree.scan.bind(worktree);
    let scans = 0;
    worktree.scan = (request, onChanged) => {
      scans += 1;
      return scan(request, onChanged);
    };
    const edited = async (applied: number, text: string) =>
      replica.apply({ applied, changes: [await replica.change("a.txt", await replica.file("a.txt", text))] });
    expect(await edited(5, "two")).toMatchObject({ applied: ["a.txt"], moved: [] });
    expect(scans).toBe(0);
    const change = await replica.change("a.txt", await replica.file("a.txt", "three"));
    replica.write("a.txt", "somebody's");
    expect(await replica.apply({ applied: 6, changes: [change] })).toMatchObject({ applied: [], moved: ["a.txt"] });
    expect(scans).toBeGreaterThan(0);
    expect(replica.files()).toEqual({ "a.txt": "somebody's", "b.txt": "b" });
  });

  it("makes folders, files, modes and deletions, and records each one as the origin's, with its actor", async () => {
    await using replica = await ReplicaRig.open({ "old.txt": "old", "gone.txt": "gone" });
    const from = (await replica.head()) + 1;
    const by = { actor: "ada", session: "s", turn: "t", action: "a" };
    const changes = [
      await replica.change("src", replica.folder("src")),
      await replica.change("src/a", await replica.file("src/a", "A", 0o755), {
        by,
        upstream: { seq: 7, iteration: 3 },
      }),
      await replica.change("old.txt", await replica.file("old.txt", "new")),
      await replica.change("gone.txt", undefined),
    ];
    const done = await replica.apply({ applied: 9, changes });
    expect(replica.files()).toEqual({ src: "/", "src/a": "A", "old.txt": "new" });
    expect(done).toMatchObject({ seq: await replica.head(), moved: [], blocked: [], copies: [] });
    expect(done.applied).toHaveLength(4);
    const events = await replica.events(from);
    expect(events.map((one) => one.recordId)).toEqual([
      `intent:${ORIGIN}`,
      `replica:${ORIGIN}`,
      "file:gone.txt",
      "file:old.txt",
      "file:src",
      "file:src/a",
      `intent:${ORIGIN}`,
    ]);
    expect(decodeReplica(events[1]?.record ?? {})).toEqual(replicaRecord({ applied: 9 }));
    const records = await replica.fileRecords(from);
    expect(records.map(({ path, cause, actor }) => [path, cause, actor])).toEqual([
      ["gone.txt", "replica", "human"],
      ["old.txt", "replica", "human"],
      ["src", "replica", "human"],
      ["src/a", "replica", "ada"],
    ]);
    expect(records.at(-1)).toMatchObject({ ...by, upstream: { seq: 7, iteration: 3 }, iteration: 1 });
    // The end of the intent leaves out what was needed only to finish it.
    expect(Object.keys(events.at(-1)?.record ?? {})).not.toContain("changes");
    expect(await listOperations(replica.context)).toEqual([]);
  });

  it("leaves nothing new for a later capture, and nothing in the journal", async () => {
    await using replica = await ReplicaRig.open();
    await replica.apply({ applied: 1, changes: [await replica.change("a", await replica.file("a", "A"))] });
    const head = await replica.head();
    await replica.edit("a", "A");
    expect(await replica.head()).toBe(head);
    expect(await replica.journal()).toEqual({ entries: [], upTo: head });
  });

  it("has a plan beside the log if it has many changes", async () => {
    await using replica = await ReplicaRig.open();
    const changes = [];
    for (let i = 0; i < 100; i += 1)
      changes.push(
        await replica.change(`f${i}`, await replica.file(`f${i}`, `${i}`), { upstream: { seq: i + 1, iteration: 1 } }),
      );
    const from = (await replica.head()) + 1;
    await replica.apply({ applied: 100, changes });
    expect((await replica.events(from))[0]?.record).toHaveProperty("plan");
    expect(Object.keys(replica.files())).toHaveLength(100);
    expect((await replica.fileRecords(from)).find(({ path }) => path === "f41")?.upstream).toEqual({
      seq: 42,
      iteration: 1,
    });
  });

  it("stores the hashes of the folders at a first fill, even if a file cannot be written", async () => {
    const paths = Array.from({ length: 40 }, (_, i) => [
      `d${i}`,
      ...Array.from({ length: 60 }, (_, n) => `d${i}/f${n}`),
    ]);
    for (const inTheWay of [false, true]) {
      await using replica = await ReplicaRig.open();
      const changes = [];
      for (const path of paths.flat()) {
        const after = path.includes("/") ? await replica.file(path, path.slice(-2)) : replica.folder(path);
        changes.push(await replica.change(path, after, { upstream: { seq: 2, iteration: 1 } }));
      }
      // A change whose content is missing here is skipped.
      const nowhere = { ...(await replica.file("lost", "lost")), hash: sha256("nowhere") };
      if (inTheWay) changes.push(await replica.change("lost", nowhere, { upstream: { seq: 2, iteration: 1 } }));
      const { seq, blocked } = await replica.apply({ applied: 2, changes: changes.reverse() });
      expect(blocked.length > 0).toBe(inTheWay);
      expect(await replica.context.index.treeSeq()).toBe(seq);
      const entries = changes.flatMap(({ path, after }) =>
        blocked.some((one) => one.path === path) ? [] : (after ?? []),
      );
      const { root } = manifestRoot(entries.sort((a, b) => comparePaths(a.path, b.path)));
      expect(await rootAtHead(replica.context, seq)).toBe(root);
    }
  });

  it("is one event if it changes no file", async () => {
    await using replica = await ReplicaRig.open({ a: "A" });
    const before = await replica.head();
    expect(await replica.apply({ applied: 3 })).toMatchObject({ seq: before + 1, applied: [], moved: [] });
    expect((await replica.events(before + 1)).map((one) => one.recordId)).toEqual([`replica:${ORIGIN}`]);
  });

  it("does not record mode bits that Chronicle never sets on a disk", async () => {
    await using replica = await ReplicaRig.open();
    await replica.apply({
      applied: 1,
      changes: [await replica.change("tool", await replica.file("tool", "#!", 0o4755))],
    });
    expect((await replica.recorded("tool"))?.mode).toBe(0o755);
  });
});

describe("a change that the plan did not know", () => {
  it("may be an unrecorded edit, which is recorded, and then nothing is done", async () => {
    await using replica = await ReplicaRig.open({ a: "old", b: "old" });
    const changes = [
      await replica.change("a", await replica.file("a", "upstream")),
      await replica.change("b", await replica.file("b", "upstream")),
    ];
    replica.write("a", "mine");
    const done = await replica.apply({ applied: 5, changes });
    expect(done).toMatchObject({ moved: ["a"], applied: [], blocked: [] });
    expect(replica.files()).toEqual({ a: "mine", b: "old" });
    expect((await replica.fileRecords(done.seq)).map(({ path, cause }) => [path, cause])).toEqual([["a", "capture"]]);
    expect(await replica.context.index.record(`replica:${ORIGIN}`)).toBeUndefined();
  });

  it("may be an edit of a path that the plan looked at and left alone", async () => {
    await using replica = await ReplicaRig.open({ a: "same", b: "old" });
    const planned = { seq: await replica.head(), looked: new Set(["a" as never]) };
    await replica.edit("a", "mine");
    const changes = [await replica.change("b", await replica.file("b", "upstream"))];
    expect((await replica.apply({ applied: 5, changes, planned })).moved).toEqual(["a"]);
    expect((await replica.apply({ applied: 5, changes, planned: { ...planned, looked: new Set() } })).moved).toEqual(
      [],
    );
  });

  it("may be a new file in a folder that was to be deleted", async () => {
    await using replica = await ReplicaRig.open({ "d/a": "A" });
    const planned = { seq: await replica.head(), looked: new Set<never>() };
    const changes = [await replica.change("d", undefined), await replica.change("d/a", undefined)];
    replica.write("d/new", "mine");
    expect((await replica.apply({ applied: 5, changes, planned })).moved).toEqual(["d/new"]);
    expect(replica.files()).toEqual({ d: "/", "d/a": "A", "d/new": "mine" });
  });
});

describe("a change that cannot be written", () => {
  it("becomes a conflict with its base, and the other changes are made", async () => {
    await using replica = await ReplicaRig.open({ a: "old", b: "old" });
    const lost = { ...(await replica.file("a", "x")), hash: "0".repeat(64) as never };
    const base = { entry: await replica.recorded("a"), seq: 4 };
    const changes = [
      await replica.change("a", lost, { base, upstream: { seq: 8, iteration: 2 } }),
      await replica.change("b", await replica.file("b", "new")),
    ];
    const done = await replica.apply({ applied: 9, changes });
    expect(done).toMatchObject({ applied: ["b"], moved: [] });
    expect(done.blocked.map(({ path, reason }) => [path, reason])).toEqual([["a", "content-missing"]]);
    expect(replica.files()).toEqual({ a: "old", b: "new" });
    const [conflict] = await listConflicts(replica.context);
    expect(conflict).toMatchObject({ path: "a", cause: "sync", reason: "blocked", state: "open" });
    const row = await replica.context.index.record(`conflict:${conflict?.id}`);
    const record = decodeConflict((await replica.events(row?.seq ?? 0))[0]?.record ?? {});
    expect(record).toMatchObject({ base: base.entry, sync: { origin: ORIGIN, baseSeq: 4, upstreamSeq: 8 } });
  });

  it("leaves the conflict open that was about to be settled", async () => {
    await using replica = await ReplicaRig.open({ a: "mine" });
    const lost = { ...(await replica.file("a", "x")), hash: "0".repeat(64) as never };
    const [base, current] = [await replica.file("a", "base"), await replica.recorded("a")];
    const sync = { origin: ORIGIN, baseSeq: 2, upstreamSeq: 5 };
    const states = { path: "a" as never, base, current, wanted: lost };
    const record = {
      ...states,
      state: "open",
      reason: "content",
      undo: "",
      met: "2030-01-01T00:00:00.000Z",
      sync,
    } as const;
    const id = "22222222-2222-4222-8222-222222222222";
    await replica.apply({ applied: 5, conflicts: [{ id, record }] });
    const settled = { id, record: { ...record, state: "settled", settled: "undo" } as const };
    const upstream = { seq: 5, iteration: 1 };
    const change = await replica.change("a", lost, { base: { entry: base, seq: 2 }, upstream });
    expect((await replica.apply({ applied: 6, changes: [change], conflicts: [settled] })).blocked).toHaveLength(1);
    expect(await listConflicts(replica.context)).toMatchObject([{ id, reason: "blocked", state: "open" }]);
  });
});

it("thousands of conflicts are recorded before the step", async () => {
  await using replica = await ReplicaRig.open({ a: "mine" });
  const sync = { origin: ORIGIN, baseSeq: 0, upstreamSeq: 1 };
  const states = { base: undefined, current: undefined, wanted: undefined };
  const common = {
    state: "open",
    reason: "created",
    undo: "",
    met: "2030-01-01T00:00:00.000Z",
    sync,
    ...states,
  } as const;
  const conflicts = Array.from({ length: 2_500 }, (_, i) => ({
    id: `22222222-2222-4222-8222-${String(i).padStart(12, "0")}`,
    record: { ...common, path: `p${i}` as never },
  }));
  const { from } = await replica.apply({ applied: 1, conflicts, proposals: ["a" as never] });
  const ids = (await replica.events(from + 1)).map(({ recordId }) => recordId.split(":", 1)[0]);
  expect(ids.slice(0, 2_500)).toEqual(Array.from({ length: 2_500 }, () => "conflict"));
  expect(ids.slice(2_500)).toEqual(["intent", "replica", "proposal", "intent"]);
  expect(await listConflicts(replica.context)).toHaveLength(2_500);
});

it.each([0, 2_100])(
  "a file that a filter leaves out is not overwritten by the origin's file, beside %i other changes",
  async (more) => {
    await using replica = await ReplicaRig.open({ ".gitignore": "*.o\n", "mine.o": "mine", "edited.txt": "as it was" });
    const changes = [
      await replica.change("mine.o", await replica.file("mine.o", "origin's"), { upstream: { seq: 2, iteration: 1 } }),
      await replica.change("edited.txt", await replica.file("edited.txt", "origin's")),
    ];
    replica.write("edited.txt", "edited");
    for (let i = 0; i < more; i += 1) {
      const path = `f${String(i).padStart(4, "0")}`;
      changes.push(await replica.change(path, await replica.file(path, "new"), { upstream: { seq: 2, iteration: 1 } }));
    }
    const first = await replica.apply({ applied: 2, changes });
    expect(first.moved).toContain("edited.txt");
    const rest = changes.filter(({ path }) => !first.moved.includes(path));
    const { applied, blocked } = await replica.apply({ applied: 2, changes: rest });
    expect(replica.files()).toMatchObject({ "mine.o": "mine", "edited.txt": "edited" });
    expect(applied).toHaveLength(more);
    // If the paths are few, their states are captured by name. If they are many, the apply itself finds what is there.
    expect([...first.moved, ...blocked.map(({ path }) => path)].toSorted()).toEqual(["edited.txt", "mine.o"]);
  },
);
