import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { HostedProject } from "../helpers/hosted-project.ts";

/** A hosted workspace whose history has a repository's own state, like a history from before this was refused. */
let project: HostedProject;
let workspace: WorkspaceApi;

beforeEach(async () => {
  project = new HostedProject();
  const folder = join(project.base, "folder");
  mkdirSync(join(folder, "sub", ".git"), { recursive: true });
  writeFileSync(join(folder, "sub", ".git", "config"), "[core]\n");
  writeFileSync(join(folder, "sub", "a.txt"), "a\n");
  const store = await project.store();
  const { workspace: source } = await store.init({ roots: [folder], forceInclude: ["sub/.git"] });
  const { id } = source;
  await source.close();
  workspace = await project.create({ from: { workspace: id } });
});

afterEach(() => project[Symbol.asyncDispose]());

async function files(): Promise<string[]> {
  return (await workspace.files()).files.map(({ path }) => path);
}

const REFUSED = { code: "REFUSED", message: expect.stringMatching(/\.git/) };

describe("Truth 18: git's own state in a hosted workspace", () => {
  it("can be deleted, and no undo brings it back", async () => {
    expect(await files()).toEqual(["sub", "sub/.git", "sub/.git/config", "sub/a.txt"]);
    await workspace.deleteFile("sub");
    await expect(workspace.undo()).rejects.toMatchObject({ code: "REFUSED" });
    const { skipped } = await workspace.undo({ force: true });
    expect(skipped).toMatchObject([
      { path: "sub/.git", reason: "not-permitted" },
      { path: "sub/.git/config", reason: "not-permitted" },
    ]);
    expect(await files()).toEqual(["sub", "sub/a.txt"]);
  });

  it("is not brought back by a restore, which is refused without force", async () => {
    await workspace.deleteFile("sub/.git");
    await expect(workspace.restore("baseline")).rejects.toMatchObject({ code: "REFUSED" });
    await workspace.putFile("sub/a.txt", Buffer.from("b\n"));
    await workspace.restore("baseline", { force: true });
    expect(await files()).toEqual(["sub", "sub/a.txt"]);
    expect(Buffer.concat(await Array.fromAsync((await workspace.file("sub/a.txt")).pieces())).toString()).toBe("a\n");
  });

  it("is not brought back by the rollback of a transaction, which is refused without force", async () => {
    const { id } = await workspace.beginTransaction();
    await workspace.deleteFile("sub");
    await workspace.putFile("b.txt", Buffer.from("b\n"));
    await expect(workspace.rollbackTransaction(id)).rejects.toMatchObject({ code: "REFUSED" });
    const { undo } = await workspace.rollbackTransaction(id, { force: true });
    expect(undo.skipped).toMatchObject([{ path: "sub/.git" }, { path: "sub/.git/config" }]);
    expect(await files()).toEqual(["sub", "sub/a.txt"]);
  });

  it("is not moved with the folder that holds it", async () => {
    await expect(workspace.moveFile("sub", "moved")).rejects.toMatchObject(REFUSED);
    expect(await files()).toEqual(["sub", "sub/.git", "sub/.git/config", "sub/a.txt"]);
    await workspace.deleteFile("sub/.git");
    await workspace.moveFile("sub", "moved");
    expect(await files()).toEqual(["moved", "moved/a.txt"]);
  });
});
