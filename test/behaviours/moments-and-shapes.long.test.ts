import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SnapshotShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";

/** One history for all tests: snapshots 0 to 4 of a growing file. Snapshot 2 is named `good`; a run made 4. */
let project: Project;
let workspace: WorkspaceApi;
let snapshots: SnapshotShape[];
let session: string;
let restored: string;

const HASH = /^[0-9a-f]{64}$/;
const sizeAt = async (moment: string): Promise<number | undefined> =>
  (await workspace.manifest(moment)).files["a.txt"]?.size;
const snapshot = (n: number): SnapshotShape => snapshots[n] ?? expect.fail(`there is no snapshot ${n}`);
const later = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();

beforeAll(async () => {
  project = new Project();
  const grow = (size: number): void => project.write("a.txt", "x".repeat(size));
  grow(0);
  project.write("dir/tool.sh", "#!/bin/sh\n", 0o755);
  project.link("link", "a.txt");
  workspace = await project.init();
  for (const size of [1, 2, 3]) {
    await sleep(20);
    grow(size);
    await workspace.snapshot(size === 2 ? { name: "good", message: "the good one", pin: true } : {});
  }
  await sleep(20);
  const run = await workspace.run({ command: ["sh", "-c", "printf xxxx > a.txt; rm -r dir"] });
  session = run.session.session_id;
  snapshots = await workspace.snapshots();
  restored = (await workspace.restore("good", { paths: ["a.txt"] })).undo_id ?? "";
});
afterAll(() => project[Symbol.asyncDispose]());

describe("moments", () => {
  const forms: readonly [string, () => string, number][] = [
    ["a number", () => "2", 2],
    ["the baseline's number", () => "0", 0],
    ["baseline", () => "baseline", 0],
    ["latest", () => "latest", 4],
    ["a name", () => "good", 2],
    ["an id", () => snapshot(3).id, 3],
    ["the beginning of an id", () => snapshot(3).id.slice(0, 13), 3],
    ["a position", () => `seq:${snapshot(1).seq}`, 1],
    ["a position between snapshots", () => `seq:${snapshot(2).seq - 1}`, 2],
    ["a time", () => later(snapshot(1).timestamp, 10), 1],
    ["a time with a zone", () => later(snapshot(1).timestamp, 10).replace("Z", "+00:00"), 1],
    ["two snapshots before", () => "latest~2", 2],
    ["one before, without a number", () => "good~", 1],
    ["steps of steps", () => "latest~1~1", 2],
    ["before an id", () => `${snapshot(3).id}~3`, 0],
    ["before a position on a snapshot", () => `seq:${snapshot(2).seq}~1`, 1],
    ["before a position between two", () => `seq:${snapshot(2).seq - 1}~1`, 1],
    ["before now", () => "now~1", 4],
    ["a session: right before it", () => session, 3],
    ["an operation: right before it", () => restored, 4],
  ];

  it.each(forms)("%s", async (_name, moment, size) => expect(await sizeAt(moment())).toBe(size));

  it("a duration is the moment that long ago", async () => {
    await sleep(1_100);
    project.write("a.txt", "x".repeat(7));
    const now = await workspace.snapshot();
    expect([await sizeAt("latest"), await sizeAt("1s")]).toEqual([7, 2]);
    await workspace.restore(String(now.number - 1), { paths: ["a.txt"] });
  });

  it.each(["2001-01-01", "400d"])(
    "a time before the history begins (%s) is the baseline, in every operation",
    async (moment) => {
      expect(await sizeAt(moment)).toBe(await sizeAt("baseline"));
      const ways = [
        (when: string) => workspace.diff(when, "now"),
        (when: string) => workspace.changes({ since: when }),
        (when: string) => workspace.restore(when, { dryRun: true }),
        (when: string) => workspace.undo({ since: when, dryRun: true }),
      ];
      for (const way of ways) expect((await way(moment)).changes).toEqual((await way("baseline")).changes);
      expect((await workspace.diff(moment, "now")).from).toContain("the history begins at");
    },
  );

  const none: readonly [string, string, string][] = [
    ["a snapshot that is not there", "99", "NOT_FOUND"],
    ["a position behind the end", "seq:9999", "NOT_FOUND"],
    ["a position before the first state", "seq:1", "NOT_FOUND"],
    ["a name that is not there", "better", "NOT_FOUND"],
    ["too many steps", "good~3", "NOT_FOUND"],
    ["nothing", "", "USAGE"],
    ["a negative number", "-1", "USAGE"],
    ["a day that does not exist", "2026-02-30", "USAGE"],
    ["a path", "../x", "USAGE"],
  ];

  it.each(none)("%s: %j is %s", async (_name, moment, code) => {
    const error = { code, hint: expect.any(String) };
    await expect(workspace.manifest(moment)).rejects.toMatchObject(error);
    await expect(workspace.diff(moment, "now")).rejects.toMatchObject(error);
    await expect(workspace.restore(moment, { dryRun: true })).rejects.toMatchObject(error);
  });

  it("a prefix of several ids is ambiguous", async () => {
    await using many = new Project();
    many.write("a", "one");
    const other = await many.init();
    let twice: string | undefined;
    while (twice === undefined) {
      await other.snapshot();
      // Only letters are used, because a single digit would be a snapshot's number.
      const letters = (await other.snapshots()).map((one) => one.id.slice(0, 1)).filter((one) => /[a-f]/.test(one));
      twice = letters.find((one, i) => letters.indexOf(one) !== i);
    }
    await expect(other.manifest(twice)).rejects.toMatchObject({ code: "AMBIGUOUS", hint: expect.any(String) });
  });

  it("a name is refused if it is taken, or if it could be another form of moment", async () => {
    await expect(workspace.snapshot({ name: "good" })).rejects.toMatchObject({ code: "REFUSED" });
    for (const name of ["12", "latest", "now", "10m", "2026-01-01", "a b", "x~1", "seq:3", ""])
      await expect(workspace.snapshot({ name })).rejects.toMatchObject({ code: "USAGE" });
  });

  it("`now` cannot be restored", () => expect(workspace.restore("now")).rejects.toMatchObject({ code: "USAGE" }));
});

