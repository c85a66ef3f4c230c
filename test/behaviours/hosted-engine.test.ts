import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { StoreOptions } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";

// The tests use memory instead of a disk, because hundreds of syncs of a real disk would mostly test that disk.
beforeAll(() => {
  if (existsSync("/dev/shm")) vi.stubEnv("TMPDIR", "/dev/shm");
});
afterAll(() => {
  vi.unstubAllEnvs();
});

/** The operations of the engine on a hosted workspace, whose files are only in its history. */

type Files = Readonly<Record<string, string>>;

/** All files with their contents. */
async function filesOf(workspace: WorkspaceApi): Promise<Files> {
  const { files } = await workspace.files();
  const contents: Record<string, string> = {};
  for (const { path, kind } of files) contents[path] = kind === "dir" ? "/" : await text(await workspace.file(path));
  return contents;
}

function put(workspace: WorkspaceApi, path: string, content: string): ReturnType<WorkspaceApi["putFile"]> {
  return workspace.putFile(path, Buffer.from(content));
}

const FIRST: Files = { a: "alpha\n", dir: "/", "dir/b": "beta\n" };

async function withFirst(project: HostedProject, store: Partial<StoreOptions> = {}): Promise<WorkspaceApi> {
  const workspace = await project.create({ store });
  await put(workspace, "a", "alpha\n");
  await put(workspace, "dir/b", "beta\n");
  await workspace.snapshot({ name: "first" });
  return workspace;
}

/** Checks that verify finds no problems, and that status is consistent with the files. */
async function sound(workspace: WorkspaceApi): Promise<void> {
  expect((await workspace.verify()).problems).toEqual([]);
  const status = await workspace.status();
  expect(status).toMatchObject({ path: "", roots: [], changes: [], coverage: { complete: true }, read_only: false });
  // Status has running counts of entries and bytes. They must equal the real ones.
  const { files } = await workspace.files();
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  expect([status.entries, status.bytes]).toEqual([files.length, bytes]);
}

describe("restore, undo and diff of a hosted workspace", () => {
  it("restores everything or some paths, and a dry run only lists the changes", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    await put(workspace, "a", "ALPHA\n");
    await workspace.deleteFile("dir");
    await put(workspace, "new/c", "gamma\n");
    const later = await filesOf(workspace);
    const preview = await workspace.restore("first", { dryRun: true });
    expect(preview.changes.map(({ path, change_type }) => `${change_type} ${path}`)).toEqual([
      "modified a",
      "created dir",
      "created dir/b",
      "deleted new",
      "deleted new/c",
    ]);
    expect(await filesOf(workspace)).toEqual(later);
    await workspace.restore("first", { paths: ["dir"] });
    expect(await filesOf(workspace)).toEqual({ ...later, dir: "/", "dir/b": "beta\n" });
    const whole = await workspace.restore("first");
    expect(await filesOf(workspace)).toEqual(FIRST);
    await workspace.undo({ operation: whole.undo_id ?? "" });
    expect(await filesOf(workspace)).toEqual({ ...later, dir: "/", "dir/b": "beta\n" });
    await workspace.restore("baseline");
    expect(await filesOf(workspace)).toEqual({});
    await sound(workspace);
  });

  it("undoes and redoes step by step, also after it was closed and opened again", async () => {
    await using project = new HostedProject();
    const first = await withFirst(project);
    await put(first, "a", "second\n");
    await first.close();
    const workspace = await project.open(first.id);
    await workspace.undo();
    expect(await filesOf(workspace)).toEqual(FIRST);
    await workspace.undo();
    expect(await filesOf(workspace)).toEqual({ a: "alpha\n" });
    await workspace.redo();
    await workspace.redo();
    expect(await filesOf(workspace)).toEqual({ ...FIRST, a: "second\n" });
    await sound(workspace);
  });

  it("undoes the work of one actor between that of another; an edit that does not merge becomes a conflict", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const lines = (...text: readonly string[]): Buffer => Buffer.from(text.map((line) => `${line}\n`).join(""));
    await workspace.putFile("f", lines("1", "2", "3", "4", "5"), { actor: "mina" });
    await workspace.putFile("f", lines("one", "2", "3", "4", "5"), { actor: "otto" });
    await workspace.putFile("f", lines("one", "2", "3", "4", "five"), { actor: "mina" });
    await workspace.putFile("g", lines("x"), { actor: "otto" });
    await workspace.undo({ actor: "otto" });
    expect(await filesOf(workspace)).toEqual({ f: "1\n2\n3\n4\nfive\n" });
    await workspace.redo();
    expect(await filesOf(workspace)).toEqual({ f: "one\n2\n3\n4\nfive\n", g: "x\n" });
    await workspace.putFile("f", lines("ONE", "2", "3", "4", "five"), { actor: "mina" });
    const clashing = await workspace.undo({ actor: "otto" });
    expect(clashing.unmerged).toMatchObject([{ path: "f", state: "open" }]);
    expect(await filesOf(workspace)).toEqual({ f: "ONE\n2\n3\n4\nfive\n" });
    const [conflict] = await workspace.conflicts();
    const settled = await workspace.resolve(conflict?.id ?? "", { keep: "merged", content: lines("merged") });
    expect(settled.conflict).toMatchObject({ state: "settled", settled: "merged" });
    expect(await filesOf(workspace)).toEqual({ f: "merged\n" });
    await sound(workspace);
  });

  it("a write of another process is recorded before a restore removes it, so undo brings it back", async () => {
    await using project = new HostedProject();
    const one = await withFirst(project);
    const other = await project.open(one.id);
    const preview = one.restore("baseline", { dryRun: true });
    await put(other, "a", "theirs\n");
    expect((await preview).changes).not.toEqual([]);
    const done = await one.restore("baseline");
    // The other's write was recorded before it was removed, so the undo brings it back.
    expect(await filesOf(one)).toEqual({});
    await one.undo({ operation: done.undo_id ?? "" });
    expect(await filesOf(other)).toEqual({ ...FIRST, a: "theirs\n" });
    await sound(one);
  });

  it("restores into a folder on disk", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    const to = mkdtempSync(join(tmpdir(), "chronicle-out-"));
    try {
      await workspace.restore("first", { to });
      expect(readdirSync(to).sort()).toEqual(["a", "dir"]);
      expect(readFileSync(join(to, "dir/b"), "utf8")).toBe("beta\n");
    } finally {
      rmSync(to, { recursive: true });
    }
  });

  it("shows diffs, manifests, and why a path is tracked", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    await put(workspace, "a", "beta\n");
    const toNow = await workspace.diff("first", "now", { patch: true });
    expect(toNow.changes).toMatchObject([{ path: "a", change_type: "modified" }]);
    expect(toNow.changes[0]?.patch).toContain("+beta");
    expect((await workspace.diff("baseline", "first")).changes.map((one) => one.path)).toEqual(["a", "dir", "dir/b"]);
    expect(Object.keys((await workspace.manifest("first")).files)).toEqual(["a", "dir", "dir/b"]);
    expect(await workspace.explain(".git/config")).toMatchObject({ tracked: true, recorded: false, rule: "default" });
    await expect(workspace.diff("first", "now", { paths: ["never"] })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await workspace.head()).seq).toBe((await workspace.status()).seq);
  });
});

