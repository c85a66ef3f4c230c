import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Sandbox } from "../cli/sandbox.ts";

/** Removes the project and makes folders until one has the inode that the project had. */
function replaced(box: Sandbox): string | undefined {
  const { ino } = statSync(box.project);
  rmSync(box.project, { recursive: true });
  for (let i = 0; i < 200; i++) {
    const name = `other-${i}`;
    mkdirSync(join(box.folder, name));
    if (statSync(join(box.folder, name)).ino === ino) return name;
  }
  return undefined;
}

const bears = new NodeDisk().birthOf(process.cwd()) !== undefined;

describe("Truth: a new folder is not taken for the one whose inode it has", () => {
  it.runIf(bears)("the new folder gets a history of its own, without the removed folder's files", async ({ skip }) => {
    using box = new Sandbox();
    box.write("secret", "of the first project\n");
    await box.must(["init"]);
    const cwd = replaced(box);
    if (cwd === undefined) return skip("this file system does not give the inode of a removed folder away");
    const folder = join(box.folder, cwd);
    writeFileSync(join(folder, "b"), "b\n");
    const none = await box.call(["status"], { cwd });
    expect([none.code, none.stderr]).toEqual([3, expect.stringContaining("no workspace holds")]);
    expect((await box.must(["init"], { cwd })).stdout).toMatch(/^protected: /);
    expect((await box.json(["diff", "0"], { cwd })).value).toMatchObject({ changes: [] });
    const { stdout } = await box.must(["manifest", "0"], { cwd });
    expect(stdout).not.toContain("secret");
    // The list is in the order of the ids, which are random.
    const listed = (await box.json(["workspaces"])).value as { path: string; present: boolean }[];
    expect(new Map(listed.map(({ path, present }) => [path, present]))).toEqual(
      new Map([
        [box.project, false],
        [folder, true],
      ]),
    );
  });

  it("a folder that was moved is still recognised, and so is a copy that was adopted and then moved", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    await box.must(["init"]);
    const id = ((await box.json(["workspaces"])).value as { id: string }[])[0]?.id ?? "";
    const at = (name: string): string => join(box.folder, name);
    renameSync(box.project, at("moved"));
    expect((await box.must(["snapshot"], { cwd: "moved" })).stdout).toMatch(/^snapshot 1/);
    mkdirSync(at("copy"));
    writeFileSync(join(at("copy"), "a"), "one\n");
    await box.must(["init", at("copy"), "--adopt", id, "--force"], { cwd: "." });
    renameSync(at("copy"), at("last"));
    expect((await box.must(["snapshot"], { cwd: "last" })).stdout).toMatch(/^snapshot 2/);
    expect((await box.json(["workspaces"])).value).toMatchObject([{ id, path: at("last"), present: true }]);
  });
});

describe("Truth: a folder that was removed and made again", () => {
  it("is listed as present by workspaces, and commands in it use its history", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    await box.must(["init"]);
    const listed = async (): Promise<unknown> => (await box.json(["workspaces"], { cwd: "." })).value;
    rmSync(box.project, { recursive: true });
    expect(await listed()).toMatchObject([{ path: box.project, present: false }]);
    mkdirSync(box.project);
    expect(await listed()).toMatchObject([{ path: box.project, present: true }]);
    expect((await box.must(["status"])).stdout).toContain("1 deleted");
    expect((await box.must(["workspaces"])).stdout).not.toContain("another is there");
  });
});

describe("Truth: a workspace without a folder", () => {
  it("is not adopted by a folder with other files, as the hint says, and its files can be restored elsewhere", async () => {
    using box = new Sandbox();
    const id = (await box.must(["workspaces", "create", "site"])).stdout.trim();
    await box.must(["-w", id, "put", "index.html", "-"], { input: "hi\n" });
    box.write("other.txt", "not of the workspace\n");
    const refused = await box.call(["init", "--adopt", id]);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("give the workspace an empty folder")]);
    await box.must(["-w", id, "restore", "now", "--to", "../out"]);
    expect(existsSync(join(box.folder, "out/index.html"))).toBe(true);
  });
});

describe("Truth: a workspace of a single file", () => {
  it("is listed as present as long as the file is there, even if the file is replaced", async () => {
    using box = new Sandbox();
    box.write("only.txt", "1\n");
    await box.must(["init", "only.txt"]);
    const listed = async (): Promise<unknown> => (await box.json(["workspaces"], { cwd: "." })).value;
    const path = join(box.project, "only.txt");
    expect(await listed()).toMatchObject([{ path, present: true }]);
    box.write("new", "2\n");
    renameSync(join(box.project, "new"), path);
    expect(await listed()).toMatchObject([{ path, present: true }]);
    rmSync(path);
    expect(await listed()).toMatchObject([{ path, present: false }]);
  });
});
