import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { FileListShape, FileWriteShape } from "../../src/api/file-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Sandbox } from "./sandbox.ts";

async function put(box: Sandbox, words: readonly string[], input = ""): Promise<FileWriteShape> {
  const { code, value } = await box.json(["-w", "w", "put", ...words], { input });
  expect(code).toBe(0);
  return value as FileWriteShape;
}

async function pathsOf(box: Sandbox, ...words: readonly string[]): Promise<string[]> {
  const { value } = await box.json(["-w", "w", "files", ...words]);
  return (value as FileListShape).files.map(({ path }) => path);
}

async function hosted(): Promise<Sandbox> {
  const box = new Sandbox();
  await box.must(["workspaces", "create", "w"]);
  return box;
}

it("put writes the exact bytes of stdin or of a file", async () => {
  using box = await hosted();
  const small = await put(box, ["a/b.txt"], "one\n");
  expect(small.file).toMatchObject({ path: "a/b.txt", hash: sha256("one\n"), permissions: 0o644, iteration: 1 });
  expect(small.changes.map(({ path }) => path)).toEqual(["a", "a/b.txt"]);
  const bytes = Buffer.from([0, 255, 254, 10, 128]);
  box.write("bytes.bin", bytes);
  expect((await put(box, ["bytes.bin", "bytes.bin"])).file?.hash).toBe(sha256(bytes));
  const large = Buffer.alloc(3 * 1024 * 1024 + 7, "large");
  box.write("large.bin", large);
  symlinkSync("large.bin", join(box.project, "link"));
  expect((await put(box, ["large.bin", "link", "--mode", "0755"])).file).toMatchObject({
    hash: sha256(large),
    permissions: 0o755,
  });
  expect(await put(box, ["a/b.txt"], "one\n")).toMatchObject({ changes: [], undo_id: null });
  // In a process of its own, as users run it.
  const piped = box.run(["-w", "w", "put", "piped.txt"], { input: "péped\n" });
  expect(piped).toMatchObject({ code: 0, stdout: expect.stringContaining("+ piped.txt") });
  expect(box.run(["-w", "w", "cat", "piped.txt"]).stdout).toBe("péped\n");
});

it("put refuses an absolute path in a hosted workspace, and suggests the relative one", async () => {
  using box = await hosted();
  const refused = await box.call(["-w", "w", "put", "/etc/app.conf"], { input: "x" });
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/no path of this workspace.*\n.*: etc\/app\.conf/),
  ]);
  expect((await box.call(["-w", "w", "cat", "/"])).code).toBe(2);
  expect(await pathsOf(box)).toEqual([]);
});

it("--if-match refuses a write if the file has another hash", async () => {
  using box = await hosted();
  const { file } = await put(box, ["a.txt", "--if-match", "none"], "one\n");
  for (const hash of ["none", sha256("other")]) {
    const lost = await box.call(["-w", "w", "put", "a.txt", "--if-match", hash], { input: "two\n" });
    expect(lost.code).toBe(6);
  }
  expect((await box.call(["-w", "w", "rm", "a.txt", "--if-match", sha256("other")])).code).toBe(6);
  expect((await box.call(["-w", "w", "mv", "a.txt", "b.txt", "--if-match", sha256("other")])).code).toBe(6);
  expect((await box.must(["-w", "w", "cat", "a.txt"])).stdout).toBe("one\n");
  await put(box, ["a.txt", "--if-match", file?.hash ?? ""], "two\n");
  await put(box, ["a.txt", "--if-match", "*"], "three\n");
});

it("files lists the recorded files, now or at a moment, also a single file", async () => {
  using box = await hosted();
  await put(box, ["src/a.ts"], "a");
  await put(box, ["src/deep/b.ts"], "b");
  await box.must(["-w", "w", "snapshot", "--name", "then"]);
  await put(box, ["later.md"], "c");
  expect(await pathsOf(box)).toEqual(["later.md", "src", "src/a.ts", "src/deep", "src/deep/b.ts"]);
  expect(await pathsOf(box, "--depth", "1")).toEqual(["later.md", "src"]);
  expect(await pathsOf(box, "src", "--depth", "1")).toEqual(["src/a.ts", "src/deep"]);
  expect(await pathsOf(box, "--at", "then")).toEqual(["src", "src/a.ts", "src/deep", "src/deep/b.ts"]);
  expect(await pathsOf(box, "src/a.ts")).toEqual(["src/a.ts"]);
  expect((await box.call(["-w", "w", "files", "nowhere"])).code).toBe(3);
  expect((await box.call(["-w", "w", "files", "later.md", "--at", "then"])).code).toBe(3);
  const text = (await box.must(["-w", "w", "files", "src"])).stdout;
  expect(text).toMatch(/^- 0644 +1 B +[0-9a-f]{12} +@1 +src\/a\.ts$/m);
});

