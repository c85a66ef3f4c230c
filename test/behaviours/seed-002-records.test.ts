/** The behaviours of the second seed for a record store in a folder of its own, on the real disk. Titles are its lines. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RecordStoreApi } from "../../src/api/record-api.ts";
import { sealEvents } from "../../src/core/chain.ts";
import type { RecordBody } from "../../src/core/event.ts";
import type { Hash } from "../../src/core/hash.ts";
import { openRecordStore } from "../../src/open.ts";
import { collected, RecordFolder } from "../helpers/record-folder.ts";

const all = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
const edit = (at: number, change: (line: string) => string) => (lines: readonly string[]) =>
  all(lines.map((line, i) => (i === at ? change(line) : line)));
const values = async (store: RecordStoreApi): Promise<unknown[]> =>
  (await store.all()).map(([, record]) => record["n"]);

describe("the chain", () => {
  it("10 appends are valid, and in-memory mutation does not matter", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    const record = { n: 0, list: [1] };
    for (let n = 0; n < 10; n += 1) {
      record.n = n;
      const event = await store.upsert(`k${n}`, record);
      Object.assign(event.record, { n: "changed" });
      Object.assign(event, { hash: "changed" });
    }
    record.list.push(2);
    for (const [, one] of await store.all()) Object.assign(one, { n: "changed" });
    Object.assign((await store.get("k3")) ?? {}, { n: "changed" });
    expect(await store.chainValid()).toBe(true);
    expect(await store.get("k3")).toEqual({ n: 3, list: [1] });
    expect(await values(store)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("every line is JSON with seq, op and hash; seq + 1 per write; hash 64 lower-case hex; prev_hash contiguous", async () => {
    await using folder = new RecordFolder();
    await folder.closed(9);
    let previous = "";
    for (const [i, line] of folder.lines.entries()) {
      const event = JSON.parse(line) as Record<string, unknown>;
      expect([event["seq"], event["prev_hash"]]).toEqual([i + 1, previous]);
      expect(event["hash"]).toMatch(/^[0-9a-f]{64}$/);
      expect(event["op"]).toBe("upsert");
      previous = String(event["hash"]);
    }
    expect(folder.lines).toHaveLength(10);
    expect(JSON.parse(folder.lines[0] ?? "")).toMatchObject({ record_id: expect.stringMatching(/^store:/) });
  });

  it("valid after 1, after delete, after compact, after compact + append, after a failed migrate", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    const valid = async () => expect(await store.verify()).toMatchObject({ ok: true, problems: [] });
    await valid();
    await store.upsert("a", { n: 1 });
    await valid();
    await store.delete("a");
    await valid();
    await store.upsert("b", { n: 2 });
    await store.upsert("c", { n: 3 });
    expect(await store.compact()).toBe(5);
    await valid();
    await store.upsert("d", { n: 4 });
    await valid();
    const failing = store.migrate((record, id) => {
      if (id === "c") throw new Error("not this one");
      return { ...record, moved: true };
    });
    await expect(failing).rejects.toThrow("not this one");
    await valid();
    expect(await store.all()).toEqual([
      ["b", { n: 2 }],
      ["c", { n: 3 }],
      ["d", { n: 4 }],
    ]);
    expect(await store.migrate((record, id) => ({ ...record, id }))).toBe(3);
    await valid();
    expect((await collected(store.replay(8))).map(({ op, record }) => [op, record])).toEqual([
      ["migrate", { n: 2, id: "b" }],
      ["migrate", { n: 3, id: "c" }],
      ["migrate", { n: 4, id: "d" }],
    ]);
    // From the sentinel without the archive, too.
    rmSync(folder.at("archive"), { recursive: true });
    expect(await store.verify()).toMatchObject({ ok: true, notes: [expect.stringContaining("compacted away")] });
    await store.close();
    rmSync(folder.at("snapshot.json"));
    expect(await (await folder.store()).all()).toHaveLength(3);
  });

  it("a log copied to another directory opens and verifies", async () => {
    await using folder = new RecordFolder();
    await folder.closed(60);
    const copy = join(folder.base, "copy");
    cpSync(folder.folder, copy, { recursive: true });
    await using store = await openRecordStore({ folder: copy });
    expect(await store.verify()).toMatchObject({ ok: true, events: 61 });
    const bareFolder = join(folder.base, "bare");
    mkdirSync(bareFolder);
    cpSync(folder.log, join(bareFolder, "events.wal"));
    await using bare = await openRecordStore({ folder: bareFolder });
    expect(await bare.chainValid()).toBe(true);
    expect(await bare.all()).toHaveLength(60);
  });
});

/** Name, what is done to a log of nine events, how many records are left of eight. */
const damages: readonly [string, (lines: readonly string[]) => string | Uint8Array, number][] = [
  ["edited record detected", edit(2, (line) => line.replace('"n":2', '"n":9')), 7],
  ["bad hash detected", edit(2, (line) => line.replace(/"hash":"./, '"hash":"g')), 7],
  ["bad prev_hash detected", edit(2, (line) => line.replace(/"prev_hash":"[0-9a-f]{8}/, '"prev_hash":"00000000')), 7],
  ["missing hash: invalid, no crash", edit(2, (line) => line.replace(/"hash":"[0-9a-f]{64}",/, "")), 7],
  ["wrong field types handled", edit(2, (line) => line.replace('"seq":3', '"seq":"3"')), 7],
  ["a line that is no object", edit(2, () => "[1,2]"), 7],
  ["garbage line in the middle", edit(2, () => "%%% not json %%%"), 7],
  ["binary bytes at start", edit(0, (line) => `\u0000\u0001\u00ff${line}`), 8],
  ["empty file", () => "", 0],
  ["whitespace only", () => " \n\n  \n", 0],
  ["NUL bytes", edit(2, (line) => "\0".repeat(line.length)), 7],
  ["CRLF", (lines) => lines.map((line) => `${line}\r\n`).join(""), 0],
  ["duplicate seq", (lines) => all([...lines.slice(0, 3), lines[2] ?? "", ...lines.slice(3)]), 8],
  ["a missing line", (lines) => all(lines.toSpliced(2, 1)), 7],
  ["cut at newline boundary opens, and is REPORTED", (lines) => all(lines.slice(0, 4)), 3],
  ["a cut within a line", (lines) => all(lines).slice(0, -30), 7],
  ["another store's log", (lines) => all(lines.map((line) => line.replaceAll(/[0-9a-f]{64}/g, "0".repeat(64)))), 0],
];

describe("damage below what was acknowledged: reported, nothing is written, the rest can be read", () => {
  it.each(damages)("%s", async (_name, damage, left) => {
    await using folder = new RecordFolder();
    await folder.closed(8);
    const damaged = damage(folder.lines);
    folder.write("events.wal", damaged);
    const store = await folder.store();
    expect(await store.chainValid()).toBe(false);
    expect(await store.notes()).not.toEqual([]);
    expect(await store.all()).toHaveLength(left);
    expect(await collected(store.replay())).toHaveLength(left);
    const refused = { code: expect.stringMatching(/^(LOG_DAMAGED|ROLLBACK_DETECTED)$/), hint: expect.any(String) };
    await expect(store.upsert("x", {})).rejects.toMatchObject(refused);
    await expect(store.compact()).rejects.toMatchObject(refused);
    await store.close();
    expect(readFileSync(folder.log)).toEqual(Buffer.from(damaged));
  });

  it("a whole other log of the same length is not taken for this one", async () => {
    await using folder = new RecordFolder();
    await using other = new RecordFolder();
    await folder.closed(8);
    await other.closed(8);
    cpSync(other.log, folder.log);
    const store = await folder.store();
    expect(await store.notes()).toEqual([expect.stringContaining("was replaced")]);
    expect(await store.chainValid()).toBe(false);
  });
});

const tails: readonly [string, (lines: readonly string[]) => string | Uint8Array, number][] = [
  ["torn last line skipped, earlier records survive", (lines) => all(lines).slice(0, -30), 7],
  ["a line without its newline", (lines) => all(lines).slice(0, -1), 7],
  ["zeros behind the end", (lines) => Buffer.concat([Buffer.from(all(lines)), Buffer.alloc(4096)]), 8],
  ["half a 1 MB line", (lines) => `${all(lines)}{"hash":"${"x".repeat(1_000_000)}`, 8],
  ["whole lines of garbage", (lines) => `${all(lines)}garbage\nmore\n`, 8],
  ["whitespace only", () => " \n\n  \n", 0],
  ["nothing", () => "", 0],
];

describe("above what was acknowledged a tail is torn: kept in quarantine, reported, never glued to the next append", () => {
  it.each(tails)("%s", async (_name, tear, kept) => {
    await using folder = new RecordFolder();
    await folder.closed(8);
    const before = folder.lines;
    const torn = Buffer.from(tear(before));
    folder.write("events.wal", torn);
    folder.forgetBound();
    const store = await folder.store();
    expect(await store.all()).toHaveLength(kept);
    await store.upsert("after", { n: 99 });
    expect(await store.all()).toHaveLength(kept + 1);
    expect(await store.chainValid()).toBe(true);
    if (kept > 0) expect(folder.lines.slice(0, kept + 1)).toEqual(before.slice(0, kept + 1));
    expect(folder.names("quarantine")).toHaveLength(torn.length === 0 ? 0 : 1);
    if (torn.length > 0) {
      expect(await store.notes()).toEqual(expect.arrayContaining([expect.stringContaining("quarantine/")]));
      expect(readFileSync(folder.log, "utf8")).toContain('"record_id":"recovery:');
    }
  });

  it("a reader does not move it away, and reads what is before it", async () => {
    await using folder = new RecordFolder();
    await folder.closed(8);
    const torn = `${all(folder.lines)}{"hash`;
    folder.write("events.wal", torn);
    const reader = await folder.store({ readOnly: true });
    expect(await reader.all()).toHaveLength(8);
    expect(await reader.verify()).toMatchObject({ ok: true, notes: [expect.stringContaining("torn by a crash")] });
    await expect(reader.upsert("x", {})).rejects.toMatchObject({ code: "READ_ONLY" });
    expect(readFileSync(folder.log, "utf8")).toBe(torn);
  });
});

describe("snapshot.json", () => {
  it("exactly 50: snapshot; 51: snapshot + 1 tail; 100: two cycles", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    const seen: (number | undefined)[] = [];
    for (let n = 1; n <= 101; n += 1) {
      await store.upsert(`k${n}`, { n });
      if ([49, 50, 51, 99, 100, 101].includes(n)) seen.push(folder.checkpoint);
    }
    // Event 1 is the store's own.
    expect(seen).toEqual([undefined, 51, 51, 51, 101, 101]);
  });

  /** What is done to the snapshot of a store with 120 records, closed at event 121. */
  const spoiled: readonly [string, (text: string) => string | undefined][] = [
    ["truncated snapshot: full replay", (text) => text.slice(0, 200)],
    ["missing snapshot", () => undefined],
    ["empty", () => ""],
    ["not JSON", () => "%%%"],
    ["another JSON", () => '{"records":[]}\n'],
    ["malformed record inside", (text) => text.replace('"record":{"n":7}', '"record":{"n":7')],
    ["an edited record inside", (text) => text.replace('"record":{"n":7}', '"record":{"n":8}')],
    ["empty records", (text) => text.replace(/"records":\[[^]*\n\]/, '"records":[\n]')],
    ["NUL bytes", (text) => "\0".repeat(text.length)],
  ];

  it.each(spoiled)("%s", async (_name, spoil) => {
    await using folder = new RecordFolder();
    await folder.closed(120);
    const text = spoil(readFileSync(folder.at("snapshot.json"), "utf8"));
    if (text === undefined) rmSync(folder.at("snapshot.json"));
    else folder.write("snapshot.json", text);
    const store = await folder.store();
    expect(await store.all()).toHaveLength(120);
    expect(await store.get("k7")).toEqual({ n: 7 });
    expect(await store.verify()).toMatchObject({ ok: true, problems: [] });
    await store.upsert("next", { n: 121 });
    expect(folder.checkpoint).toBe(122);
  });

  it("one with a right checksum that is wrong all the same is found by verify", async () => {
    await using folder = new RecordFolder();
    await folder.closed(50);
    const { sha256 } = await import("../../src/core/hash.ts");
    const text = readFileSync(folder.at("snapshot.json"), "utf8").replace('"record":{"n":7}', '"record":{"n":8}');
    const state = text.slice(text.indexOf('"state":') + 8, -2);
    folder.write("snapshot.json", `{"checksum":"${sha256(state)}","state":${state}}\n`);
    const store = await folder.store();
    expect(await store.verify()).toMatchObject({ ok: false, problems: [{ kind: "checkpoint-wrong" }] });
  });

  it("snapshot seq beyond the log: discarded, the log replayed, reported as a roll-back", async () => {
    await using folder = new RecordFolder();
    await folder.closed(120);
    rmSync(folder.at("head.json"));
    folder.write("events.wal", all(folder.lines.slice(0, 80)));
    const store = await folder.store();
    expect(await store.all()).toHaveLength(79);
    expect(await store.notes()).toEqual(
      expect.arrayContaining([expect.stringContaining("event 101 was recorded before")]),
    );
    await expect(store.upsert("x", {})).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    // The way out that the hint names.
    await store.close();
    folder.forgetBound();
    await store.upsert("x", { n: 1 });
    expect(await store.verify()).toMatchObject({ ok: true, events: 81 });
  });

  it("crash after temp write before rename; stale temp from an earlier crash", async () => {
    await using folder = new RecordFolder();
    await folder.closed(49);
    folder.write("snapshot.json.new", "half of a snap");
    const store = await folder.store();
    await store.upsert("k50", { n: 50 });
    expect(folder.checkpoint).toBe(51);
    expect(folder.has("snapshot.json.new")).toBe(false);
    expect(await store.chainValid()).toBe(true);
  });

  it("10,000+ events with snapshot opens in under 500 ms", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    await store.upsert("k0", { n: 0 });
    await store.close();
    const last = JSON.parse(folder.lines.at(-1) ?? "") as { seq: number; hash: Hash };
    const drafts = Array.from({ length: 12_000 }, (_, i) => ({
      op: "upsert" as const,
      recordId: `user:k${i}`,
      record: { text: `number ${i}`, n: i, tags: ["a", "b"] },
    }));
    const sealed = sealEvents(last, drafts, new Date().toISOString());
    writeFileSync(folder.log, all(sealed.map((event) => event.line)), { flag: "a" });
    await store.upsert("last", { n: -1 });
    await store.close();
    expect(folder.checkpoint).toBe(12_003);
    const began = performance.now();
    const again = await openRecordStore({ folder: folder.folder });
    expect((await again.get("k9999"))?.["n"]).toBe(9999);
    expect(performance.now() - began).toBeLessThan(500);
    expect(await again.chainValid()).toBe(true);
    await again.close();
  });

  it("above 5,000 records it is written less often, by their number", async () => {
    await using folder = new RecordFolder();
    const store = await folder.store();
    await store.upsert("first", { n: 0 });
    await store.close();
    const last = JSON.parse(folder.lines.at(-1) ?? "") as { seq: number; hash: Hash };
    const drafts = Array.from({ length: 10_000 }, (_, i) => ({
      op: "upsert" as const,
      recordId: `user:k${i}`,
      record: {},
    }));
    const sealed = sealEvents(last, drafts, new Date().toISOString());
    writeFileSync(folder.log, all(sealed.map((event) => event.line)), { flag: "a" });
    await store.upsert("a", {});
    const first = folder.checkpoint;
    for (let n = 0; n < 100; n += 1) await store.upsert("a", { n });
    expect(folder.checkpoint).toBe(first);
    for (let n = 0; n < 5; n += 1) await store.upsert("a", { n });
    expect((folder.checkpoint ?? 0) - (first ?? 0)).toBe(101);
  });
});

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
    expect(await one.verify()).toMatchObject({ ok: true, events: 41 });
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
      // Asked for while the lock is held, and for as long as this blocks.
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
    expect(await store.compact()).toBe(101);
    expect(await store.compact()).toBe(0);
    expect(statSync(folder.log).size).toBeLessThan(before / 10);
    expect(folder.lines).toHaveLength(1);
    expect(await store.upsert("next", {})).toMatchObject({ seq: 103 });
    expect(await store.compact()).toBe(2);
    expect(folder.names("bases")).toHaveLength(1);
    expect(folder.names("archive")).toHaveLength(2);
    expect(await store.verify()).toMatchObject({ ok: true, events: 104 });
    expect(await collected(store.replay())).toHaveLength(101);
    // A base that is lost is found missing, and the archive stands in for it.
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
      expect(await reader.verify()).toMatchObject({ ok: true, events: 73, notes: [] });
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
      [3, "delete", "a", 1],
      [4, "upsert", "b", 0],
    ]);
    expect(await collected(store.replay(4))).toEqual(events.slice(2));
    expect(await collected(store.replay(5))).toEqual([]);
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
    expect(readFileSync(folder.at("archive/0000000000000001-0000000000000004.wal"), "utf8")).toContain('"op":"delete"');
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
