/** The behaviours of the second seed for a record store in a folder of its own: data and life cycle. Titles are its lines. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RecordStoreApi } from "../../src/api/record-api.ts";
import { sealEvents } from "../../src/core/log/chain.ts";
import type { RecordBody } from "../../src/core/values/event.ts";
import { openRecordStore } from "../../src/open.ts";
import { collected, RecordFolder } from "../helpers/record-folder.ts";

const values = async (store: RecordStoreApi): Promise<unknown[]> =>
  (await store.all()).map(([, record]) => record["n"]);

describe("data", () => {
  it("ids: a single char, 256 chars, CJK, emoji, RTL, quotes, backslashes, newline, tab", async () => {
    await using folder = new RecordFolder();
    const ids = [
      "x",
      "n".repeat(256),
      "漢字かな",
      "👩‍👩‍👧🏳️‍🌈",
      "שלום مرحبا",
      `q"u'o\\te`,
      "line\nbreak\ttab\0",
      " ",
      "null",
      "user:a",
      "__proto__",
    ];
    const store = await folder.store();
    for (const id of ids) await store.upsert(id, { [id === "__proto__" ? "p" : id]: id });
    await store.compact();
    await store.close();
    for (const id of ids) expect(await store.get(id)).toEqual({ [id === "__proto__" ? "p" : id]: id });
    expect((await store.all()).map(([id]) => id)).toEqual(ids.toSorted());
    expect((await collected(store.replay())).map((event) => event.record_id)).toEqual(ids);
    expect(await store.chainValid()).toBe(true);
  });

  it("nested, null, empty strings, numbers of all kinds, a 100 KB payload, a 1 MB line", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    const records: readonly RecordBody[] = [
      { a: { b: [{ c: [[], {}] }] }, null: null, "": "", text: "" },
      { f: 0.1, e: 1e300, small: 5e-324, big: 2 ** 60, int: -7, bool: [true, false] },
      { 10: "ten", 9: "nine", a: 1, toString: "own", constructor: 1 },
      { payload: "payload ".repeat(12_800) },
      { line: '\u{1f600}\\"'.repeat(180_000) },
      {},
    ];
    for (const [i, record] of records.entries()) await store.upsert(`r${i}`, record);
    await store.compact();
    await store.close();
    for (const [i, record] of records.entries()) expect(await store.get(`r${i}`)).toEqual(record);
    rmSync(folder.at("snapshot.json"));
    await store.close();
    for (const [i, record] of records.entries()) expect(await store.get(`r${i}`)).toEqual(record);
    expect(await store.chainValid()).toBe(true);
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const hidden = Object.defineProperty({}, "a", { value: 1, enumerable: false });
  it.each([
    ["NaN", { a: Number.NaN }],
    ["an infinity", { a: [Number.POSITIVE_INFINITY] }],
    ["undefined", { a: undefined }],
    ["a function", { a: () => 1 }],
    ["a bigint", { a: 1n }],
    ["a date", { a: new Date(0) }],
    ["a map", new Map()],
    ["a list", []],
    ["null", null],
    ["text", "text"],
    ["half a character", { a: "\ud800" }],
    ["half a character in a key", { "\udfff": 1 }],
    ["a key __proto__", JSON.parse('{"a":{"__proto__":{"b":1}}}') as unknown],
    ["a prototype with data", Object.create({ a: 1 }) as unknown],
    ["a symbol", { [Symbol("s")]: 1 }],
    ["a hidden key", hidden],
    ["a hole", { a: Array.from({ length: 2 }).fill(undefined) }],
    ["a circle", circle],
    ["toJSON", { toJSON: () => ({}) }],
  ])("refused: %s", async (_name, record) => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    await expect(store.upsert("a", record as never)).rejects.toMatchObject({ code: "USAGE", hint: expect.any(String) });
    expect(await store.verify()).toMatchObject({ ok: true, events: 1 });
  });

  it.each([
    ["empty", ""],
    ["half a character", "\ud800"],
    ["1,025 bytes", "x".repeat(1025)],
    ["a number", 7 as never],
  ])("refused as an id: %s", async (_name, id) => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    for (const call of [() => store.upsert(id, {}), () => store.get(id), () => store.delete(id)]) {
      await expect(call()).rejects.toMatchObject({ code: "USAGE" });
    }
    await expect(store.upsert("a", {}, { recursionDepth: -1 })).rejects.toMatchObject({ code: "USAGE" });
  });
});

describe("life cycle", () => {
  it("open, close, open; directory created if missing", async () => {
    await using folder = new RecordFolder();
    expect(existsSync(folder.folder)).toBe(false);
    await folder.closed(3);
    const store = await folder.store();
    expect(await values(store)).toEqual([1, 2, 3]);
    await store.upsert("k4", { n: 4 });
    await store.close();
    expect(await values(await folder.store())).toEqual([1, 2, 3, 4]);
    expect(statSync(folder.folder).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(folder.folder)) expect(statSync(folder.at(name)).mode & 0o077).toBe(0);
  });

  it("use after close reopens; closed twice is closed", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    await store.upsert("a", { n: 1 });
    await store.close();
    await store.close();
    expect(await store.get("a")).toEqual({ n: 1 });
    await store.upsert("b", { n: 2 });
    expect(await store.chainValid()).toBe(true);
  });

  it("double open idempotent: both see everything, writes of both are one chain", async () => {
    await using folder = new RecordFolder();
    const [one, two] = [await folder.store(), await folder.store()];
    await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? one : two).upsert(`k${n}`, { n })));
    expect(await one.all()).toEqual(await two.all());
    expect(await one.all()).toHaveLength(40);
    expect(await one.verify()).toMatchObject({ ok: true, events: 81 });
    await one.compact();
    await two.upsert("after", {});
    expect(await one.get("after")).toEqual({});
    expect(await two.chainValid()).toBe(true);
  });

  it("two writers: the second waits, or gets LOCKED", async () => {
    await using folder = new RecordFolder();
    const [one, two] = [await folder.store(), await folder.store({ waitMs: 20 })];
    let inside: Promise<unknown> = Promise.resolve();
    await one.upsert("a", { n: 1 });
    await one.migrate((record) => {
      // This write is requested while the first store holds the lock.
      inside = two.upsert("b", {}).catch((error: unknown) => error);
      return record;
    });
    expect(await inside).toMatchObject({ record_id: "b" });
    const { SqliteLock } = await import("../../src/storage/sqlite/sqlite-lock.ts");
    const { NodeDisk } = await import("../../src/disk/node-disk.ts");
    const lock = new SqliteLock(new NodeDisk(), folder.at("lock.db"));
    const held = await lock.exclusive(1_000);
    await expect(two.upsert("c", {})).rejects.toMatchObject({ code: "LOCKED" });
    expect(await two.get("b")).toEqual({});
    const waiting = one.upsert("c", {});
    held.release();
    expect(await waiting).toMatchObject({ record_id: "c" });
    lock.close();
  });

  it("compact on empty is 0, compact shrinks, seq goes on", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    expect(await store.compact()).toBe(0);
    for (let n = 1; n <= 100; n += 1) await store.upsert("same", { n, text: "x".repeat(100) });
    const before = statSync(folder.log).size;
    expect(await store.compact()).toBe(201);
    expect(await store.compact()).toBe(0);
    expect(statSync(folder.log).size).toBeLessThan(before / 10);
    expect(folder.lines).toHaveLength(1);
    expect(await store.upsert("next", {})).toMatchObject({ seq: 203 });
    expect(await store.compact()).toBe(3);
    expect(folder.names("bases")).toHaveLength(1);
    expect(folder.names("archive")).toHaveLength(2);
    expect(await store.verify()).toMatchObject({ ok: true, events: 205 });
    expect(await collected(store.replay())).toHaveLength(101);
    // If the base is lost, the records are read from the archive, and verify reports the base as missing.
    rmSync(folder.at("bases"), { recursive: true });
    rmSync(folder.at("snapshot.json"));
    await store.close();
    expect(await store.get("same")).toMatchObject({ n: 100 });
    expect(await store.verify()).toMatchObject({ ok: false, problems: [{ kind: "base-missing" }] });
  });

  it("backup is readable, twice gives two", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    for (let n = 0; n < 70; n += 1) await store.upsert(`k${n}`, { n });
    await store.compact();
    await store.upsert("last", { n: 70 });
    const beneath = join(folder.base, "backups");
    const copies = [await store.backup(beneath), await store.backup(beneath)];
    expect(new Set(copies).size).toBe(2);
    expect(readdirSync(beneath)).toHaveLength(2);
    for (const copy of copies) {
      await using reader = await openRecordStore({ folder: copy, readOnly: true });
      expect(await reader.all()).toEqual(await store.all());
      expect(await reader.verify()).toMatchObject({ ok: true, events: 144, notes: [] });
      await using writer = await openRecordStore({ folder: copy });
      await writer.upsert("more", {});
      expect(await writer.chainValid()).toBe(true);
    }
  });

  it("replay(from) and from a future seq; deletes and depths are in it", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    await store.upsert("a", { n: 1 }, { recursionDepth: 3 });
    await store.delete("a", { recursionDepth: 1 });
    await store.upsert("b", { n: 2 });
    const events = await collected(store.replay());
    expect(events.map(({ seq, op, record_id: id, recursion_depth: depth }) => [seq, op, id, depth])).toEqual([
      [2, "upsert", "a", 3],
      [4, "delete", "a", 1],
      [6, "upsert", "b", 0],
    ]);
    expect(await collected(store.replay(6))).toEqual(events.slice(2));
    expect(await collected(store.replay(7))).toEqual([]);
    expect(await collected(store.replay(1e9))).toEqual([]);
    await expect(collected(store.replay(-1))).rejects.toMatchObject({ code: "USAGE" });
  });

  it("export active only; delete of an unknown id is safe; a tombstone persists", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    await store.upsert("a", { n: 1 });
    await store.upsert("b", { z: 1, n: 2 });
    expect(await store.delete("nobody")).toBeUndefined();
    expect(await store.delete("a")).toMatchObject({ op: "delete", record: {}, record_id: "a" });
    expect(await store.delete("a")).toBeUndefined();
    expect(await store.get("a")).toBeUndefined();
    expect(await collected(store.export())).toEqual(['{"id":"b","record":{"n":2,"z":1}}']);
    await store.compact();
    await store.close();
    expect(await store.get("a")).toBeUndefined();
    expect(readFileSync(folder.at("archive/0000000000000001-0000000000000007.wal"), "utf8")).toContain('"op":"delete"');
    await store.upsert("a", { n: 3 });
    expect(await store.get("a")).toEqual({ n: 3 });
  });

  it("two readers agree; a reader after a writer sees all", async () => {
    await using folder = new RecordFolder();
    const writer = await folder.store();
    const readers = [await folder.store({ readOnly: true }), await folder.store({ readOnly: true })];
    for (let n = 0; n < 120; n += 1) {
      await writer.upsert(`k${n % 10}`, { n });
      if (n % 40 === 0) await writer.compact();
      for (const reader of readers) expect(await reader.get(`k${n % 10}`)).toEqual({ n });
    }
    expect(await readers[0]?.all()).toEqual(await readers[1]?.all());
    await expect(openRecordStore({ folder: join(folder.base, "none"), readOnly: true })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("exception inside the with-block: what was written stays, and the store is closed", async () => {
    await using folder = new RecordFolder();
    const work = async () => {
      using store = await openRecordStore({ folder: folder.folder });
      await store.upsert("a", { n: 1 });
      throw new Error("in the block");
    };
    await expect(work()).rejects.toThrow("in the block");
    const store = await folder.store();
    expect(folder.has("head.json")).toBe(true);
    expect(await store.get("a")).toEqual({ n: 1 });
    expect(await store.chainValid()).toBe(true);
  });

  it("the log of a workspace is not taken for a record store", async () => {
    await using folder = new RecordFolder();
    await folder.closed(1);
    folder.forgetBound();
    const drafts = [{ op: "upsert" as const, recordId: "workspace:w", record: {} }];
    const [event] = sealEvents({ seq: 0, hash: "" }, drafts, "2026-01-31T09:30:00.000Z");
    folder.write("events.wal", `${event?.line}\n`);
    await expect(folder.store()).rejects.toMatchObject({ code: "USAGE" });
    expect(readFileSync(folder.log, "utf8")).toBe(`${event?.line}\n`);
  });
});
