import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** The keys of JSON output on which programs rely. Keys may be added, but not renamed or removed. */
const COVERAGE = { complete: true, omitted: [] };
const CHANGE = ["path", "change_type", "before_hash", "after_hash", "size_delta"];

let box: Sandbox;

function object(value: unknown): Record<string, unknown> {
  expect(value).toBeTypeOf("object");
  expect(value).not.toBeNull();
  return value as Record<string, unknown>;
}

function list(value: unknown): Record<string, unknown>[] {
  expect(Array.isArray(value)).toBe(true);
  return value as Record<string, unknown>[];
}

function has(value: unknown, keys: readonly string[]): Record<string, unknown> {
  const found = object(value);
  expect(Object.keys(found)).toEqual(expect.arrayContaining([...keys]));
  return found;
}

async function json(...args: string[]): Promise<unknown> {
  const { code, value } = await box.json(args);
  expect({ args, code, ...(code === 0 ? {} : { value }) }).toEqual({ args, code: 0 });
  return value;
}

beforeAll(async () => {
  box = new Sandbox();
  box.write("a.txt", "one\n");
  box.write("dir/b.txt", "two\n");
  await box.must(["init"]);
  await box.must(["run", "--note", "hello", "--", "sh", "-c", "echo more >> a.txt; rm dir/b.txt"]);
});

afterAll(() => box[Symbol.dispose]());

