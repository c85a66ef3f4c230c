import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { InitShape } from "../../src/api/store-api.ts";
import type { FileListShape } from "../../src/api/file-api.ts";
import type { ManifestShape, StatusShape, WorkspaceShape } from "../../src/api/shapes.ts";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "./sandbox.ts";

/** Writes files into a workspace through the library. */
async function put(box: Sandbox, name: string, files: Readonly<Record<string, string>>): Promise<FileListShape> {
  const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const workspace = await store.openById(name);
  for (const [path, content] of Object.entries(files)) await workspace.putFile(path, Buffer.from(content));
  const listed = await workspace.files();
  await workspace.close();
  await store.close();
  return listed;
}

async function listed(box: Sandbox): Promise<WorkspaceShape[]> {
  return (await box.json(["workspaces"])).value as WorkspaceShape[];
}

it("creates, lists, forks, archives and forgets hosted workspaces", async () => {
  using box = new Sandbox();
  const id = (await box.must(["workspaces", "create", "one"])).stdout.trim();
  expect((await box.json(["workspaces", "create"])).value).toMatchObject({
    created: true,
    path: "",
  } satisfies Partial<InitShape>);
  await put(box, "one", { "src/a.txt": "first\n" });
  await box.must(["-w", "one", "snapshot", "--name", "first"]);
  await put(box, "one", { "src/a.txt": "second\n" });
  await box.must(["workspaces", "create", "two", "--from", "one"]);
  await box.must(["workspaces", "create", "user@host", "--from", `${id}@first`]);
  await box.must(["workspaces", "create", "of-a-name-with-an-at", "--from", "user@host"]);
  await box.must(["workspaces", "create", "and-a-moment", "--from", "user@host@baseline"]);
  const cat = async (name: string): Promise<string> => (await box.must(["-w", name, "cat", "src/a.txt"])).stdout;
  expect(await cat("two")).toBe("second\n");
  for (const name of ["user@host", "of-a-name-with-an-at", "and-a-moment"]) expect(await cat(name)).toBe("first\n");
  expect((await box.must(["workspaces", "archive", "one"])).stdout).toMatch(
    /^archived, and can only be read from now on: one/,
  );
  const text = (await box.must(["workspaces"])).stdout;
  expect(text).toMatch(new RegExp(`^${id} .* one +\\(no folder\\)  \\(archived\\)$`, "m"));
  const places = text
    .trimEnd()
    .split("\n")
    .map((line) => line.indexOf("(no folder)"));
  expect(new Set(places).size).toBe(1);
  const refused = await box.call(["-w", "one", "snapshot"]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`chronicle workspaces unarchive ${id}`) });
  const { stdout: status } = await box.must(["-w", "one", "status"]);
  expect(status).toMatch(/^NOT RECORDING: .*archived since .*\nworkspace +one \(no folder\) [^]*archived since/);
  expect((await box.call(["workspaces", "create", "x", "--from", "one", "--at", "10m"])).stderr).toContain(
    "--from WORKSPACE@MOMENT",
  );
  expect((await box.must(["workspaces", "-h"])).stdout).toMatch(/list, create,\s+archive,\s+unarchive/);
  await box.must(["workspaces", "unarchive", id.slice(0, 10)]);
  await box.must(["-w", "one", "snapshot"]);
  expect((await box.must(["forget", "one", "--yes"])).stdout).toMatch(/^removed the history of one \(/);
  expect((await listed(box)).map((one) => one.name ?? "").sort()).toEqual(
    ["", "and-a-moment", "of-a-name-with-an-at", "two", "user@host"].sort(),
  );
});

