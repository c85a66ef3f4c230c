import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** The commands `chronicle record` and `chronicle import`. */

const vectors = join(import.meta.dirname, "../format/vectors/chronomemory.wal");

async function inWorkspace(): Promise<{ box: Sandbox; options: string[] }> {
  const box = new Sandbox();
  await box.must(["init"]);
  return { box, options: [] };
}

async function inFolder(): Promise<{ box: Sandbox; options: string[] }> {
  const box = new Sandbox();
  return { box, options: ["--folder", join(box.folder, "facts")] };
}

describe.each([
  ["in a workspace", inWorkspace],
  ["in a folder of its own", inFolder],
])("record %s", (_name, begin) => {
  it("supports put, get, list, replay, export, delete, verify, compact and backup", async () => {
    const { box, options } = await begin();
    using _box = box;
    const must = async (...args: string[]): Promise<string> => (await box.must(["record", ...args, ...options])).stdout;
    expect(await must("put", "FACT-001", '{"text": "the sky is blue", "n": 1.50}')).toMatch(
      /^event \d+: FACT-001 {2}[0-9a-f]{12}\n$/,
    );
    const put = await box.must(["record", "put", "b\n", "-", "--depth", "2", "--json", ...options], {
      input: '{"a":[]}\n',
    });
    expect(JSON.parse(put.stdout)).toMatchObject({ record_id: "b\n", op: "upsert", recursion_depth: 2 });
    expect(JSON.parse(await must("get", "FACT-001"))).toEqual({ text: "the sky is blue", n: 1.5 });
    expect(await must("list")).toBe('FACT-001  {"n":1.5,"text":"the sky is blue"}\nb\\n       {"a":[]}\n');
    expect(JSON.parse(await must("list", "--json"))).toHaveLength(2);
    expect(await must("export")).toBe(
      '{"id":"FACT-001","record":{"n":1.5,"text":"the sky is blue"}}\n{"id":"b\\n","record":{"a":[]}}\n',
    );
    expect(await must("delete", "FACT-001")).toMatch(/^event \d+: FACT-001 deleted\n$/);
    const events = JSON.parse(await must("replay", "--json")) as { seq: number; op: string }[];
    expect(events.map(({ op }) => op)).toEqual(["upsert", "upsert", "delete"]);
    expect((await must("replay", "--from", String(events[1]?.seq))).trimEnd().split("\n")).toHaveLength(2);
    expect(await must("verify")).toMatch(/^ok: \d+ events, head \d+ [0-9a-f]{12}\n$/);
    expect(await must("compact")).toMatch(/^\d+ events moved into the archive\n$/);
    expect(await must("compact")).toBe("there was nothing to move into the archive\n");
    const copy = (await must("backup", "../copies")).trimEnd();
    expect(readdirSync(copy)).toContain("events.wal");
    const listed = await box.call(["record", "list", "--folder", copy]);
    if (options.length > 0) {
      expect([listed.code, listed.stdout]).toEqual([0, await must("list")]);
      expect((await box.must(["record", "verify", "--folder", copy])).stdout).toMatch(/^ok: /);
    } else {
      expect([listed.code, listed.stderr]).toEqual([2, expect.stringContaining("records.ndjson")]);
      expect(readFileSync(join(copy, "records.ndjson"), "utf8")).toBe(await must("export"));
    }
    expect(JSON.parse(await must("verify", "--json"))).toMatchObject({ ok: true, problems: [] });
  });

  it("has exit codes and hints for mistakes", async () => {
    const { box, options } = await begin();
    using _box = box;
    await box.must(["record", "put", "a", "{}", ...options]);
    for (const verb of ["get", "delete"]) {
      const missing = await box.call(["record", verb, "nobody", ...options]);
      expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining("record list")]);
    }
    for (const json of ["{", "[1]", "1", '{"a": NaN}', '{"n": 9007199254740993}', '{"a":1,"a":2}', '{"__proto__":1}']) {
      const refused = await box.call(["record", "put", "x", json, ...options]);
      expect([json, refused.code, refused.stderr]).toEqual([json, 2, expect.stringContaining("record")]);
    }
    for (const args of [["sing"], ["put", "x"], ["get"], ["list", "x"], ["toString"]]) {
      expect((await box.call(["record", ...args, ...options])).code).toBe(2);
    }
    expect((await box.must(["record", "list", ...options])).stdout).toBe("a  {}\n");
  });

  it("import --from chronomemory: all of it or nothing", async () => {
    const { box, options } = await begin();
    using _box = box;
    const file = join(box.folder, "broken.wal");
    writeFileSync(file, readFileSync(vectors, "utf8").replace("grey", "gray"));
    const broken = await box.call(["import", "--from", "chronomemory", file, ...options]);
    expect([broken.code, broken.stderr]).toEqual([4, expect.stringContaining("line 7 does not verify")]);
    expect((await box.must(["record", "list", ...options])).stdout).toBe("");
    const done = await box.must(["import", "--from", "chronomemory", vectors, ...options]);
    expect(done.stdout).toMatch(
      /^9 events verified and imported as \d+\.\.\d+, 5 records live; the original ends at event 9 /,
    );
    expect(JSON.parse((await box.must(["record", "get", "FACT-001", ...options])).stdout)).toEqual({
      text: "the sky is grey",
    });
    expect((await box.must(["record", "verify", ...options])).stdout).toMatch(/^ok/);
    for (const args of [
      ["import", vectors],
      ["import", "--from", "sqlite", vectors],
      ["import", "--from", "chronomemory", "none"],
    ]) {
      expect((await box.call([...args, ...options])).code).toBe(2);
    }
  });
});

describe("a record store in a folder", () => {
  it("is not made by a read; damage is reported, with exit code 4", async () => {
    using box = new Sandbox();
    const folder = join(box.folder, "facts");
    expect((await box.call(["record", "list", "--folder", folder])).code).toBe(3);
    await box.must(["record", "put", "a", '{"n":1}', "--folder", folder]);
    await box.must(["record", "put", "b", '{"n":2}', "--folder", folder]);
    const log = join(folder, "events.wal");
    writeFileSync(log, readFileSync(log, "utf8").replace('"n":1', '"n":9'));
    const verified = await box.call(["record", "verify", "--folder", folder]);
    expect([verified.code, verified.stdout]).toEqual([
      4,
      expect.stringContaining("line-damaged: events.wal:2: event 2"),
    ]);
    const put = await box.call(["record", "put", "c", "{}", "--folder", folder]);
    expect([put.code, put.stderr]).toEqual([4, expect.stringContaining("line 2")]);
    expect((await box.must(["record", "export", "--folder", folder])).stdout).toBe('{"id":"b","record":{"n":2}}\n');
  });
});