describe("shapes that programs rely on", async () => {
  it("snapshot", async () => {
    const shape = has(await json("snapshot"), ["number", "id", "seq", "root", "coverage"]);
    expect(shape["coverage"]).toMatchObject(COVERAGE);
    expect(shape["number"]).toBeTypeOf("number");
    expect(shape["root"]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("log", async () => {
    const events = list(await json("log"));
    for (const event of events) has(event, ["seq", "ts", "record_id", "op", "hash"]);
    expect(events.map((event) => event["seq"])).toEqual(events.map((_, i) => i + 1));
    expect(list(await json("log", "--from", "2", "--limit", "2")).map((event) => event["seq"])).toEqual([2, 3]);
  });

  it("status", async () => {
    box.write("new.txt", "new");
    const shape = has(await json("status"), ["workspace", "path", "root", "seq", "head", "changes"]);
    expect(shape["path"]).toBe(box.project);
    expect(has(shape["head"], ["seq", "hash"])["seq"]).toBe(shape["seq"]);
    for (const change of list(shape["changes"])) has(change, CHANGE);
    expect(list(shape["changes"]).map((change) => change["path"])).toContain("new.txt");
    box.sh("rm new.txt");
  });

  it("diff and restore --dry-run", async () => {
    for (const shape of [await json("diff", "0", "now"), await json("restore", "0", "--dry-run")]) {
      const changes = list(has(shape, ["changes"])["changes"]);
      expect(changes.map((change) => change["path"])).toEqual(expect.arrayContaining(["a.txt", "dir/b.txt"]));
      for (const change of changes) has(change, CHANGE);
    }
    const [first] = list(object(await json("diff", "0", "now", "--", "a.txt"))["changes"]);
    expect(first).toMatchObject({ change_type: "modified", size_delta: 5 });
  });

  it("restore, undo and redo", async () => {
    const shape = has(await json("restore", "0"), ["changes", "undo_id", "skipped"]);
    expect(shape["undo_id"]).toBeTypeOf("string");
    expect(list(shape["changes"])).toHaveLength(2);
    has(await json("undo", String(shape["undo_id"])), ["changes", "undo_id", "skipped", "operation"]);
    has(await json("redo"), ["changes", "undo_id", "skipped", "operation"]);
    has(await json("undo"), ["changes", "undo_id", "skipped", "operation"]);
  });

  it("manifest", async () => {
    const shape = has(await json("manifest", "0"), ["number", "id", "timestamp", "parent", "root", "files"]);
    expect([shape["number"], shape["parent"]]).toEqual([0, null]);
    const files = object(shape["files"]);
    expect(Object.keys(files)).toEqual(["a.txt", "dir", "dir/b.txt"]);
    has(files["a.txt"], ["kind", "hash", "size", "mtime_ms", "permissions"]);
  });

  it("sessions and show", async () => {
    const [session] = list(await json("sessions"));
    const shape = has(await json("show", String(session?.["session_id"])), [
      ...["session_id", "started", "ended", "command", "tracked_paths", "exit_code", "snapshot_count"],
      ...["merkle_roots", "network_events"],
    ]);
    expect(shape).toMatchObject({ exit_code: 0, notes: ["hello"], tracked_paths: [box.project] });
    expect(await json("show")).toEqual(shape);
  });

  it("history: numbers go on after a deletion", async () => {
    box.sh("rm a.txt");
    await json("snapshot");
    box.write("a.txt", "back\n");
    await json("snapshot");
    const iterations = list(await json("history", "a.txt"));
    for (const item of iterations) has(item, ["iteration", "timestamp", "size", "hash"]);
    expect(iterations.map((item) => item["iteration"])).toEqual(iterations.map((_, i) => i + 1));
    expect(iterations.at(-2)).toMatchObject({ deleted: true });
    expect(iterations.at(-1)?.["timestamp"]).toBeTypeOf("number");
  });

  it("blame", async () => {
    const found = has(await json("blame", "a.txt"), ["path", "iteration", "total_lines", "origins", "lines", "notes"]);
    has(list(found["origins"])[0], ["kind", "path", "iteration", "seq", "timestamp", "cause", "actor"]);
    has(list(found["lines"])[0], ["line", "origin", "text"]);
  });

  it("grep", async () => {
    const found = has(await json("grep", "--history", "."), ["matches", "total_matches", "contents", "bytes"]);
    has(found, ["complete", "unsearched", "total_unsearched", "notes"]);
    const [match] = list(found["matches"]);
    has(match, ["path", "iteration", "line", "text", "spans", "from", "until"]);
  });

  it("verify, head", async () => {
    const verified = has(await json("verify"), ["ok", "events", "blobs", "problems"]);
    expect([verified["ok"], verified["problems"]]).toEqual([true, []]);
    const head = has(await json("head"), ["workspace", "seq", "hash", "log_root", "root", "note", "key"]);
    expect(head["note"]).toContain(String(head["workspace"]));
  });

  it("init, list, config, du, doctor, workspaces, explain, cat, gc, rebuild", async () => {
    has(await json("init"), ["workspace", "path", "created", "snapshot", "protected"]);
    const recent = object(await json("list"));
    for (const item of list(recent["items"])) has(item, ["kind", "id", "timestamp", "summary", "changed", "back"]);
    // The bare command also says how many paths are not recorded yet, if it can tell in time.
    expect(await json()).toMatchObject(recent);
    for (const item of list(await json("list", "--snapshots"))) has(item, ["number", "id", "seq", "root", "coverage"]);
    has(await json("config"), [
      ...["useGitignore", "excludePatterns", "excludeGlobs", "forceInclude"],
      ...["maxEntries", "maxBytes", "maxFileSize", "keepAside", "recordPrompts", "protectedNames"],
    ]);
    has(await json("du"), ["blobs", "log_bytes", "index_bytes", "total_bytes", "store"]);
    has(await json("doctor"), ["ok", "store", "checks"]);
    const [workspace] = list(await json("workspaces"));
    has(workspace, ["id", "path", "roots", "seq", "created", "last_event", "present"]);
    has(await json("explain", "a.txt"), ["path", "tracked", "recorded", "rule"]);
    expect(await json("cat", "a.txt@1")).toMatchObject({ iteration: 1, encoding: "utf8", content: "one\n" });
    has(await json("gc"), ["freed_blobs", "freed_bytes"]);
    has(await json("rebuild"), ["events", "entries", "seconds"]);
  });

  it("errors", async () => {
    const { code, value } = await box.json(["history", "nothing-like-that.bin"]);
    expect(code).toBe(3);
    has(object(value)["error"], ["code", "message", "hint", "data"]);
  });
});