describe("actions and transactions around writes", () => {
  it("a write to a path that an action declared belongs to the action, and is rolled back with it", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    const request = { type: "write_file", payload: { path: "a" }, session: "s1", actor: "agent" };
    const action = await workspace.snapshotAction(request);
    expect(action).toMatchObject({ files_backed_up: ["a"], outside: [], state: "open" });
    await workspace.putFile("a", Buffer.from("by the agent\n"), { session: "s1", actor: "agent" });
    const end = await workspace.finishAction(action?.id ?? "");
    expect(end.changes.map((one) => one.path)).toEqual(["a"]);
    expect(await workspace.diffAction(action?.id ?? "")).toMatchObject({
      changes: [{ path: "a", change_type: "modified" }],
    });
    await put(workspace, "a", "later\n");
    expect((await workspace.diffAction(action?.id ?? "")).changes[0]?.size_bytes).toBe(6);
    await workspace.rollback(action?.id ?? "");
    expect(await filesOf(workspace)).toEqual(FIRST);
    await sound(workspace);
  });

  it("paths in an action's payload are not looked up on the machine", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    const requests = [
      { type: "write_file", payload: { path: "/etc/passwd" } },
      { type: "delete_directory", payload: { path: "../../etc" } },
      { type: "run_command", payload: { command: "rm -rf /etc ~/x ../y", cwd: "/tmp" } },
      { type: "some_tool", payload: { paths: [project.base, "/proc/self/environ"] } },
    ];
    for (const request of requests) {
      const action = await workspace.snapshotAction(request);
      expect(action?.outside ?? []).toEqual([]);
      if (action !== null) await workspace.finishAction(action.id);
    }
    expect((await workspace.log({ prefix: "outside" })).map((one) => one.record_id)).toEqual([]);
    await sound(workspace);
  });

  it("a transaction is rolled back as a whole, with its savepoints, or committed", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    const failing = workspace.transaction(async () => {
      await put(workspace, "a", "in\n");
      await workspace.transaction(() => put(workspace, "dir/c", "inner\n"));
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await filesOf(workspace)).toEqual(FIRST);
    await workspace.transaction(() => put(workspace, "a", "landed\n"));
    expect(await filesOf(workspace)).toEqual({ ...FIRST, a: "landed\n" });
    await workspace.undo();
    expect(await filesOf(workspace)).toEqual(FIRST);
    await sound(workspace);
  });

  it("a write in an agent's session belongs to the session", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    const session = await workspace.startSession({ actor: "agent" });
    await workspace.putFile("s", Buffer.from("s"), { session: session.session_id });
    expect(await workspace.endSession(session.session_id)).toMatchObject({ tracked_paths: [] });
    expect((await workspace.changes({ session: session.session_id })).changes.map((one) => one.path)).toEqual(["s"]);
  });
});

