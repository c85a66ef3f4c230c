/** Records of users in a workspace's log, beside the history of files. They work as in a folder of their own. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";
import { collected } from "../helpers/record-folder.ts";

const vectors = join(import.meta.dirname, "../format/vectors/chronomemory.wal");

describe("records in a workspace", () => {
  it("are events of its log beside the files, and both verify", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const { records } = workspace;
    const put = await records.upsert("FACT-001", { confidence: 0.9 }, { recursionDepth: 2 });
    expect(put).toMatchObject({ record_id: "FACT-001", op: "upsert", recursion_depth: 2, record: { confidence: 0.9 } });
    project.write("a", "changed");
    await workspace.snapshot();
    await records.upsert("b", { n: 1 });
    await records.upsert("FACT-001", { confidence: 1.5 });
    expect(await records.delete("b")).toMatchObject({ op: "delete", record: {} });
    expect(await records.delete("b")).toBeUndefined();
    expect(await records.get("b")).toBeUndefined();
    expect(await records.all()).toEqual([["FACT-001", { confidence: 1.5 }]]);
    expect(await collected(records.export())).toEqual(['{"id":"FACT-001","record":{"confidence":1.5}}']);
    const replayed = await collected(records.replay());
    expect(replayed.map(({ op, record_id: id }) => `${op} ${id}`)).toEqual([
      "upsert FACT-001",
      "upsert b",
      "upsert FACT-001",
      "delete b",
    ]);
    expect(await collected(records.replay(replayed[2]?.seq))).toEqual(replayed.slice(2));
    expect(await collected(records.replay(1e6))).toEqual([]);
    const logged = await workspace.log({ prefix: "user:" });
    expect(logged.map(({ seq, hash }) => ({ seq, hash }))).toEqual(replayed.map(({ seq, hash }) => ({ seq, hash })));
    expect(await records.verify()).toMatchObject({ ok: true, problems: [] });
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
    await workspace.restore("baseline");
    expect(await records.get("FACT-001")).toEqual({ confidence: 1.5 });
  });

  it("are migrated with one event each, or not at all", async () => {
    await using project = new Project();
    const { records } = await project.init();
    for (let n = 0; n < 30; n += 1) await records.upsert(`k${n}`, { n });
    await records.delete("k3");
    const failing = records.migrate((record) => {
      if (record["n"] === 7) throw new Error("no");
      return { ...record, v: 2 };
    });
    await expect(failing).rejects.toThrow("no");
    await expect(records.migrate(() => ({ a: Number.NaN }))).rejects.toMatchObject({ code: "USAGE" });
    expect(await records.get("k1")).toEqual({ n: 1 });
    expect(await records.migrate((record, id) => ({ ...record, id }))).toBe(29);
    expect(await records.get("k9")).toEqual({ n: 9, id: "k9" });
    const events = await collected(records.replay());
    expect(events.filter(({ op }) => op === "migrate")).toHaveLength(29);
  });

  it("survive a compaction that keeps the archive, and one that drops it", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const { records } = workspace;
    await records.upsert("far", { n: -1 });
    await records.migrate((record) => ({ ...record, moved: true }));
    for (let n = 0; n < 20; n += 1) await records.upsert(`k${n}`, { n, half: n / 2 });
    expect(await records.compact()).toBeGreaterThan(20);
    expect(await records.compact()).toBe(0);
    await records.upsert("after", { n: 99 });
    const before = await records.all();
    expect(before).toHaveLength(22);
    expect(await collected(records.replay())).toHaveLength(23);
    await workspace.compact({ dropArchive: true });
    expect(await records.all()).toEqual(before);
    expect(await records.get("far")).toEqual({ n: -1, moved: true });
    // The events before the second compaction were removed, so a replay has none of them.
    expect(await collected(records.replay())).toEqual([]);
    await records.delete("far");
    expect(await records.all()).toHaveLength(21);
    expect(await records.chainValid()).toBe(true);
    await workspace.rebuild();
    expect(await records.all()).toHaveLength(21);
  });

  it("of two writers form one chain; a reader cannot write, and a closed workspace refuses", async () => {
    await using project = new Project();
    const first = await project.init();
    const second = await project.open();
    const reader = await project.open({ readOnly: true });
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? first : second).records.upsert(`k${n}`, { n })),
    );
    expect(await reader.records.all()).toHaveLength(20);
    expect(await reader.records.all()).toEqual(await first.records.all());
    expect(await first.records.chainValid()).toBe(true);
    await expect(reader.records.upsert("x", {})).rejects.toMatchObject({ code: "READ_ONLY" });
    {
      using records = first.records;
      await records.upsert("in", {});
    }
    expect(await first.records.get("in")).toEqual({});
    await first.close();
    await expect(first.records.upsert("x", {})).rejects.toMatchObject({ code: "USAGE" });
    await expect(first.records.all()).rejects.toMatchObject({ code: "USAGE" });
  });

  it("are backed up as the log, byte for byte, and a list of records; each backup has a folder of its own", async () => {
    await using project = new Project();
    const workspace = await project.init();
    await workspace.records.upsert("a", { n: 1 });
    await workspace.compact();
    await workspace.records.upsert("b", { n: 2 });
    const beneath = join(project.base, "backups");
    const copy = await workspace.records.backup(beneath);
    await workspace.records.backup(beneath);
    expect(readdirSync(beneath)).toHaveLength(2);
    const store = join(project.home, "workspaces", workspace.id);
    expect(readdirSync(join(copy, "archive"))).toEqual(readdirSync(join(store, "archive")));
    expect(readFileSync(join(copy, "events.wal"))).toEqual(readFileSync(join(store, "events.wal")));
    expect(readFileSync(join(copy, "records.ndjson"), "utf8")).toBe(
      '{"id":"a","record":{"n":1}}\n{"id":"b","record":{"n":2}}\n',
    );
  });
});

describe("import of a chronomemory log", () => {
  it("imports every event in order, and keeps the original times and head in a separate record", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const { records } = workspace;
    const bytes = readFileSync(vectors);
    const lines = bytes.toString().trimEnd().split("\n");
    const original = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const result = await records.importChronomemory(bytes);
    expect(result).toMatchObject({ source: "chronomemory", events: 9, records: 5, rounded: 0 });
    expect(result.head).toEqual({ seq: 9, hash: original[8]?.["hash"] });
    expect((await records.all()).map(([id]) => id)).toEqual(["FACT-001", "keys", "n", "texts", '漢 👋 "quoted"\n']);
    expect(await records.get("FACT-001")).toEqual({ text: "the sky is grey" });
    const events = await collected(records.replay());
    expect(events.map(({ op, record_id: id, recursion_depth: depth }) => [op, id, depth])).toEqual(
      original.map((line) => [line["op"], line["record_id"], line["recursion_depth"]]),
    );
    expect(events[1]?.record).toEqual(original[1]?.["record"]);
    const [about] = await workspace.log({ prefix: "import:" });
    expect(about?.seq).toBe(result.seqs[0]);
    expect(about?.record).toMatchObject({
      events: 9,
      head_hash: original[8]?.["hash"],
      times: original.map((line) => line["ts"]),
    });
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("imports nothing if one line does not verify", async () => {
    await using project = new Project();
    const { records } = await project.init();
    const text = readFileSync(vectors, "utf8");
    const broken = text.replace("the sky is grey", "the sky is gray");
    await expect(records.importChronomemory(Buffer.from(broken))).rejects.toMatchObject({
      code: "INTEGRITY_VIOLATION",
      message: expect.stringContaining("line 7"),
      data: { line: 7 },
    });
    expect(await records.all()).toEqual([]);
    expect(await collected(records.replay())).toEqual([]);
  });
});
