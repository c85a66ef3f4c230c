import { expect, test } from "vitest";
import { bytes, text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import type { ChronicleError } from "../../src/core/values/errors.ts";

/** The rules of writes: which are refused, to whom a write belongs, and that the same request is done once. */

const put = (workspace: WorkspaceApi, path: string, content: string, options = {}) =>
  workspace.putFile(path, Buffer.from(content), options);

const paths = async (workspace: WorkspaceApi): Promise<string[]> =>
  (await workspace.files()).files.map((one) => one.path);

test("a write whose condition (a hash, anything, nothing) fails changes nothing, and says what is there", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await put(workspace, "a", "1", { ifMatch: "none" });
  const { seq } = await workspace.head();
  const failing = [
    () => put(workspace, "a", "2", { ifMatch: "none" }),
    () => put(workspace, "a", "2", { ifMatch: sha256("other") }),
    () => put(workspace, "b", "2", { ifMatch: "*" }),
    () => put(workspace, "b", "2", { ifMatch: sha256("1") }),
    () => workspace.deleteFile("a", { ifMatch: sha256("2") }),
    () => workspace.deleteFile("b", { ifMatch: "*" }),
    () => workspace.moveFile("a", "c", { ifMatch: sha256("2") }),
    () => put(workspace, "a", "2", { ifMatch: "" }),
  ];
  for (const write of failing) await expect(write()).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
  await expect(put(workspace, "a", "2", { ifMatch: "none" })).rejects.toMatchObject({
    data: { path: "a", hash: sha256("1") },
  });
  await expect(put(workspace, "b", "2", { ifMatch: "*" })).rejects.toMatchObject({ data: { path: "b", hash: null } });
  await expect(put(workspace, "a", "2", { ifMatch: "W/123" })).rejects.toMatchObject({ code: "USAGE" });
  expect((await workspace.head()).seq).toBe(seq);
  await put(workspace, "a", "2", { ifMatch: sha256("1") });
  await put(workspace, "a", "3", { ifMatch: "*" });
  await workspace.moveFile("a", "c", { ifMatch: sha256("3") });
  await workspace.deleteFile("c", { ifMatch: sha256("3") });
  expect(await paths(workspace)).toEqual([]);
});

test("git's own names are refused in a hosted workspace, too, because a restore would put them onto a disk", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await put(workspace, "a", "1");
  const { seq } = await workspace.head();
  const names = [
    ".git",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    ".GIT/config",
    ".git./x",
    "GIT~1/x",
    ".chronicle-tmp/x",
  ];
  for (const path of names) {
    const refused = { code: "REFUSED", data: { path } };
    await expect(put(workspace, path, "evil"), path).rejects.toMatchObject(refused);
    await expect(workspace.makeFolder(path), path).rejects.toMatchObject(refused);
    await expect(workspace.moveFile("a", path), path).rejects.toMatchObject(refused);
    await expect(workspace.moveFile(path, "b"), path).rejects.toMatchObject(refused);
  }
  expect((await workspace.head()).seq).toBe(seq);
  await put(workspace, ".gitignore", "x");
  await put(workspace, "git/x", "x");
});

test("each of several writes at once finds what those before it did, and one that fails does not hinder the others", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const results = await Promise.allSettled([
    put(workspace, "a", "1", { ifMatch: "none" }),
    put(workspace, "a", "2", { ifMatch: "none" }),
    put(workspace, "a", "3", { ifMatch: sha256("1") }),
    put(workspace, "a/b", "in a file"),
    workspace.makeFolder("d/e"),
    put(workspace, "d", "in the way"),
    workspace.moveFile("a", "d/e/a"),
    workspace.deleteFile("a"),
    put(workspace, "d/e/b", "4"),
    workspace.deleteFile("d/e/b"),
    workspace.moveFile("d", "d/e/f"),
    workspace.moveFile("d/e", "x"),
  ]);
  const codes = results.map((one) => (one.status === "fulfilled" ? "done" : (one.reason as { code: string }).code));
  expect(codes).toEqual([
    "done",
    "PRECONDITION_FAILED",
    "done",
    "REFUSED",
    "done",
    "REFUSED",
    "done",
    "NOT_FOUND",
    "done",
    "done",
    "REFUSED",
    "done",
  ]);
  expect(await paths(workspace)).toEqual(["d", "x", "x/a"]);
  expect(await text(await workspace.file("x/a"))).toBe("3");
  const history = await workspace.history("a");
  expect(history.map((one) => [one.iteration, one.size, one.deleted === true])).toEqual([
    [1, 1, false],
    [2, 1, false],
    [3, 0, true],
  ]);
  expect((await workspace.verify()).problems).toEqual([]);
  for (let i = 0; i < 7; i += 1) await workspace.undo();
  expect(await paths(workspace)).toEqual([]);
  for (let i = 0; i < 7; i += 1) await workspace.redo();
  expect(await paths(workspace)).toEqual(["d", "x", "x/a"]);
});