it("-w chooses the workspace of every command, in any current folder, and paths begin at its root", async () => {
  using box = new Sandbox();
  box.write("here.txt", "a folder's history\n");
  await box.must(["init"]);
  mkdirSync(join(box.project, "sub"));
  await box.must(["workspaces", "create", "w"]);
  await put(box, "w", { "dir/b.txt": "one\n", "here.txt": "hosted\n" });
  await put(box, "w", { "dir/b.txt": "two\n" });
  const how = { cwd: "project/sub" };
  const say = async (...words: readonly string[]): Promise<string> =>
    (await box.must(["-w", "w", ...words], how)).stdout;
  expect(await say("cat", "here.txt")).toBe("hosted\n");
  expect(await say("cat", "dir/b.txt")).toBe("two\n");
  expect((await box.call(["-w", "w", "cat", "/dir/b.txt"], how)).stderr).toContain("perhaps you mean: dir/b.txt");
  expect(await say("history", "dir/b.txt")).toMatch(/@?1\b[\s\S]*@?2\b/);
  expect(await say("diff", "baseline", "now", "--", "dir")).toContain("dir/b.txt");
  expect(await say("status")).toContain("(no folder)");
  await say("undo");
  expect(await say("cat", "dir/b.txt")).toBe("one\n");
  const manifest = (await box.json(["--workspace", "w", "manifest", "now"], how)).value as ManifestShape;
  expect(Object.keys(manifest.files)).toEqual(["dir", "dir/b.txt", "here.txt"]);
  await say("restore", "latest", "--to", join(box.folder, "out"));
  await say("verify");
  // -w also chooses a workspace with a folder, from another folder.
  const own = (await listed(box)).find((one) => one.path === box.project)?.id ?? "";
  const elsewhere = { cwd: "home" };
  expect((await box.must(["-w", own, "cat", "here.txt"], elsewhere)).stdout).toBe("a folder's history\n");
  expect(((await box.json(["-w", own, "status"], elsewhere)).value as StatusShape).path).toBe(box.project);
  expect(readFileSync(join(box.project, "here.txt"), "utf8")).toBe("a folder's history\n");
});

it.each([
  [["workspaces", "burn"], "does not know 'burn'"],
  [["workspaces", "list", "x"], "takes no argument"],
  [["workspaces", "create", "a", "b"], "too many arguments"],
  [["workspaces", "archive"], "takes a workspace"],
  [["workspaces", "archive", "x", "--from", "y"], "--from goes with create"],
  [["workspaces", "create", "a b"], "cannot be the name"],
  [["-w", "x", "init"], "init takes no -w: it begins a history in a folder"],
])("%j is refused with a message that names the mistake", async (words, said) => {
  using box = new Sandbox();
  const { code, stderr } = await box.call(words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
});

it("unknown workspaces, and commands that need a folder, are errors", async () => {
  using box = new Sandbox();
  await box.must(["workspaces", "create", "w"]);
  expect(await box.call(["-w", "nobody", "status"])).toMatchObject({ code: 3 });
  expect(await box.call(["workspaces", "create", "w"])).toMatchObject({ code: 6 });
  expect(await box.call(["workspaces", "create", "--from", "nobody@1"])).toMatchObject({ code: 3 });
  for (const words of [["watch"], ["run", "--", "true"]]) {
    const { code, stderr } = await box.call(["-w", "w", ...words]);
    expect([code, stderr]).toEqual([words[0] === "run" ? 125 : 6, expect.stringContaining("has no folder on disk")]);
  }
});

it("printed commands repeat -w and --store, but those in JSON do not", async () => {
  using box = new Sandbox();
  const put = async (text: string): Promise<string> =>
    (await box.must(["-w", "one", "put", "a.txt"], { input: text })).stdout;
  await box.must(["workspaces", "create", "one"]);
  expect(await put("1\n")).toContain("take it back: chronicle -w one undo");
  await put("2\n");
  expect((await box.must(["-w", "one", "undo", "-y"])).stdout).toContain("chronicle -w one redo brings it back");
  expect((await box.must(["-w", "one", "redo", "-y"])).stdout).toContain("chronicle -w one undo takes it back");
  expect((await box.must(["-w", "one", "restore", "seq:3", "-y"])).stdout).toContain("chronicle -w one undo");
  const listed = (await box.must(["-w", "one", "list"])).stdout;
  expect(listed).toContain("chronicle -w one undo");
  expect(listed).not.toMatch(/chronicle (undo|restore)/);
  expect(JSON.stringify((await box.json(["-w", "one", "list"])).value)).toContain('"back":"chronicle undo"');
  const missing = await box.call(["--store", box.store, "-w", "one", "cat", "nowhere"]);
  expect(missing.stderr).toContain(`chronicle --store ${box.store} -w one manifest`);
  await box.must(["-w", "one", "put", "d/x"], { input: "x" });
  expect((await box.call(["-w", "one", "rm", "d"])).stderr).toContain("chronicle -w one rm -r d");
});

it("forget reports an unknown workspace before it asks for --yes", async () => {
  using box = new Sandbox();
  for (const name of ["one", "two"]) await box.must(["workspaces", "create", name]);
  const unknown = await box.call(["forget", "zz"]);
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('there is no workspace "zz"')]);
  expect(unknown.stderr).not.toContain("--yes");
  expect(await box.call(["forget", "zz", "--yes"])).toEqual(unknown);
  expect((await box.call(["forget", ""])).code).toBe(3);
  const asked = await box.call(["forget", "one"]);
  expect([asked.code, asked.stderr]).toEqual([6, expect.stringContaining("chronicle forget one --yes")]);
  expect((await box.json(["workspaces"])).value).toHaveLength(2);
});
