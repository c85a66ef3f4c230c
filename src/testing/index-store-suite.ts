import { afterEach, describe, expect, test } from "vitest";
import { type Hash, sha256 } from "../core/values/hash.ts";
import { comparePaths, pathFromBytes, pathInRoot, parsePath, ROOT, type WorkspacePath } from "../core/values/path.ts";
import type { RemoteWorkRow } from "../core/records/remote-work.ts";
import type { Tick } from "../core/records/tick.ts";
import type { EventRow, IndexStore, IterationRow, TickRow, TurnName } from "../storage/index-store.ts";
import { indexPagesSuite } from "./index-pages-suite.ts";
import { applySteps, batchTo, entryAt, eventAt, rowsOf, type Step } from "./index-rows.ts";

async function entriesAt(store: IndexStore, seq: number, beneath?: string): Promise<string[]> {
  const paths: string[] = [];
  const folder = beneath === undefined ? undefined : (beneath as WorkspacePath);
  for await (const batch of store.entriesAt(seq, folder)) {
    for (const row of batch) paths.push(`${row.path}${row.entry?.kind === "dir" ? "/" : ""}`);
  }
  return paths;
}

const p = (text: string): WorkspacePath => parsePath(text);

/** The contract of `IndexStore`. `open` makes an empty store. */
export function indexStoreSuite(name: string, open: () => IndexStore): void {
  indexPagesSuite(name, open);
  describe(`${name}`, () => {
    const opened: IndexStore[] = [];
    function fresh(): IndexStore {
      const store = open();
      opened.push(store);
      return store;
    }
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    test("an empty store has the head 0, and finds nothing", async () => {
      const store = fresh();
      expect(await store.head()).toEqual({ seq: 0, hash: "", offset: 0, frontier: [] });
      expect(await store.locate(1)).toBeUndefined();
      expect(await store.events({ from: 1, to: 10 })).toEqual([]);
      expect(await store.record("user:a")).toBeUndefined();
      expect(await store.records("")).toEqual([]);
      expect(await store.iterations(p("a"))).toEqual([]);
      expect(await store.iterationAt(p("a/b/c"), 1)).toBeUndefined();
      expect(await store.childrenAt(ROOT, 1)).toEqual([]);
      expect(await entriesAt(store, 1)).toEqual([]);
      expect(await store.touched(0, 9)).toEqual([]);
      expect(await store.treeHashAt(ROOT, 9)).toBeUndefined();
      expect(await store.treeSeq()).toBe(0);
    });

    test("clockJumps lists the events whose time is before that of the previous event, until a reset", async () => {
      const store = fresh();
      const event = (seq: number, day: number): EventRow => ({
        ...eventAt(seq, "user:a"),
        ts: `2026-01-${String(day).padStart(2, "0")}T09:30:00.000Z`,
      });
      expect(await store.clockJumps()).toEqual([]);
      await store.apply(batchTo(3, { events: [event(1, 5), event(2, 15), event(3, 6)] }));
      const first = { seq: 3, ts: event(3, 6).ts, before: event(2, 15).ts };
      expect(await store.clockJumps()).toEqual([first]);
      await store.apply(batchTo(4, { events: [event(4, 7)] }));
      await store.apply(batchTo(5));
      await store.apply(batchTo(6, { events: [event(6, 1)] }));
      expect(await store.clockJumps()).toEqual([first, { seq: 6, ts: event(6, 1).ts, before: event(4, 7).ts }]);
      await store.reset();
      expect(await store.clockJumps()).toEqual([]);
      await store.apply(batchTo(1, { events: [event(1, 1)] }));
      expect(await store.clockJumps()).toEqual([]);
    });

    test("the head is that of the last batch", async () => {
      const store = fresh();
      await store.apply(batchTo(7));
      expect(await store.head()).toEqual(batchTo(7).head);
      await store.apply(batchTo(8));
      expect(await store.head()).toEqual(batchTo(8).head);
    });

    test("seqs must grow, and a refused batch changes nothing", async () => {
      const store = fresh();
      const a = rowsOf([["a", "file:1"]]);
      await store.apply(batchTo(3, { events: [eventAt(3, "file:a")], iterations: a }));
      const again = { ...batchTo(4), iterations: [...rowsOf([["b/c", "file:1"]], 4), ...a] };
      const bad = [
        batchTo(3),
        batchTo(2),
        batchTo(5, { events: [eventAt(3, "file:b")] }),
        batchTo(5, { events: [eventAt(5, "file:b"), eventAt(4, "file:c")] }),
        batchTo(5, { events: [eventAt(6, "file:b")] }),
        batchTo(5, { events: [eventAt(4, "file:b")], iterations: rowsOf([["b", "file:1"]], 6) }),
        again,
      ];
      for (const batch of bad) await expect(store.apply(batch)).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
      expect(await store.head()).toEqual(batchTo(3).head);
      expect(await store.events({ from: 1, to: 100 })).toEqual([eventAt(3, "file:a")]);
      expect(await entriesAt(store, 100)).toEqual(["a"]);
      await store.apply(batchTo(4, { events: [eventAt(4, "file:b/c")], iterations: rowsOf([["b/c", "file:1"]], 4) }));
      expect(await entriesAt(store, 100)).toEqual(["a", "b/c"]);
      expect((await store.iterationAt(p("b/c"), 4))?.entry?.kind).toBe("file");
    });

    test("events are found by seq, and listed by range in both directions", async () => {
      const store = fresh();
      const events = [2, 3, 5, 8].map((seq) => eventAt(seq, `user:${seq}`));
      await store.apply(batchTo(8, { events }));
      expect(await store.locate(5)).toEqual(eventAt(5, "user:5"));
      expect(await store.locate(4)).toBeUndefined();
      const seqs = async (range: Parameters<IndexStore["events"]>[0]): Promise<number[]> => {
        return (await store.events(range)).map((event) => event.seq);
      };
      expect(await seqs({ from: 1, to: 100 })).toEqual([2, 3, 5, 8]);
      expect(await seqs({ from: 3, to: 5 })).toEqual([3, 5]);
      expect(await seqs({ from: 1, to: 100, limit: 2 })).toEqual([2, 3]);
      expect(await seqs({ from: 1, to: 100, limit: 2, descending: true })).toEqual([8, 5]);
      expect(await seqs({ from: 3, to: 8, descending: true })).toEqual([8, 5, 3]);
      expect(await seqs({ from: 9, to: 3 })).toEqual([]);
      expect(await seqs({ from: 1, to: 100, limit: 0 })).toEqual([]);
    });

    test("all rows can be listed, and check finds no problem", async () => {
      const store = fresh();
      await applySteps(store, [
        ["a", "file:1"],
        ["d", "dir"],
        ["d/b", "file:2"],
        ["a", "deleted"],
      ]);
      const seqs = async (after: number, upTo: number): Promise<number[]> =>
        (await Array.fromAsync(store.rowsBetween(after, upTo))).flat().map((row) => row.seq);
      expect(await seqs(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).toEqual([1, 2, 3, 4]);
      expect(await seqs(1, 3)).toEqual([2, 3]);
      expect((await Array.fromAsync(store.rowsBetween(3, 4))).flat()).toEqual(
        await store.iterations(p("a"), { after: 1 }),
      );
      const hashes = [
        [p("d"), sha256("d")],
        [p("gone"), undefined],
      ] as const;
      await store.putTreeHashes(4, { hashes, after: 0 });
      const rows = [...(await store.treeRows())].sort((a, b) => comparePaths(a.folder, b.folder));
      expect(rows).toEqual([
        { folder: "d", seq: 4, hash: sha256("d") },
        { folder: "gone", seq: 4, hash: undefined },
      ]);
      expect(await store.check()).toEqual([]);
    });

    test("records are found by id and by prefix, and have a history", async () => {
      const store = fresh();
      const ids = ["user:b", "user:a", "user:ab", "user:b", "other", "user:😀", "user:\0x", "user:ab"];
      const events = ids.map((id, at) => eventAt(at + 1, id, at === 7 ? "delete" : "upsert"));
      await store.apply(batchTo(8, { events }));
      const seqs = (rows: readonly EventRow[]): number[] => rows.map((row) => row.seq);
      expect((await store.record("user:b"))?.seq).toBe(4);
      expect(await store.record("user:ab")).toEqual(eventAt(8, "user:ab", "delete"));
      expect(await store.record("user:")).toBeUndefined();
      expect(seqs(await store.recordHistory("user:ab"))).toEqual([3, 8]);
      expect(seqs(await store.recordHistory("none"))).toEqual([]);
      expect(seqs(await store.records("user:"))).toEqual([2, 4, 6, 7]);
      expect(seqs(await store.records(""))).toEqual([2, 4, 5, 6, 7]);
      expect(seqs(await store.records("user:a"))).toEqual([2]);
      expect((await store.records("user:\0")).map((row) => row.recordId)).toEqual(["user:\0x"]);
    });

    test("remembers the last bound of the private contents until a reset", async () => {
      const store = fresh();
      expect(await store.privateBound()).toBeUndefined();
      await store.notePrivateBound({ seq: 3, bytes: 5_000_000_000 });
      await store.notePrivateBound({ seq: 4, bytes: 7 });
      expect(await store.privateBound()).toEqual({ seq: 4, bytes: 7 });
      await store.reset();
      expect(await store.privateBound()).toBeUndefined();
    });

    test("remembers the seq of a damaged line until a reset", async () => {
      const store = fresh();
      expect(await store.damagedSeq()).toBe(0);
      await store.apply(batchTo(3));
      await store.noteDamaged(2);
      await store.apply(batchTo(5));
      expect([await store.damagedSeq(), (await store.head()).seq]).toEqual([2, 5]);
      await store.noteDamaged(0);
      expect(await store.damagedSeq()).toBe(0);
      await store.noteDamaged(4);
      await store.reset();
      expect(await store.damagedSeq()).toBe(0);
    });

    test("adds up the work of replicas by replica, session, turn and action", async () => {
      const store = fresh();
      const at = (seq: number, some: Partial<RemoteWorkRow>): RemoteWorkRow => ({
        ...{ replica: "r1", session: "s", turn: "", action: "", actor: "ada" },
        ...{ firstSeq: seq, lastSeq: seq, firstTs: `t${seq}`, lastTs: `t${seq}`, events: 1 },
        ...some,
      });
      expect(await store.remoteWork()).toEqual([]);
      const first = [at(1, {}), at(2, { turn: "t\0" }), at(3, { replica: "", session: "ß" })];
      await store.apply(batchTo(3, { remoteWork: first }));
      await store.apply(batchTo(4));
      await store.apply(batchTo(8, { remoteWork: [at(5, { actor: "eva", lastSeq: 8, lastTs: "t8", events: 3 })] }));
      const joined = at(1, { actor: "eva", lastSeq: 8, lastTs: "t8", events: 4 });
      expect(await store.remoteWork()).toEqual([first[1], first[2], joined]);
      expect(await store.remoteWork({ naming: "ß" })).toEqual([first[2]]);
      await store.apply(batchTo(9, { remoteWork: [at(9, { session: "", action: "ß" })] }));
      expect(await store.remoteWork({ naming: "ß" })).toEqual([first[2], at(9, { session: "", action: "ß" })]);
      expect(await store.remoteWork({ naming: "t\0" })).toEqual([]);
      await store.reset();
      expect(await store.remoteWork()).toEqual([]);
    });

    test("keeps the latest tick of each record, and returns ticks by their last events", async () => {
      const store = fresh();
      const at = (seq: number, recordId: string | undefined, some: Partial<Tick> = {}): Tick => ({
        ...{ seq, recordId, kind: "tool", outcome: "open", started: 100, ended: 100 },
        ...{ actor: "ada", session: "s\0", turn: "", changed: 0, ...some },
      });
      const row = (tick: Tick, first = tick.seq): TickRow => {
        const { kind, outcome, started, ended, actor, session, turn, changed } = tick;
        return { ...{ kind, outcome, started, ended, actor, session, turn, changed }, first, last: tick.seq };
      };
      const range = { after: 0, upTo: 9, limit: 9 };
      expect(await store.ticks(range)).toEqual([]);
      const events = [eventAt(1, "action:a"), eventAt(2, "file:a"), eventAt(3, "action:b")];
      const [a, edit, b] = [at(1, "action:a"), at(2, undefined, { kind: "edit" }), at(3, "action:b")];
      await store.apply(batchTo(3, { events, ticks: [a, edit, b] }));
      expect(await store.ticks(range)).toEqual([row(a), row(edit), row(b)]);
      const done = at(5, "action:a", { outcome: "failed", ended: 300, actor: "ß", turn: "t" });
      const again = at(6, undefined, { kind: "edit", session: "" });
      await store.apply(batchTo(6, { events: [eventAt(5, "action:a"), eventAt(6, "file:a")], ticks: [done, again] }));
      expect(await store.ticks(range)).toEqual([row(edit), row(b), row(done, 1), row(again)]);
      expect(await store.ticks({ after: 2, upTo: 5, limit: 1 })).toEqual([row(b)]);
      expect(await store.ticks({ ...range, limit: 2, descending: true })).toEqual([row(again), row(done, 1)]);
      expect(await store.ticks({ ...range, kinds: ["edit"] })).toEqual([row(edit), row(again)]);
      expect(await store.ticks({ ...range, kinds: ["undo", "redo"] })).toEqual([]);
      await store.reset();
      expect(await store.ticks(range)).toEqual([]);
    });

    test("returns those turns that have a tick after a seq", async () => {
      const store = fresh();
      const ticks = [
        { session: "s", turn: "t" },
        { session: "ß", turn: "t" },
        { session: "", turn: "u" },
      ].map((turn, at): Tick => {
        const work = { recordId: undefined, kind: "edit", outcome: "done", started: 1, ended: 1 } as const;
        return { ...work, ...turn, seq: at + 1, actor: "ada", changed: 1 };
      });
      await store.apply(batchTo(3, { events: [1, 2, 3].map((seq) => eventAt(seq, "file:a")), ticks }));
      const [a, b, c] = ticks.map(({ session, turn }) => ({ session, turn })) as [TurnName, TurnName, TurnName];
      const unknown = { session: "s", turn: "u" };
      expect(await store.turnsAfter(0, [a, b, c, unknown, { session: "x", turn: "y" }])).toEqual([a, b, c]);
      expect(await store.turnsAfter(1, [a, b, c])).toEqual([b, c]);
      expect(await store.turnsAfter(1, [c])).toEqual([c]);
      expect(await store.turnsAfter(3, [a, b, c])).toEqual([]);
      expect(await store.turnsAfter(0, [])).toEqual([]);
    });

    test("returns the records with an event up to a seq and a later event", async () => {
      const store = fresh();
      const ids = ["session:a", "action:b", "action:b", "session:a", "action:c", "session:ab"];
      await store.apply(batchTo(6, { events: ids.map((id, at) => eventAt(at + 1, id)) }));
      const across = async (prefix: string, seq: number): Promise<number[]> =>
        (await store.recordsAcross(prefix, seq)).map((row) => row.seq);
      expect(await across("session:", 1)).toEqual([4]);
      expect(await across("action:", 2)).toEqual([3]);
      expect(await across("", 2)).toEqual([3, 4]);
      expect(await across("session:a", 3)).toEqual([4]);
      expect(await across("", 4)).toEqual([]);
      expect(await across("action:", 0)).toEqual([]);
      await store.apply(batchTo(7, { events: [{ ...eventAt(7, "action:c"), op: "delete" }] }));
      expect(await across("action:", 6)).toEqual([7]);
    });

    test("lists the records that their last event leaves open", async () => {
      const store = fresh();
      const seqs = (rows: readonly EventRow[]): number[] => rows.map((row) => row.seq);
      const open = (seq: number, id: string) => ({ ...eventAt(seq, id), open: true });
      const events = [open(1, "action:a"), open(2, "action:b"), open(3, "session:s"), eventAt(4, "action:a")];
      await store.apply(batchTo(4, { events }));
      expect(seqs(await store.openRecords("action:"))).toEqual([2]);
      expect(seqs(await store.openRecords(""))).toEqual([2, 3]);
      await store.apply(batchTo(5, { events: [open(5, "action:b")] }));
      expect(seqs(await store.openRecords("action:"))).toEqual([5]);
    });

    test("lists the iterations of a path, and finds the iteration at any seq", async () => {
      const store = fresh();
      await applySteps(store, [
        ["a", "file:1"],
        ["b", "file:1"],
        ["a", "file:2"],
        ["a", "deleted"],
        ["a", "symlink:b"],
      ]);
      const all = await store.iterations(p("a"));
      expect(all.map((row) => [row.seq, row.iteration, row.entry?.kind])).toEqual([
        [1, 1, "file"],
        [3, 2, "file"],
        [4, 3, undefined],
        [5, 4, "symlink"],
      ]);
      expect(all[0]?.entry).toEqual(entryAt(p("a"), "file", "1"));
      expect(all[3]?.entry).toEqual(entryAt(p("a"), "symlink", "b"));
      expect(await store.iterationAt(p("a"), 0)).toBeUndefined();
      expect((await store.iterationAt(p("a"), 2))?.iteration).toBe(1);
      expect(await store.iterationAt(p("a"), 4)).toMatchObject({ iteration: 3, entry: undefined });
      expect((await store.iterationAt(p("a"), 999))?.iteration).toBe(4);
      const many = await store.iterationsAt([p("b"), p("none"), p("a"), p("b")], 3);
      expect(many.map((row) => row?.iteration)).toEqual([1, undefined, 2, 1]);
    });

    test("lists the entries at every seq, in path order", async () => {
      const store = fresh();
      await applySteps(store, [
        ["d", "dir"],
        ["d/x", "file:1"],
        ["d!", "file:1"],
        ["d/e", "dir"],
        ["d/e/f", "file:1"],
        ["d/e/f", "deleted"],
        ["d/e", "deleted"],
        ["d/x", "deleted"],
        ["d", "deleted"],
        ["d", "file:now a file"],
        ["d", "deleted"],
        ["d", "dir"],
        ["d/x", "file:2"],
      ]);
      const states = [
        [],
        ["d/"],
        ["d/", "d/x"],
        ["d/", "d/x", "d!"],
        ["d/", "d/e/", "d/x", "d!"],
        ["d/", "d/e/", "d/e/f", "d/x", "d!"],
        ["d/", "d/e/", "d/x", "d!"],
        ["d/", "d/x", "d!"],
        ["d/", "d!"],
        ["d!"],
        ["d", "d!"],
        ["d!"],
        ["d/", "d!"],
        ["d/", "d/x", "d!"],
      ];
      for (const [seq, expected] of states.entries()) expect(await entriesAt(store, seq)).toEqual(expected);
      expect((await store.childrenAt(p("d"), 5)).map((row) => row.path)).toEqual(["d/e", "d/x"]);
      expect((await store.childrenAt(p("d"), 10)).map((row) => row.path)).toEqual([]);
      expect((await store.childrenAt(ROOT, 10)).map((row) => row.path)).toEqual(["d", "d!"]);
      expect((await store.iterationAt(p("d/x"), 13))?.iteration).toBe(3);
    });

    test("lists the entries beneath a folder, a file, and a missing path", async () => {
      const store = fresh();
      await applySteps(store, [
        ["a", "dir"],
        ["a/b", "dir"],
        ["a/b/c", "file:1"],
        ["a/bb", "file:1"],
        ["ab", "file:1"],
      ]);
      expect(await entriesAt(store, 9, "a")).toEqual(["a/", "a/b/", "a/b/c", "a/bb"]);
      expect(await entriesAt(store, 9, "a/b")).toEqual(["a/b/", "a/b/c"]);
      expect(await entriesAt(store, 9, "a/b/c")).toEqual(["a/b/c"]);
      expect(await entriesAt(store, 9, "none/at/all")).toEqual([]);
      expect(await entriesAt(store, 9, "")).toHaveLength(5);
    });

    test("children of folders that were never recorded themselves are found, also under a further root", async () => {
      const store = fresh();
      const further = pathInRoot("lib", p("src/x"));
      await applySteps(store, [
        ["deep/er/file", "file:1"],
        [further, "file:1"],
        ["a", "file:1"],
      ]);
      expect(await entriesAt(store, 9)).toEqual([further, "a", "deep/er/file"]);
      expect(await entriesAt(store, 9, "\0lib")).toEqual([further]);
      expect(await entriesAt(store, 9, ROOT)).toEqual(["a", "deep/er/file"]);
      expect((await store.childrenAt(pathInRoot("lib", p("src")), 9)).map((row) => row.path)).toEqual([further]);
    });

    test("paths are sorted by component and by bytes; names that are not UTF-8 are kept", async () => {
      const store = fresh();
      const raw = [[0x66, 0xff], [0x66, 0xc3, 0x28], [0xf0, 0x9f, 0x98, 0x80], [0xef, 0xac, 0xb3], [0x66], [0x46]];
      const paths = raw.map((bytes) => pathFromBytes(Buffer.from(bytes)));
      paths.push(p("f/a"), p("f-a"), p("f/a/b"), p("f/a!"), p("f/\u{1f600}"), p("f/\ufb33"));
      const iterations = paths.map((path) => ({ path, seq: 1, iteration: 1, entry: entryAt(path) }));
      await store.apply(batchTo(1, { events: [eventAt(1, "snapshot:0")], iterations }));
      const sorted = [...paths].sort(comparePaths);
      expect(await entriesAt(store, 1)).toEqual(sorted);
      expect(await store.touched(0, 1)).toEqual(sorted);
      for (const path of paths) expect((await store.iterationAt(path, 1))?.path).toBe(path);
    });

    test("touched lists the paths with events in a span, including deletions", async () => {
      const store = fresh();
      await applySteps(store, [
        ["b", "file:1"],
        ["a/x", "file:1"],
        ["b", "file:2"],
        ["a/x", "deleted"],
        ["c", "file:1"],
      ]);
      expect(await store.touched(0, 2)).toEqual(["a/x", "b"]);
      expect(await store.touched(2, 4)).toEqual(["a/x", "b"]);
      expect(await store.touched(3, 4)).toEqual(["a/x"]);
      expect(await store.touched(4, 99)).toEqual(["c"]);
      expect(await store.touched(5, 99)).toEqual([]);
    });

    test("pathsNamed finds paths by their last component, including deleted paths", async () => {
      const store = fresh();
      await applySteps(store, [
        ["z/main.go", "file:1"],
        ["main.go", "file:1"],
        ["main.go/x", "file:1"],
        ["z/main.go", "deleted"],
      ]);
      expect(await store.pathsNamed("main.go")).toEqual(["main.go", "z/main.go"]);
      expect(await store.pathsNamed("main")).toEqual([]);
      expect(await store.pathsNamed("IN.g", { part: true })).toEqual(["main.go", "z/main.go"]);
      expect(await store.pathsNamed("x", { part: true })).toEqual(["main.go/x"]);
      expect(await store.pathsNamed("z/m", { part: true })).toEqual([]);
    });

    test("protectedPaths lists the paths that were ever protected; each iteration keeps its class", async () => {
      const store = fresh();
      const steps: readonly Step[] = [
        ["z/.env", "file:1"],
        [".env", "file:1"],
        [".env", "file:2"],
        ["z/.env", "deleted"],
        ["ordinary", "file:1"],
      ];
      const rows = rowsOf(steps).map(({ entry, ...row }): IterationRow => {
        const isSecret = entry !== undefined && row.path.endsWith(".env") && row.seq < 3;
        return { ...row, entry: isSecret ? { ...entry, class: "protected" } : entry };
      });
      await store.apply(batchTo(5, { iterations: rows }));
      expect(await store.protectedPaths()).toEqual([".env", "z/.env"]);
      for (const path of [p(".env"), p("z/.env"), p("ordinary")])
        expect(await store.iterations(path)).toEqual(rows.filter((row) => row.path === path));
      expect((await store.childrenAt(p(""), 5)).map(({ entry }) => entry?.class)).toEqual([undefined, undefined]);
    });

    test("a base brings many iterations at one seq, and iterations of earlier seqs", async () => {
      const store = fresh();
      await store.apply(batchTo(5));
      const old = rowsOf([["kept", "file:1"]], 2).map((row) => ({ ...row, iteration: 4 }));
      const base = Array.from({ length: 4_500 }, (_, i) => {
        const path = p(`f${String(i).padStart(5, "0")}`);
        return { path, seq: 6, iteration: 1, entry: entryAt(path) };
      });
      await store.apply(batchTo(6, { events: [eventAt(6, "snapshot:0")], iterations: [...base, ...old] }));
      let count = 0;
      let last = "";
      for await (const batch of store.entriesAt(6)) {
        expect(batch.length).toBeLessThanOrEqual(2_000);
        for (const row of batch) {
          expect(comparePaths(last, row.path)).toBeLessThan(0);
          last = row.path;
          count += 1;
        }
      }
      expect(count).toBe(4_501);
      expect(await entriesAt(store, 5)).toEqual(["kept"]);
      expect(await store.touched(1, 2)).toEqual(["kept"]);
      expect(await store.touched(0, 6)).toHaveLength(4_501);
      expect(await store.childrenAt(ROOT, 6)).toHaveLength(4_501);
    });

    test("a listing is not disturbed by events that are applied meanwhile", async () => {
      const store = fresh();
      const base = Array.from({ length: 5_000 }, (_, i) => {
        const path = p(`d${i % 50}/f${i}`);
        return { path, seq: 1, iteration: 1, entry: entryAt(path) };
      });
      await store.apply(batchTo(1, { iterations: base }));
      let count = 0;
      for await (const batch of store.entriesAt(1)) {
        count += batch.length;
        const { seq } = await store.head();
        await store.apply(
          batchTo(seq + 1, {
            iterations: rowsOf(
              [
                [`d3/new${seq}`, "file:x"],
                ["zz", "file:y"],
              ],
              seq,
            ).map((row) => ({ ...row, seq: seq + 1 })),
          }),
        );
      }
      expect(count).toBe(5_000);
    });

    test("a path of 3,000 components is kept", async () => {
      const store = fresh();
      const path = p(Array.from({ length: 3_000 }, () => "d").join("/"));
      await store.apply(batchTo(1, { iterations: [{ path, seq: 1, iteration: 1, entry: entryAt(path) }] }));
      expect(await entriesAt(store, 1)).toEqual([path]);
      expect(await store.touched(0, 1)).toEqual([path]);
      expect((await store.iterationAt(path, 1))?.iteration).toBe(1);
    });

    test("folder hashes are found at any seq", async () => {
      const store = fresh();
      const one = sha256("one");
      const two = sha256("two");
      const put = (seq: number, rows: [string, Hash | undefined][], after = 0): Promise<void> => {
        const hashes = rows.map(([path, hash]) => [path as WorkspacePath, hash] as const);
        return store.putTreeHashes(seq, { hashes, after });
      };
      await put(3, [
        ["", one],
        ["a", one],
        ["a/b", one],
      ]);
      await put(5, [
        ["", two],
        ["a/b", undefined],
      ]);
      expect(await store.treeSeq()).toBe(5);
      expect(await store.treeHashAt(ROOT, 2)).toBeUndefined();
      expect(await store.treeHashAt(ROOT, 4)).toBe(one);
      expect(await store.treeHashAt(ROOT, 5)).toBe(two);
      expect(await store.treeHashAt(p("a"), 99)).toBe(one);
      expect(await store.treeHashAt(p("a/b"), 4)).toBe(one);
      expect(await store.treeHashAt(p("a/b"), 5)).toBeUndefined();
      expect(await store.treeHashAt(p("a/none"), 5)).toBeUndefined();
      await put(5, [["", one]], 5);
      expect(await store.treeHashAt(ROOT, 5)).toBe(one);
      // The hashes of the events in between are missing.
      await put(9, [["a", two]], 7);
      expect([await store.treeSeq(), await store.treeHashAt(p("a"), 9)]).toEqual([5, two]);
      await put(8, [["a/b", two]], 4);
      expect(await store.treeSeq()).toBe(8);
      await put(9, [], 8);
      expect(await store.treeSeq()).toBe(9);
    });

    test("a reset empties the store, which can then be filled again", async () => {
      const store = fresh();
      await applySteps(store, [
        ["a/b", "file:1"],
        ["c", "file:1"],
      ]);
      await store.putTreeHashes(2, { hashes: [[p("a"), sha256("x")]], after: 0 });
      await store.reset();
      expect(await store.head()).toEqual({ seq: 0, hash: "", offset: 0, frontier: [] });
      expect(await entriesAt(store, 99)).toEqual([]);
      expect(await store.events({ from: 0, to: 99 })).toEqual([]);
      expect(await store.treeHashAt(p("a"), 99)).toBeUndefined();
      expect(await store.treeSeq()).toBe(0);
      await applySteps(store, [
        ["x/y", "file:1"],
        ["a/b", "file:1"],
      ]);
      expect(await entriesAt(store, 99)).toEqual(["a/b", "x/y"]);
    });
  });
}