test("a move replaces a file only if that is allowed, never replaces a folder, and never goes into itself", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await put(workspace, "d/a", "1");
  await put(workspace, "b", "2", { permissions: 0o700 });
  for (const [from, to] of [
    ["d/a", "b"],
    ["b", "d"],
    ["d", "d/in/itself"],
    ["d", "b"],
  ] as const)
    await expect(workspace.moveFile(from, to), `${from} ${to}`).rejects.toMatchObject({ code: "REFUSED" });
  await expect(workspace.moveFile("b", "d", { overwrite: true })).rejects.toMatchObject({ code: "REFUSED" });
  await expect(workspace.moveFile("none", "x")).rejects.toMatchObject({ code: "NOT_FOUND" });
  const moved = await workspace.moveFile("b", "d/a", { overwrite: true });
  expect(moved.file).toMatchObject({ path: "d/a", permissions: 0o700, iteration: 2 });
  expect((await workspace.moveFile("d", "d")).changes).toEqual([]);
  const done = await workspace.moveFile("d", "e/f");
  expect(done.changes.map((one) => [one.path, one.change_type])).toEqual([
    ["d", "deleted"],
    ["d/a", "deleted"],
    ["e", "created"],
    ["e/f", "created"],
    ["e/f/a", "created"],
  ]);
  await workspace.undo();
  expect(await paths(workspace)).toEqual(["d", "d/a"]);
});

test("a move that would make a path too long or too deep is refused", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const long = Array.from({ length: 11 }, () => "l".repeat(190)).join("/");
  const deep = Array.from({ length: 140 }, () => "d").join("/");
  await put(workspace, `a/${long}/f`, "1");
  await put(workspace, `b/${deep}/f`, "1");
  const { seq } = await workspace.head();
  for (const [from, to] of [
    ["a", `c/${long}`],
    ["b", `c/${deep}`],
  ] as const)
    await expect(workspace.moveFile(from, to)).rejects.toMatchObject({ code: "PATH_INVALID" });
  expect((await workspace.head()).seq).toBe(seq);
  await workspace.moveFile("a", "c/d");
  expect(await text(await workspace.file(`c/d/${long}/f`))).toBe("1");
});

test("a write of the present state changes nothing; links and permissions are kept", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const first = await put(workspace, "d/a", "1", { permissions: 0o750 });
  const again = await put(workspace, "d/a", "1");
  expect(again).toMatchObject({ changes: [], undo_id: null, seq: first.seq, file: first.file });
  expect((await workspace.makeFolder("d")).undo_id).toBeNull();
  await put(workspace, "l", "d/a", { kind: "symlink" });
  expect((await workspace.file("l")).kind).toBe("symlink");
  expect((await put(workspace, "l", "now a file")).file).toMatchObject({ kind: "file", permissions: 0o644 });
  const mode = await put(workspace, "d/a", "1", { permissions: 0o600 });
  expect(mode.changes.map((one) => one.change_type)).toEqual(["permissions_changed"]);
  for (const options of [{ permissions: 0o4755 }, { permissions: -1 }, { actor: "" }, { requestId: "x".repeat(201) }])
    await expect(put(workspace, "x", "1", options)).rejects.toMatchObject({ code: "USAGE" });
  await expect(put(workspace, "l", "a\0b", { kind: "symlink" })).rejects.toMatchObject({ code: "USAGE" });
  const names = ["n".repeat(256), Array.from({ length: 300 }, () => "d").join("/"), "@lib:a", "a/./b"];
  for (const name of names) await expect(put(workspace, name, "")).rejects.toMatchObject({ code: "PATH_INVALID" });
});

test("a path that cannot be written gets a hint that fits the reason", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const hintFor = (path: string): Promise<unknown> =>
    put(workspace, path, "").then(
      () => "written",
      (error: unknown) => (error as ChronicleError).hint,
    );
  expect(await hintFor("n".repeat(256))).toBe("choose a shorter name");
  expect(await hintFor(Array.from({ length: 300 }, () => "d").join("/"))).toBe("give a path with fewer folders in it");
  expect(await hintFor(".")).toBe("give the path of a file in the root");
});