describe("the shape of", () => {
  const coverage = { complete: true, omitted: [] };

  it("a snapshot", () => {
    expect(snapshot(2)).toEqual({
      number: 2,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      seq: expect.any(Number),
      root: expect.stringMatching(HASH),
      coverage,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      cause: "snapshot",
      name: "good",
      pinned: true,
      message: "the good one",
      parent: 1,
      changed: 1,
    });
  });

  it("a manifest", async () => {
    const { id, timestamp, root } = snapshot(2);
    const manifest = await workspace.manifest("2");
    expect(manifest).toMatchObject({ number: 2, id, timestamp, parent: 1, root });
    expect({ ...manifest.files }).toEqual({
      "a.txt": { kind: "file", hash: sha256("xx"), size: 2, mtime_ms: expect.any(Number), permissions: 0o644 },
      dir: { kind: "dir", hash: "", size: 0, mtime_ms: 0, permissions: 0o755 },
      "dir/tool.sh": expect.objectContaining({ permissions: 0o755, size: 10 }),
      link: { kind: "symlink", hash: sha256("a.txt"), size: 5, mtime_ms: expect.any(Number), permissions: 0o777 },
    });
  });

  it("a diff", async () => {
    const diff = await workspace.diff("3", "4");
    expect(diff).toMatchObject({
      from: "snapshot 3",
      to: "snapshot 4",
      from_seq: snapshot(3).seq,
      to_seq: snapshot(4).seq,
    });
    expect(diff.changes[0]).toEqual({
      path: "a.txt",
      change_type: "modified",
      kind: "file",
      before_hash: sha256("xxx"),
      after_hash: sha256("xxxx"),
      before_size: 3,
      after_size: 4,
      size_delta: 1,
      before_permissions: 0o644,
      after_permissions: 0o644,
    });
    expect(diff.changes.slice(1)).toMatchObject([
      { path: "dir", change_type: "deleted", kind: "dir", before_hash: "", after_hash: "", size_delta: 0 },
      {
        path: "dir/tool.sh",
        change_type: "deleted",
        before_hash: expect.stringMatching(HASH),
        after_hash: "",
        size_delta: -10,
      },
    ]);
    const back = (await workspace.diff("4", "3")).changes;
    expect(back.map((change) => change.change_type)).toEqual(["modified", "created", "created"]);
    expect((await workspace.diff("3", "4", { paths: ["dir"] })).changes).toHaveLength(2);
  });

  it("patches: text files have one, binary and large files do not", async () => {
    await using other = new Project();
    other.write("text", "one\ntwo\n");
    other.write("binary", Buffer.from([0, 1, 2]));
    other.write("large", Buffer.alloc(5_000_000, "a\n"));
    const at = await other.init();
    other.write("text", "one\n2\n");
    other.write("binary", Buffer.from([0, 1, 3]));
    other.write("large", Buffer.alloc(5_000_000, "b\n"));
    other.write("made", "new\n");
    const patched = async (to: string) => (await at.diff("0", to, { patch: true })).changes;
    const found = await patched("now");
    expect(
      found.map(({ path, patch, binary, too_large: tooLarge }) => [
        path,
        patch?.split("\n").slice(-4),
        binary,
        tooLarge,
      ]),
    ).toEqual([
      ["binary", undefined, true, undefined],
      ["large", undefined, undefined, true],
      ["made", ["+++ b/made", "@@ -0,0 +1,1 @@", "+new", ""], undefined, undefined],
      ["text", [" one", "-two", "+2", ""], undefined, undefined],
    ]);
    await at.snapshot();
    expect(await patched("1")).toEqual(found);
  });

  it("an answer with many patches: beyond a limit, changes are listed without their patch", async () => {
    await using other = new Project();
    const at = await other.init();
    const content = `${"x".repeat(99)}\n`.repeat(41_000);
    for (let i = 0; i < 12; i += 1) other.write(`f${10 + i}`, content);
    await at.snapshot();
    const isSaid = ({ patch, no_room: noRoom }: { patch?: string; no_room?: true }): boolean =>
      (patch === undefined) === (noRoom ?? false);
    for (const { changes } of [
      await at.diff("0", "1", { patch: true }),
      await at.changes({ since: "0" }, { patch: true }),
    ]) {
      expect(changes).toHaveLength(12);
      expect(changes.filter(({ patch }) => patch !== undefined)).toHaveLength(8);
      expect(changes.every(isSaid)).toBe(true);
    }
    const [last] = (await at.diff("0", "1", { patch: true, paths: ["f21"] })).changes;
    expect(last?.patch).toContain("\n+xxx");
  });

  it("the log", async () => {
    const events = await workspace.log();
    expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1));
    expect(events[3]).toEqual({
      seq: 4,
      ts: expect.any(String),
      record_id: "file:a.txt",
      op: "upsert",
      hash: events[4]?.prev_hash,
      prev_hash: events[2]?.hash,
      recursion_depth: 0,
      record: expect.objectContaining({ kind: "file", iteration: 2, cause: "capture", actor: "human" }),
    });
  });

  it("the status and the head, which agree", async () => {
    const status = await workspace.status();
    const head = await workspace.head();
    expect(status).toMatchObject({ workspace: workspace.id, path: project.folder, root: head.root, read_only: false });
    expect(status.head).toEqual({ seq: head.seq, hash: head.hash });
    expect(head).toEqual({
      workspace: workspace.id,
      seq: status.seq,
      hash: expect.stringMatching(HASH),
      log_root: expect.stringMatching(HASH),
      root: expect.stringMatching(HASH),
      note: expect.stringContaining(`chronicle/${workspace.id}\n${status.seq}\n`),
      key: expect.stringMatching(/^chronicle\+[0-9a-f]{8}\+[\w+/]+=*$/),
    });
  });

  it("a session", async () => {
    const shown = await workspace.session(session);
    expect(shown).toMatchObject({
      session_id: session,
      command: ["sh", "-c", "printf xxxx > a.txt; rm -r dir"],
      tracked_paths: [project.folder],
      exit_code: 0,
      signal: null,
      snapshot_count: 1,
      network_events: [],
      state: "ended",
      changed: 3,
    });
    expect(shown.merkle_roots.at(-1)).toBe(snapshot(4).root);
    expect(Date.parse(shown.ended ?? "")).toBeGreaterThanOrEqual(Date.parse(shown.started));
  });

  it("a history: iterations go on after a deletion, and a deleted file is found by its name", async () => {
    await using other = new Project();
    other.write("deep/down/notes.txt", "one");
    const at = await other.init();
    other.remove("deep");
    await at.snapshot();
    expect(await at.find("notes.txt")).toEqual(["deep/down/notes.txt"]);
    await expect(at.history("notes.txt")).rejects.toMatchObject({
      code: "NOT_FOUND",
      data: { candidates: ["deep/down/notes.txt"] },
    });
    other.write("deep/down/notes.txt", "again");
    await at.snapshot();
    expect(await at.history("deep/down/notes.txt")).toEqual([
      expect.objectContaining({
        iteration: 1,
        timestamp: expect.any(Number),
        size: 3,
        hash: sha256("one"),
        kind: "file",
      }),
      expect.objectContaining({ iteration: 2, size: 0, hash: "", deleted: true, kind: "absent" }),
      expect.objectContaining({ iteration: 3, size: 5, hash: sha256("again"), permissions: 0o644 }),
    ]);
    expect((await at.history("deep/down/notes.txt"))[2]).not.toHaveProperty("deleted");
    const contentOf = async (n?: number): Promise<string> => {
      const pieces: Uint8Array[] = [];
      for await (const piece of (await at.cat("deep/down/notes.txt", n)).pieces()) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    };
    expect([await contentOf(1), await contentOf(3), await contentOf()]).toEqual(["one", "again", "again"]);
    await expect(at.cat("deep/down/notes.txt", 2)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(at.cat("deep")).rejects.toMatchObject({ code: "REFUSED" });
  });

  it("a name that is not UTF-8: it is escaped, and its exact bytes are in `path_b64`", async () => {
    await using other = new Project();
    other.write("plain", "x");
    const odd = Buffer.concat([Buffer.from(`${other.folder}/caf`), Buffer.from([0xe9])]);
    writeFileSync(odd, "x");
    const at = await other.init();
    const [shown, file] = Object.entries((await at.manifest("0")).files)[0] ?? [];
    expect([shown, file?.path_b64]).toEqual(["caf\\xe9", Buffer.from([0x63, 0x61, 0x66, 0xe9]).toString("base64")]);
  });

  it("verify", async () => {
    const verified = await workspace.verify();
    expect(verified).toMatchObject({ ok: true, problems: [], notes: [], bytes: expect.any(Number) });
    expect(verified.events).toBe((await workspace.log()).length);
    expect(verified.blobs).toBeGreaterThan(4);
    expect(await workspace.verify({ quick: true })).toMatchObject({ ok: true, events: verified.events, bytes: 0 });
  });
});
