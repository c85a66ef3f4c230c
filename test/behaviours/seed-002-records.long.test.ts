/** The behaviours of the second seed for a record store in a folder of its own, on the real disk: chain, damage, snapshot (data and life cycle: `seed-002-records-life.test.ts`). Titles are its lines. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RecordStoreApi } from "../../src/api/record-api.ts";
import type { Hash } from "../../src/core/values/hash.ts";
import { openRecordStore } from "../../src/open.ts";
import { sealCommit } from "../../src/testing/seal-commit.ts";
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

  it("every line is JSON with seq, op and hash; seq + 1 per line; hash 64 lower-case hex; prev_hash contiguous", async () => {
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
    expect(folder.lines).toHaveLength(19);
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
    expect(await store.compact()).toBe(9);
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
    expect((await collected(store.replay(13))).map(({ op, record }) => [op, record])).toEqual([
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
    expect(await store.verify()).toMatchObject({ ok: true, events: 121 });
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
  ["edited record detected", edit(3, (line) => line.replace('"n":2', '"n":9')), 7],
  ["bad hash detected", edit(3, (line) => line.replace(/"hash":"./, '"hash":"g')), 7],
  ["bad prev_hash detected", edit(3, (line) => line.replace(/"prev_hash":"[0-9a-f]{8}/, '"prev_hash":"00000000')), 7],
  ["missing hash: invalid, no crash", edit(3, (line) => line.replace(/"hash":"[0-9a-f]{64}",/, "")), 7],
  ["wrong field types handled", edit(3, (line) => line.replace('"seq":4', '"seq":"4"')), 7],
  ["a line that is no object", edit(3, () => "[1,2]"), 7],
  ["garbage line in the middle", edit(3, () => "%%% not json %%%"), 7],
  ["binary bytes at start", edit(0, (line) => `\u0000\u0001\u00ff${line}`), 8],
  ["empty file", () => "", 0],
  ["whitespace only", () => " \n\n  \n", 0],
  ["NUL bytes", edit(3, (line) => "\0".repeat(line.length)), 7],
  ["CRLF", (lines) => lines.map((line) => `${line}\r\n`).join(""), 0],
  ["duplicate seq", (lines) => all([...lines.slice(0, 3), lines[2] ?? "", ...lines.slice(3)]), 8],
  ["a missing line", (lines) => all(lines.toSpliced(3, 1)), 7],
  ["cut at newline boundary opens, and is REPORTED", (lines) => all(lines.slice(0, 7)), 3],
  ["a cut within a line", (lines) => all(lines).slice(0, -30), 8],
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
    // Event 1 is the store's own; a write is its record and the end of its commit.
    expect(seen).toEqual([undefined, 101, 101, 101, 201, 201]);
  });

  /** What is done to the snapshot of a store with 120 records, closed at event 241. */
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
    expect(folder.checkpoint).toBe(243);
  });

  it("one with a right checksum that is wrong all the same is found by verify", async () => {
    await using folder = new RecordFolder();
    await folder.closed(50);
    const { sha256 } = await import("../../src/core/values/hash.ts");
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
    folder.write("events.wal", all(folder.lines.slice(0, 81)));
    const store = await folder.store();
    expect(await store.all()).toHaveLength(40);
    expect(await store.notes()).toEqual(
      expect.arrayContaining([expect.stringContaining("event 201 was recorded before")]),
    );
    await expect(store.upsert("x", {})).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    // The way out that the hint names.
    await store.close();
    folder.forgetBound();
    await store.upsert("x", { n: 1 });
    expect(await store.verify()).toMatchObject({ ok: true, events: 83 });
  });

  it("that of another store: discarded", async () => {
    await using folder = new RecordFolder();
    await using other = new RecordFolder();
    await folder.closed(60);
    await other.closed(100, (n) => `other${n}`);
    cpSync(other.at("snapshot.json"), folder.at("snapshot.json"));
    const store = await folder.store();
    expect(await store.notes()).toEqual([expect.stringContaining("belongs to another store")]);
    expect(await store.all()).toHaveLength(60);
    await store.upsert("next", {});
    expect(await store.chainValid()).toBe(true);
  });

  it("that of a copy of the store that went another way: discarded", async () => {
    await using folder = new RecordFolder();
    await folder.closed(45);
    const copy = join(folder.base, "copy");
    cpSync(folder.folder, copy, { recursive: true });
    await using twin = await openRecordStore({ folder: copy });
    for (let n = 0; n < 10; n += 1) await twin.upsert("k1", { n, twin: true });
    await folder.closed(100);
    cpSync(join(copy, "snapshot.json"), folder.at("snapshot.json"));
    const store = await folder.store();
    expect(await store.notes()).toEqual([expect.stringContaining("does not fit the log")]);
    expect(await store.get("k1")).toEqual({ n: 1 });
    await store.upsert("next", {});
    expect(await store.verify()).toMatchObject({ ok: true, events: 293 });
  });

  it("crash after temp write before rename; stale temp from an earlier crash", async () => {
    await using folder = new RecordFolder();
    await folder.closed(49);
    folder.write("snapshot.json.new", "half of a snap");
    const store = await folder.store();
    await store.upsert("k50", { n: 50 });
    expect(folder.checkpoint).toBe(101);
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
    const sealed = sealCommit(last, drafts, new Date().toISOString());
    writeFileSync(folder.log, all(sealed.map((event) => event.line)), { flag: "a" });
    await store.upsert("last", { n: -1 });
    await store.close();
    expect(folder.checkpoint).toBe(12_006);
    // Time of the processor, and the fastest of several: other work on the machine is not what is measured.
    let fastest = Number.POSITIVE_INFINITY;
    for (let n = 0; n < 4; n += 1) {
      const began = process.cpuUsage();
      const again = await openRecordStore({ folder: folder.folder });
      expect((await again.get("k9999"))?.["n"]).toBe(9999);
      const { user, system } = process.cpuUsage(began);
      fastest = Math.min(fastest, (user + system) / 1_000);
      await again.close();
    }
    expect(fastest).toBeLessThan(500);
    expect(await store.chainValid()).toBe(true);
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
    const sealed = sealCommit(last, drafts, new Date().toISOString());
    writeFileSync(folder.log, all(sealed.map((event) => event.line)), { flag: "a" });
    await store.upsert("a", {});
    const first = folder.checkpoint;
    for (let n = 0; n < 100; n += 1) await store.upsert("a", { n });
    expect(folder.checkpoint).toBe(first);
    for (let n = 0; n < 5; n += 1) await store.upsert("a", { n });
    expect((folder.checkpoint ?? 0) - (first ?? 0)).toBe(202);
  });
});
