import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { comparePaths, parsePath, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { batchTo, entryAt, eventAt, rowsOf, type Step } from "../../testing/index-rows.ts";
import { indexStoreSuite } from "../../testing/index-store-suite.ts";
import type { IndexStore, IterationRow } from "../index-store.ts";
import { MemoryIndexStore } from "../memory/memory-index-store.ts";
import { discardSqliteFiles } from "./discard-sqlite-files.ts";
import { openSqliteIndexStore } from "./sqlite-index-store.ts";

let folder = "";
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-index-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const disk = new NodeDisk();
const freshPath = (): string => join(folder, `${(count += 1)}.db`);

indexStoreSuite("SqliteIndexStore", () => openSqliteIndexStore(freshPath(), disk));

/** Makes a closed index with a few thousand rows. Returns its path. */
async function filled(): Promise<string> {
  const path = freshPath();
  const store = openSqliteIndexStore(path, disk);
  const steps = Array.from({ length: 4_000 }, (_, i): Step => [`d${i % 40}/file-${i}`, `file:${i}`]);
  const iterations = rowsOf(steps);
  const events = iterations.map((row) => eventAt(row.seq, `file:${row.path}`));
  await store.apply(batchTo(iterations.length, { events, iterations }));
  await store.close();
  return path;
}

/** Reads every table. */
async function readAll(store: IndexStore): Promise<number> {
  let count = 0;
  for await (const batch of store.entriesAt(4_000)) count += batch.length;
  await store.events({ from: 1, to: 4_000 });
  await store.records("");
  await store.touched(0, 4_000);
  return count;
}

describe("SqliteIndexStore on disk", () => {
  test("applied rows are there when the index is opened again, and its files are private", async () => {
    const path = await filled();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const store = openSqliteIndexStore(path, disk);
    expect(await store.head()).toEqual(batchTo(4_000).head);
    expect(await readAll(store)).toBe(4_000);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    await store.close();
    await store.close();
  });

  test("two connections see one index, and a reset by one is noticed by the other", async () => {
    const path = freshPath();
    const one = openSqliteIndexStore(path, disk);
    const other = openSqliteIndexStore(path, disk);
    await one.apply(batchTo(1, { iterations: rowsOf([["a/b", "file:1"]]) }));
    expect(await other.head()).toEqual(batchTo(1).head);
    await other.apply(batchTo(2, { iterations: rowsOf([["c/d", "file:1"]], 2) }));
    await expect(one.apply(batchTo(2))).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    await other.reset();
    await other.apply(batchTo(1, { iterations: rowsOf([["x/y", "file:1"]]) }));
    await one.apply(batchTo(2, { iterations: rowsOf([["a/b", "file:2"]], 2) }));
    expect((await other.childrenAt(parsePath("a"), 2)).map((row) => row.path)).toEqual(["a/b"]);
    expect((await one.childrenAt(parsePath("x"), 2)).map((row) => row.path)).toEqual(["x/y"]);
    await one.close();
    await other.close();
  });

  test("rows that another connection has added since are found, whatever rows are remembered", async () => {
    const path = freshPath();
    const one = openSqliteIndexStore(path, disk);
    const other = openSqliteIndexStore(path, disk);
    const rows = rowsOf([
      ["a", "file:1"],
      ["a", "file:2"],
      ["a", "file:3"],
    ]);
    for (const [at, store] of [one, other, one].entries()) {
      const row = rows[at];
      await store.apply(batchTo(at + 1, { iterations: row === undefined ? [] : [row] }));
      await nextTurn();
      for (const asked of [one, other]) {
        expect(await asked.iterationAt(parsePath("a"), 9)).toEqual(row);
        expect(await asked.iterationsAt([parsePath("a")], at)).toEqual([rows[at - 1]]);
      }
      await nextTurn();
    }
    await one.close();
    await other.close();
  });

  test("answers about records are those of now, whichever connection has added an event", async () => {
    const path = freshPath();
    const [one, other] = [openSqliteIndexStore(path, disk), openSqliteIndexStore(path, disk)];
    const answers = async (store: IndexStore) => ({
      last: (await store.record("action:a"))?.seq,
      records: (await store.records("action:")).map(({ seq }) => seq),
      open: (await store.openRecords("")).map(({ seq }) => seq),
      jumps: (await store.clockJumps()).map(({ seq }) => seq),
    });
    const expectBoth = async (expected: Awaited<ReturnType<typeof answers>>): Promise<void> => {
      await nextTurn();
      for (const store of [one, other]) {
        expect(await answers(store)).toEqual(expected);
        // The second time, the answers are the remembered ones.
        expect(await answers(store)).toEqual(expected);
      }
      await nextTurn();
    };
    await expectBoth({ last: undefined, records: [], open: [], jumps: [] });
    const begun = (seq: number, id: string) => ({ ...eventAt(seq, id), open: true });
    await one.apply(batchTo(1, { events: [begun(1, "action:a")] }));
    await expectBoth({ last: 1, records: [1], open: [1], jumps: [] });
    await other.apply(batchTo(2, { events: [begun(2, "action:b")] }));
    await expectBoth({ last: 1, records: [1, 2], open: [1, 2], jumps: [] });
    // The clock was set back by a year.
    await other.apply(batchTo(3, { events: [{ ...eventAt(3, "action:a"), ts: "2025-01-31T09:30:00.000Z" }] }));
    await expectBoth({ last: 3, records: [2, 3], open: [2], jumps: [3] });
    // A batch that fails leaves nothing behind.
    const twice = [eventAt(4, "action:b"), eventAt(4, "action:b")];
    await expect(one.apply(batchTo(4, { events: twice }))).rejects.toThrow();
    await expectBoth({ last: 3, records: [2, 3], open: [2], jumps: [3] });
    await other.reset();
    await other.apply(batchTo(1, { events: [eventAt(1, "action:c")] }));
    await other.apply(batchTo(2));
    await other.apply(batchTo(3));
    await expectBoth({ last: undefined, records: [1], open: [], jumps: [] });
    await one.close();
    await other.close();
  });

  test("a check finds open flags that were damaged since they were read", async () => {
    const path = freshPath();
    const store = openSqliteIndexStore(path, disk);
    await store.apply(batchTo(2, { events: [eventAt(1, "action:a"), eventAt(2, "action:b")] }));
    expect(await store.openRecords("")).toEqual([]);
    await nextTurn();
    execute(path, "UPDATE events SET open = 1 WHERE seq = 2");
    expect(await store.check()).toEqual([]);
    expect((await store.openRecords("")).map(({ seq }) => seq)).toEqual([2]);
    await store.close();
  });

  test("a damaged note about the log's damage is found when it is read, and breaks nothing else", async () => {
    const path = freshPath();
    const store = openSqliteIndexStore(path, disk);
    await store.apply(batchTo(1));
    execute(path, "UPDATE state SET damaged_seq = 'x'");
    await nextTurn();
    await store.apply(batchTo(2));
    expect((await store.head()).seq).toBe(2);
    await expect(store.damagedSeq()).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    await store.reset();
    expect(await store.damagedSeq()).toBe(0);
    await store.close();
  });

  test.each([1, 300])("records that are no longer open count as closed, with %i events at once", async (count) => {
    const path = freshPath();
    const [one, other] = [openSqliteIndexStore(path, disk), openSqliteIndexStore(path, disk)];
    const begun = [1, 2].map((seq) => ({ ...eventAt(seq, `action:${seq}`), open: true }));
    await one.apply(batchTo(2, { events: begun }));
    const filling = Array.from({ length: count - 1 }, (_, i) => eventAt(3 + i, `user:${i}`));
    const last = count + 2;
    await other.apply(batchTo(last, { events: [...filling, eventAt(last, "action:1")] }));
    await nextTurn();
    for (const store of [one, other]) {
      expect((await store.openRecords("")).map(({ seq }) => seq)).toEqual([2]);
    }
    await one.apply(batchTo(last + 1, { events: [eventAt(last + 1, "action:2")] }));
    await nextTurn();
    for (const store of [one, other]) expect(await store.openRecords("")).toEqual([]);
    await one.close();
    await other.close();
  });

  test("a reset in the middle of a long read fails the read, instead of giving other rows", async () => {
    const path = await filled();
    const one = openSqliteIndexStore(path, disk);
    const other = openSqliteIndexStore(path, disk);
    const reading = one.entriesAt(4_000)[Symbol.asyncIterator]();
    await reading.next();
    await other.reset();
    // Within the same turn of the event loop, the reader continues in the state in which it began.
    await reading.next();
    await nextTurn();
    await expect(reading.next()).rejects.toMatchObject({ code: "IO" });
    await one.close();
    await other.close();
  });

  test("writes of another connection are seen at once after `fresh`, and otherwise from the next turn on", async () => {
    const path = await filled();
    const one = openSqliteIndexStore(path, disk);
    const other = openSqliteIndexStore(path, disk);
    const { seq } = await one.head();
    await other.apply(batchTo(seq + 1, { events: [eventAt(seq + 1, "user:a")] }));
    expect((await one.head()).seq).toBe(seq);
    expect(await one.locate(seq + 1)).toBeUndefined();
    one.fresh();
    expect((await one.head()).seq).toBe(seq + 1);
    expect(await one.locate(seq + 1)).toBeDefined();
    await other.apply(batchTo(seq + 2, { events: [eventAt(seq + 2, "user:a")] }));
    await nextTurn();
    expect((await one.record("user:a"))?.seq).toBe(seq + 2);
    // A connection sees its own changes at once, whatever it has read before.
    await one.apply(batchTo(seq + 3, { events: [eventAt(seq + 3, "user:b")] }));
    expect((await one.head()).seq).toBe(seq + 3);
    await one.close();
    await other.close();
  });

  test("an index of another format is opened empty, and works", async () => {
    const path = await filled();
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 99; ALTER TABLE events RENAME TO elsewhere; CREATE TABLE more (x)");
    db.close();
    const store = openSqliteIndexStore(path, disk);
    expect((await store.head()).seq).toBe(0);
    await store.apply(batchTo(1, { events: [eventAt(1, "user:a")] }));
    expect(await store.locate(1)).toEqual(eventAt(1, "user:a"));
    await store.close();
  });

  test("a file of no bytes is an empty index", async () => {
    const path = freshPath();
    writeFileSync(path, "");
    const store = openSqliteIndexStore(path, disk);
    expect((await store.head()).seq).toBe(0);
    await store.close();
  });

  const damages: readonly (readonly [string, (path: string) => void])[] = [
    ["garbage", (path) => writeFileSync(path, "this is no database at all, ".repeat(1_000))],
    ["a damaged header", (path) => writeFileSync(path, readFileSync(path).fill(0xaa, 16, 100))],
    ["a cut file", (path) => truncateSync(path, Math.floor(statSync(path).size / 2))],
    ["a file cut within its first page", (path) => truncateSync(path, 1_000)],
    ["a damaged first page", (path) => writeFileSync(path, readFileSync(path).fill(0xff, 100, 4_096))],
    // The number of the schema's format, in the last byte of bytes 44 to 47.
    ["a format that SQLite does not know", (path) => writeFileSync(path, readFileSync(path).fill(0x0c, 47, 48))],
    ["a state that is gone", (path) => execute(path, "DELETE FROM state")],
    ["a state of the wrong type", (path) => execute(path, "UPDATE state SET hash = 'zz'")],
    ["a missing table", (path) => execute(path, "DROP TABLE state")],
  ];

  function execute(path: string, sql: string): void {
    const db = new DatabaseSync(path);
    db.exec(sql);
    db.close();
  }

  test.each(damages)(
    "%s: an open fails with INTEGRITY_VIOLATION, and works again once the files are discarded",
    async (_, damage) => {
      const path = await filled();
      damage(path);
      expect(() => openSqliteIndexStore(path, disk)).toThrow(expect.objectContaining({ code: "INTEGRITY_VIOLATION" }));
      discardSqliteFiles(disk, path);
      expect([path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file))).toEqual([]);
      discardSqliteFiles(disk, path);
      const store = openSqliteIndexStore(path, disk);
      await store.apply(batchTo(1));
      await store.close();
    },
  );

  test("pages that are overwritten with garbage are found when they are read", async () => {
    const path = await filled();
    const bytes = readFileSync(path);
    for (let page = 8; page * 4_096 < bytes.length; page += 3) bytes.fill(0x5a, page * 4_096, page * 4_096 + 4_096);
    writeFileSync(path, bytes);
    const read = async (): Promise<number> => {
      const store = openSqliteIndexStore(path, disk);
      try {
        return await readAll(store);
      } finally {
        await store.close();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    const store = openSqliteIndexStore(path, disk);
    await store.reset();
    expect((await store.head()).seq).toBe(0);
    await store.apply(batchTo(1, { iterations: rowsOf([["a/b", "file:1"]]) }));
    expect(await store.touched(0, 9)).toEqual(["a/b"]);
    await store.close();
  });

  test("a row with an invalid value is refused when it is read", async () => {
    const path = await filled();
    execute(
      path,
      "UPDATE iterations SET kind = 9 WHERE seq = 5; UPDATE events SET op = 'no' WHERE seq = 7; PRAGMA user_version",
    );
    const store = openSqliteIndexStore(path, disk);
    const wrong = { code: "INTEGRITY_VIOLATION" };
    await expect(store.iterationAt(parsePath("d4/file-4"), 10)).rejects.toMatchObject(wrong);
    await expect(store.locate(7)).rejects.toMatchObject(wrong);
    expect((await store.locate(8))?.seq).toBe(8);
    await store.close();
  });
});

describe("SqliteIndexStore and MemoryIndexStore", () => {
  /** Generates numbers that look random and are the same each time. */
  function numbers(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
  }

  function randomRows(seed: number, seq: number): IterationRow[] {
    const next = numbers(seed);
    const names = ["a", "b", "a!", "ab", "\udcff", "ä", "z"];
    const rows = new Map<WorkspacePath, IterationRow>();
    for (let i = next(6); i >= 0; i -= 1) {
      const parts = Array.from({ length: 1 + next(3) }, () => names[next(names.length)]);
      const path = parts.join("/") as WorkspacePath;
      const kind = (["file", "dir", "symlink"] as const)[next(3)];
      rows.set(path, {
        path,
        seq,
        iteration: seq,
        entry: next(3) === 0 ? undefined : entryAt(path, kind, `${next(9)}`),
      });
    }
    return [...rows.values()];
  }

  async function answers(store: IndexStore, seq: number): Promise<unknown> {
    const entries: IterationRow[] = [];
    for await (const batch of store.entriesAt(seq)) entries.push(...batch);
    expect(entries.map((row) => row.path)).toEqual(entries.map((row) => row.path).sort(comparePaths));
    const paths = [...(await store.touched(0, seq))];
    return {
      entries,
      paths,
      children: await store.childrenAt(parsePath("a"), seq),
      root: await store.childrenAt(ROOT, seq),
      at: await store.iterationsAt(paths, seq),
      touched: await store.touched(seq - 3, seq),
      named: await store.pathsNamed("b"),
      records: await store.records("file:"),
      histories: await Promise.all(paths.map((path) => store.recordHistory(`file:${path.toWellFormed()}`))),
      all: await Promise.all(paths.map((path) => store.iterations(path))),
    };
  }

  test.each([1, 2, 3, 4, 5])("give the same answers to a random history (%i)", async (seed) => {
    const memory = new MemoryIndexStore();
    const sqlite = openSqliteIndexStore(freshPath(), disk);
    for (let seq = 1; seq <= 60; seq += 1) {
      const iterations = randomRows(seed * 1_000 + seq, seq);
      const events = [eventAt(seq, `file:${iterations[0]?.path.toWellFormed() ?? "none"}`)];
      for (const store of [memory, sqlite]) await store.apply(batchTo(seq, { events, iterations }));
    }
    for (const seq of [0, 1, 7, 30, 59, 60, 61]) expect(await answers(sqlite, seq)).toEqual(await answers(memory, seq));
    await sqlite.close();
  });
});