it("rm and mv work in a hosted workspace, and undo undoes them; a folder needs rm -r", async () => {
  using box = await hosted();
  await put(box, ["dir/a.txt"], "a");
  await put(box, ["dir/b.txt"], "b");
  const slip = await box.call(["-w", "w", "rm", "dir"]);
  expect(slip).toMatchObject({ code: 2, stderr: expect.stringContaining("chronicle -w w rm -r dir") });
  await box.must(["-w", "w", "rm", "dir/a.txt"]);
  await box.must(["-w", "w", "mv", "dir", "moved"]);
  expect(await pathsOf(box)).toEqual(["moved", "moved/b.txt"]);
  await put(box, ["other.txt"], "o");
  const there = await box.call(["-w", "w", "mv", "moved/b.txt", "other.txt"]);
  expect([there.code, there.stderr]).toEqual([6, expect.stringContaining("`--overwrite`")]);
  await box.must(["-w", "w", "mv", "moved/b.txt", "other.txt", "--overwrite"]);
  expect((await box.must(["-w", "w", "cat", "other.txt"])).stdout).toBe("b");
  await box.must(["-w", "w", "rm", "-r", "moved"]);
  for (let step = 0; step < 5; step += 1) await box.must(["-w", "w", "undo"]);
  expect(await pathsOf(box)).toEqual(["dir", "dir/a.txt", "dir/b.txt"]);
  const gone = await box.call(["-w", "w", "rm", "dir/c.txt"]);
  expect(gone.code).toBe(3);
});

it("in a workspace with a folder, put, mv and rm use the current folder, and record the old content first", async () => {
  using box = new Sandbox();
  mkdirSync(join(box.project, "sub"));
  box.write("sub/a.txt", "one\n");
  await box.must(["init"]);
  box.write("sub/a.txt", "edited, and not recorded yet\n");
  const how = { cwd: "project/sub", input: "two\n" };
  expect((await box.must(["put", "a.txt"], how)).stdout).toContain("~ a.txt");
  expect(readFileSync(join(box.project, "sub/a.txt"), "utf8")).toBe("two\n");
  await box.must(["undo"]);
  expect(readFileSync(join(box.project, "sub/a.txt"), "utf8")).toBe("edited, and not recorded yet\n");
  await box.must(["mv", "a.txt", "../b.txt"], how);
  expect(existsSync(join(box.project, "sub/a.txt"))).toBe(false);
  await box.must(["put", "run.sh", "--mode", "755"], { input: "#!/bin/sh\n" });
  expect(lstatSync(join(box.project, "run.sh")).mode & 0o777).toBe(0o755);
  await box.must(["rm", "b.txt"]);
  expect(existsSync(join(box.project, "b.txt"))).toBe(false);
  box.write("new.txt", "not recorded yet\n");
  await box.must(["rm", "new.txt"]);
  expect(existsSync(join(box.project, "new.txt"))).toBe(false);
  await box.must(["undo"]);
  expect(readFileSync(join(box.project, "new.txt"), "utf8")).toBe("not recorded yet\n");
  rmSync(join(box.project, "new.txt"));
  box.write("new.txt/inner", "a folder by now\n");
  expect((await box.call(["rm", "new.txt"])).code).toBe(2);
  expect(existsSync(join(box.project, "new.txt/inner"))).toBe(true);
  writeFileSync(join(box.folder, "outside.txt"), "x");
  expect((await box.call(["rm", "../outside.txt"])).code).toBe(2);
  expect(existsSync(join(box.folder, "outside.txt"))).toBe(true);
});

it.each([
  [["put", "a", "missing"], "cannot read missing: ENOENT"],
  [["put", "a", "."], "cannot read .: EISDIR"],
  [["put", "a", "--mode", "rwx"], "is no valid value"],
  [["put"], "missing required argument"],
  [["files", "--depth", "x"], "a whole number"],
])("%j is refused with a message that names the mistake", async (words, said) => {
  using box = await hosted();
  const { code, stderr } = await box.call(["-w", "w", ...words]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
});
