import { chmodSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { text } from "../../../test/helpers/content-text.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { sha256 } from "../../core/values/hash.ts";

/** Writes in a workspace with a folder, in which people edit the same files. */

const put = (workspace: WorkspaceApi, path: string, content: string, options = {}) =>
  workspace.putFile(path, Buffer.from(content), options);

test("a put is on disk and recorded, and undo inverts it on disk, too", async () => {
  await using project = new Project();
  project.write("kept", "kept");
  const workspace = await project.init();
  const done = await put(workspace, "new/folder/a.txt", "hello", { permissions: 0o600 });
  expect(done.changes.map((one) => one.path)).toEqual(["new", "new/folder", "new/folder/a.txt"]);
  expect(done.file).toMatchObject({
    path: "new/folder/a.txt",
    iteration: 1,
    permissions: 0o600,
    hash: sha256("hello"),
  });
  expect(project.read("new/folder/a.txt")).toBe("hello");
  expect(statSync(project.at("new/folder/a.txt")).mode & 0o777).toBe(0o600);
  expect((await workspace.status()).changes).toEqual([]);
  await put(workspace, "new/folder/a.txt", "second");
  expect(statSync(project.at("new/folder/a.txt")).mode & 0o777).toBe(0o600);
  await workspace.undo();
  expect(project.read("new/folder/a.txt")).toBe("hello");
  await workspace.undo();
  expect(Object.keys(project.tree())).toEqual(["kept"]);
  expect((await workspace.verify()).problems).toEqual([]);
});

test("of several writes at once, only the one that would bring back an erased content is refused", async () => {
  await using project = new Project();
  project.write("left-out.key", "erased");
  const workspace = await project.init();
  await workspace.configure({ excludePatterns: ["left-out.key"] });
  await workspace.erase({ what: "left-out.key" });
  const results = await Promise.allSettled([
    put(workspace, "before", "1"),
    workspace.moveFile("left-out.key", "b", { ifMatch: sha256("erased") }),
    put(workspace, "after", "2"),
  ]);
  const codes = results.map((one) => (one.status === "fulfilled" ? "done" : (one.reason as { code: string }).code));
  expect(codes).toEqual(["done", "ERASED", "done"]);
});

test("an edit on disk is recorded first, as a human's, and `ifMatch` is compared with what is on disk", async () => {
  await using project = new Project();
  project.write("a", "recorded");
  const workspace = await project.init();
  project.write("a", "edited since");
  await expect(put(workspace, "a", "mine", { ifMatch: sha256("recorded") })).rejects.toMatchObject({
    code: "PRECONDITION_FAILED",
    data: { path: "a", hash: sha256("edited since") },
  });
  expect(project.read("a")).toBe("edited since");
  await put(workspace, "a", "mine", { ifMatch: sha256("edited since"), actor: "otto" });
  expect((await workspace.history("a")).map(({ cause, actor, hash }) => [cause, actor, hash])).toEqual([
    ["baseline", "human", sha256("recorded")],
    ["capture", "human", sha256("edited since")],
    ["write", "otto", sha256("mine")],
  ]);
});

test("the deletion of a folder includes its unrecorded files, and undo brings them all back", async () => {
  await using project = new Project();
  project.write(".gitignore", "ignored\n");
  project.write("d/a", "a");
  const workspace = await project.init();
  project.write("d/ignored", "precious");
  project.write("d/new", "new");
  const done = await workspace.deleteFile("d");
  expect(done.changes.map((one) => one.path)).toEqual(["d", "d/a", "d/ignored", "d/new"]);
  expect(existsSync(project.at("d"))).toBe(false);
  await workspace.undo();
  expect([project.read("d/a"), project.read("d/ignored"), project.read("d/new")]).toEqual(["a", "precious", "new"]);
});

test("a put over a file with setuid, and a move of one, record the mode that is on disk", async () => {
  await using project = new Project();
  project.write("tool", "1\n");
  project.write("other", "1\n");
  const workspace = await project.init();
  for (const name of ["tool", "other"]) chmodSync(project.at(name), 0o4755);
  await workspace.snapshot();
  await workspace.putFile("tool", Buffer.from("1\n"));
  expect(statSync(project.at("tool")).mode & 0o7777).toBe(0o4755);
  const replaced = await workspace.putFile("tool", Buffer.from("2\n"));
  const moved = await workspace.moveFile("other", "moved");
  expect([replaced.file?.permissions, moved.file?.permissions]).toEqual([0o755, 0o755]);
  for (const name of ["tool", "moved"]) expect(statSync(project.at(name)).mode & 0o7777).toBe(0o755);
  expect((await workspace.status()).changes).toEqual([]);
});

test("a move of a folder moves all that is in it and keeps the modes, and undo moves it back", async () => {
  await using project = new Project();
  project.write("d/run.sh", "echo", 0o755);
  project.link("d/link", "run.sh");
  const workspace = await project.init();
  const done = await workspace.moveFile("d", "e/f");
  expect(done.file).toMatchObject({ path: "e/f", kind: "dir" });
  expect(Object.keys(project.tree())).toEqual(["e", "e/f", "e/f/link", "e/f/run.sh"]);
  expect(statSync(project.at("e/f/run.sh")).mode & 0o777).toBe(0o755);
  await workspace.undo();
  expect(Object.keys(project.tree())).toEqual(["d", "d/link", "d/run.sh"]);
});

test("nothing is written through a link, into git's state, into the staging folder or the store", async () => {
  await using project = new Project({ storeInside: true });
  await using outside = new Project();
  project.write(".git/config", "[core]");
  project.write("a", "a");
  const workspace = await project.init();
  symlinkSync(outside.folder, project.at("out"));
  for (const path of ["out/x", ".git/hooks/pre-commit", "sub/.git/config", ".chronicle-tmp/x", ".state/x"]) {
    await expect(put(workspace, path, "evil"), path).rejects.toMatchObject({ code: "REFUSED" });
  }
  await expect(workspace.deleteFile(".state")).rejects.toMatchObject({ code: "REFUSED" });
  for (const path of ["../x", "/etc/passwd", "a/../b", "a//b", "a\0b", ""]) {
    await expect(put(workspace, path, "evil"), path).rejects.toMatchObject({ code: "PATH_INVALID" });
  }
  expect(Object.keys(outside.tree())).toEqual([]);
  expect(existsSync(project.at("sub"))).toBe(false);
});

test("a folder with a part that cannot be read is not deleted", async () => {
  await using project = new Project();
  project.write("d/a", "a");
  const workspace = await project.init();
  mkdirSync(project.at("d/locked"));
  project.write("d/locked/x", "x");
  chmodSync(project.at("d/locked"), 0o000);
  const isRoot = process.getuid?.() === 0;
  // The root user can read every folder.
  if (!isRoot) await expect(workspace.deleteFile("d")).rejects.toMatchObject({ code: "REFUSED" });
  chmodSync(project.at("d/locked"), 0o755);
  rmSync(project.at("d"), { recursive: true });
  await expect(workspace.deleteFile("d")).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("many writes at once are all done, and those to one path in the order of their calls", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const all = Array.from({ length: 20 }, (_, i) => put(workspace, i % 2 === 0 ? "same" : `d/${i}`, `${i}`));
  const seqs = (await Promise.all(all)).map((one) => one.seq);
  expect(new Set(seqs).size).toBe(20);
  expect(project.read("same")).toBe("18");
  expect((await workspace.history("same")).map((one) => one.iteration)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(await text(await workspace.file("d/19"))).toBe("19");
  expect((await workspace.operations()).length).toBe(20);
  for (let i = 0; i < 20; i += 1) await workspace.undo();
  expect(Object.keys(project.tree())).toEqual([]);
  expect((await workspace.status()).changes).toEqual([]);
});