describe("maintenance of a hosted workspace", () => {
  it("still verifies after prune and gc", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project, { retention: { min_age_hours: 0 } });
    await put(workspace, "a", "pruned\n");
    const { number } = await workspace.snapshot();
    await put(workspace, "a", "kept\n");
    await workspace.snapshot({ name: "last" });
    await put(workspace, "a", "now\n");
    expect((await workspace.prune({ keepLast: 1, now: true })).pruned_snapshots).toEqual([number]);
    expect((await workspace.gc()).freed_blobs).toBeGreaterThan(0);
    await expect(workspace.restore(String(number))).rejects.toMatchObject({ code: "PRUNED" });
    await expect(workspace.file("a", { iteration: 2 })).rejects.toMatchObject({ code: "PRUNED" });
    await workspace.restore("last");
    expect(await filesOf(workspace)).toEqual({ ...FIRST, a: "kept\n" });
    await sound(workspace);
  });

  it("works on after a compaction, also one that drops the archive", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    await put(workspace, "a", "2\n");
    await workspace.compact();
    await workspace.restore("first");
    expect(await filesOf(workspace)).toEqual(FIRST);
    await put(workspace, "a", "3\n");
    await workspace.compact({ dropArchive: true });
    expect(await filesOf(workspace)).toEqual({ ...FIRST, a: "3\n" });
    await expect(workspace.restore("first")).rejects.toMatchObject({ code: "PRUNED" });
    await put(workspace, "a", "4\n");
    await workspace.undo();
    expect(await filesOf(workspace)).toEqual({ ...FIRST, a: "3\n" });
    await workspace.close();
    const again = await project.open(workspace.id);
    expect(await filesOf(again)).toEqual({ ...FIRST, a: "3\n" });
    await sound(again);
  });

  it("works after its index was deleted", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    await workspace.close();
    const folder = join(project.home, "workspaces", workspace.id);
    for (const name of readdirSync(folder)) if (name.startsWith("index.db")) rmSync(join(folder, name));
    const again = await project.open(workspace.id);
    expect(await filesOf(again)).toEqual(FIRST);
    expect(await again.rebuild()).toMatchObject({ events: (await again.status()).seq });
    await sound(again);
  });

  it("keeps its configured limits", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    await workspace.configure({ maxFileSize: 10 });
    await workspace.close();
    const again = await project.open(workspace.id);
    expect(await again.config()).toMatchObject({ maxFileSize: 10 });
    await expect(put(again, "large", "x".repeat(11))).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    await put(again, "small", "x");
    await sound(again);
  });

  it("has records of users, and pins", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    await workspace.records.upsert("r", { x: 1.5 });
    await workspace.pin("first");
    await workspace.restore("baseline");
    expect(await workspace.records.get("r")).toEqual({ x: 1.5 });
    expect((await workspace.snapshots()).find((one) => one.name === "first")).toMatchObject({ pinned: true });
    expect((await workspace.recent()).items.map((one) => one.kind)).toContain("write");
    expect((await workspace.du({ by: "path" })).blobs.count).toBeGreaterThan(0);
    await sound(workspace);
  });

  it("has no stat cache", async () => {
    await using project = new HostedProject();
    const workspace = await withFirst(project);
    await workspace.follow();
    await put(workspace, "a", "followed\n");
    await workspace.snapshot();
    await workspace.close();
    expect(
      readdirSync(join(project.home, "workspaces", workspace.id)).filter((name) => name.startsWith("stat")),
    ).toEqual([]);
  });
});

it.each([
  ["run", (workspace: WorkspaceApi) => workspace.run({ command: ["true"] })],
  ["watch", (workspace: WorkspaceApi) => workspace.watch()],
  ["record", (workspace: WorkspaceApi) => workspace.record(["a"])],
])("an operation that needs a folder is refused and records nothing: %s", async (_name, ask) => {
  await using project = new HostedProject();
  const workspace = await withFirst(project);
  const { seq } = await workspace.status();
  await expect(ask(workspace)).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining("no folder"),
    hint: expect.stringContaining("restore --to"),
  });
  expect((await workspace.status()).seq).toBe(seq);
});
