import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

async function withHistory(box: Sandbox): Promise<string> {
  box.write("a.txt", "one\n");
  box.write(".env", "TOKEN=for-nobody-else\n");
  const { stdout } = await box.must(["init", "--json"]);
  box.write("a.txt", "two\n");
  await box.must(["snapshot"]);
  return (JSON.parse(stdout) as { workspace: string }).workspace;
}

it("export writes the history of the folder, or of a named workspace, and says what it leaves out", async () => {
  using box = new Sandbox();
  const id = await withHistory(box);
  const { stdout } = await box.must(["export", "../history.tar"]);
  expect(stdout).toMatch(new RegExp(`^exported ${id} up to event \\d+ .* to ${join(box.folder, "history.tar")}\n`));
  expect(stdout).toContain("left out: 1 protected content (--with-protected)\n");
  expect(await box.call(["export", "../history.tar"])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining("--force"),
  });
  const shape = JSON.parse(
    (await box.must(["export", id, "../named.tar.zst", "--with-protected", "--json"])).stdout,
  ) as object;
  expect(shape).toMatchObject({ workspace: id, withheld: { protected: 0, private: 0, elsewhere: 0 }, with_key: false });
  expect(await box.call(["export", join(box.store, "x.tar")])).toMatchObject({
    stderr: expect.stringContaining("store"),
  });
});

it("import brings a history to another store, with a folder where one is asked for", async () => {
  using box = new Sandbox();
  using other = new Sandbox();
  const id = await withHistory(box);
  await box.must(["export", "../history.tar", "--with-protected"]);
  const file = join(box.folder, "history.tar");
  const { stdout } = await other.must(["import", file, "--to", "../restored", "--as", "mine"]);
  expect(stdout).toContain(`verified and imported mine (${id}): `);
  expect(stdout).toContain("from now on it is signed by the key of this machine");
  expect(readFileSync(join(other.folder, "restored/a.txt"), "utf8")).toBe("two\n");
  expect((await other.must(["verify"], { cwd: "restored" })).stdout).toContain("ok: ");
  expect((await other.must(["diff", "baseline", "now"], { cwd: "restored" })).stdout).toContain("~ a.txt");
  expect(await other.call(["import", file])).toMatchObject({ code: 6, stderr: expect.stringContaining("already") });
});

it("export into the workspace's own folder is refused, with a place outside", async () => {
  using box = new Sandbox();
  await withHistory(box);
  expect(await box.call(["export", "history.tar"])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining(`${box.project}.chronicle.tar`),
  });
  expect(existsSync(join(box.project, "history.tar"))).toBe(false);
});

it("import looks at the folder first, and says that the history is imported if the folder cannot be given later", async () => {
  using box = new Sandbox();
  using other = new Sandbox();
  const id = await withHistory(box);
  await box.must(["export", "../history.tar"]);
  const file = join(box.folder, "history.tar");
  other.write("x", "in the way");
  expect(await other.call(["import", file, "--to", "."])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining("is not empty"),
  });
  expect((await other.must(["workspaces"])).stdout).not.toContain(id);
  const { code, stderr } = await other.call(["import", file, "--to", "../home/Documents"]);
  expect(code).not.toBe(0);
  expect(stderr).toContain(`the history is imported as ${id}: \`chronicle init --adopt ${id} DIR\` gives it a folder`);
});

it("import says that the archive holds a key that was not used", async () => {
  using box = new Sandbox();
  using other = new Sandbox();
  await withHistory(box);
  await box.must(["export", "../history.tar", "--with-key"]);
  const { stdout } = await other.must(["import", join(box.folder, "history.tar")]);
  expect(stdout).toContain("the archive holds its signing key, which was not used (--use-key");
});

it("import without a folder says how to go on", async () => {
  using box = new Sandbox();
  using other = new Sandbox();
  const id = await withHistory(box);
  await box.must(["export", "../history.tar", "--with-key"]);
  const { stdout } = await other.must(["import", join(box.folder, "history.tar"), "--use-key"]);
  expect(stdout).toContain("the signing key of the archive is in place on this machine now");
  expect(stdout).toContain(`chronicle init --adopt ${id} DIR`);
  expect((await other.must(["-w", id, "cat", "a.txt"])).stdout).toBe("two\n");
  const adopted = await other.must(["init", "--adopt", id]);
  expect(adopted.stdout).not.toContain("until now");
  expect(readFileSync(join(other.project, "a.txt"), "utf8")).toBe("two\n");
});

it("an agent may not import, nor export a key, secrets or private contents", async () => {
  using box = new Sandbox();
  await withHistory(box);
  const env = { CHRONICLE_ROLE: "agent" };
  for (const option of ["--with-key", "--with-protected", "--with-private"]) {
    const { code, stderr } = await box.call(["export", "../x.tar", option], { env });
    expect([code, stderr]).toEqual([6, expect.stringContaining("an agent may not do this")]);
  }
  expect(existsSync(join(box.folder, "x.tar"))).toBe(false);
  expect((await box.call(["export", "../x.tar"], { env })).code).toBe(0);
  expect(await box.call(["import", join(box.folder, "x.tar")], { env })).toMatchObject({ code: 6 });
});

it("import tells an archive and another program's log apart", async () => {
  using box = new Sandbox();
  const log = join(box.folder, "events.wal");
  writeFileSync(log, "{}\n");
  expect(await box.call(["import", log])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--from chronomemory"),
  });
  expect(await box.call(["import", "nowhere.tar"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no file"),
  });
  expect(await box.call(["import", log, "--up-to-tear"])).toMatchObject({ code: 2 });
});