test("the same request is done once, whatever happened since, also if the workspace is opened anew", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const [first, same] = await Promise.all([
    put(workspace, "d/a", "1", { requestId: "r1" }),
    put(workspace, "d/a", "1", { requestId: "r1" }),
  ]);
  expect(same).toEqual(first);
  expect((await workspace.history("d/a")).length).toBe(1);
  const nothing = await put(workspace, "d/a", "1", { requestId: "r2" });
  expect(nothing).toMatchObject({ changes: [], undo_id: null });
  await put(workspace, "d/a", "2");
  await workspace.deleteFile("d", { requestId: "r3" });
  const later = await project.open(workspace.id);
  expect(await put(later, "d/a", "1", { requestId: "r1" })).toEqual(first);
  expect(await put(later, "d/a", "1", { requestId: "r2" })).toEqual(nothing);
  expect((await later.deleteFile("d", { requestId: "r3" })).changes.length).toBe(2);
  expect(await paths(later)).toEqual([]);
  for (const other of [
    () => put(later, "d/a", "other", { requestId: "r1" }),
    () => put(later, "d/b", "1", { requestId: "r1" }),
    () => later.deleteFile("d/a", { requestId: "r1" }),
  ])
    await expect(other()).rejects.toMatchObject({ code: "USAGE" });
  await expect(later.deleteFile("none", { requestId: "r4" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await put(later, "none", "1");
  expect((await later.deleteFile("none", { requestId: "r4" })).changes.length).toBe(1);
  expect((await later.operations()).map((one) => one.summary)).not.toContain("r2");
});

test("a stream of any size can be put, and one that fails leaves nothing", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const piece = Buffer.alloc(256 * 1024, "0123456789abcdef");
  async function* pieces(count: number, fails = false): AsyncIterable<Uint8Array> {
    for (let i = 0; i < count; i += 1) yield piece;
    if (fails) throw new Error("gone away");
  }
  const small = await workspace.putFile("small", pieces(2));
  const large = await workspace.putFile("large", pieces(80));
  expect([small.file?.size, large.file?.size]).toEqual([2 * piece.length, 80 * piece.length]);
  const content = await workspace.file("large");
  expect(sha256(await bytes(content.pieces()))).toBe(content.hash);
  const range = await bytes(content.pieces({ start: 19 * 1024 * 1024 + 3, end: 19 * 1024 * 1024 + 9 }));
  expect(range.toString()).toBe("345678");
  expect(() => content.pieces({ start: 5, end: 4 })).toThrow(expect.objectContaining({ code: "USAGE" }));
  for (const count of [1, 80]) await expect(workspace.putFile("x", pieces(count, true))).rejects.toThrow("gone away");
  expect(await paths(workspace)).toEqual(["large", "small"]);
});

test.each([-5, 1.5])("a limit that is not a whole number from 0 up is refused, and named: %d", async (value) => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const message = expect.stringContaining(`not a whole number from 0 up: ${value}`);
  await expect(workspace.configure({ maxEntries: value })).rejects.toMatchObject({ code: "USAGE", message });
  await expect(workspace.prune({ keepLast: value })).rejects.toMatchObject({ code: "USAGE", message });
});

test("a write that would exceed a limit is refused", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await workspace.configure({ maxFileSize: 100, maxEntries: 4, maxBytes: 150 });
  const again = await project.open(workspace.id);
  const limited = { code: "LIMIT_EXCEEDED" };
  async function* endless(): AsyncIterable<Uint8Array> {
    for (;;) yield Buffer.alloc(60);
  }
  await expect(put(again, "a", "x".repeat(101))).rejects.toMatchObject(limited);
  await expect(again.putFile("a", endless())).rejects.toMatchObject(limited);
  await put(again, "a", "x".repeat(100));
  await expect(put(again, "b", "x".repeat(51))).rejects.toMatchObject(limited);
  await put(again, "b", "x".repeat(50));
  await expect(put(again, "d/e/f", "")).rejects.toMatchObject(limited);
  await put(again, "d/e", "");
  await expect(put(again, "f", "")).rejects.toMatchObject(limited);
  await again.deleteFile("d");
  await put(again, "f", "");
  const full = await project.create({ store: { retention: { max_store_bytes: 1 } } });
  await expect(put(full, "a", "1")).rejects.toMatchObject(limited);
});

test("a write belongs to the action that declared its path, and to its session's transaction", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const action = await workspace.snapshotAction({
    type: "write_file",
    payload: { path: "a" },
    session: "s",
    actor: "bot",
  });
  await put(workspace, "a", "by the action");
  await put(workspace, "b", "by nobody's action", { actor: "mina", session: "s" });
  const end = await workspace.finishAction(action?.id ?? "");
  expect(end.changes.map((one) => one.path)).toEqual(["a"]);
  const [a] = await workspace.history("a");
  expect(a).toMatchObject({ cause: "write", actor: "bot", session: "s", action: action?.id });
  expect((await workspace.operations()).map((one) => one.kind)).toEqual(["write", "write", "action"]);
  await workspace.undo();
  expect(await paths(workspace)).toEqual(["b"]);
  await workspace.undo();
  expect(await paths(workspace)).toEqual([]);
  await expect(workspace.undo()).rejects.toMatchObject({ code: "NOT_FOUND" });

  const transaction = await workspace.beginTransaction({ session: "s" });
  await put(workspace, "in", "1", { session: "s" });
  await put(workspace, "out", "1", { session: "other" });
  await workspace.rollbackTransaction(transaction.id);
  expect(await paths(workspace)).toEqual(["out"]);
  const kept = await workspace.beginTransaction();
  await put(workspace, "x", "1");
  await put(workspace, "y", "1");
  await workspace.commitTransaction(kept.id);
  await workspace.undo();
  expect(await paths(workspace)).toEqual(["out"]);
  await workspace.redo();
  expect(await paths(workspace)).toEqual(["out", "x", "y"]);
});
