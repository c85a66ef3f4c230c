import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";
import { Serving } from "../server/serving.ts";

/**
 * A move or a deletion of a folder records nothing that the rules leave out of it, and makes none of it readable
 * under another name.
 */

const SECRETS = {
  "src/local.env": "SECRET that git ignores\n",
  "src/modules/dep/a.js": "SECRET in an ignored folder\n",
  "src/private/key.txt": "SECRET in a folder that a person excluded\n",
  "hid/x": "SECRET in an excluded folder at the top\n",
  "build/out.js": "SECRET in an ignored folder at the top\n",
};

class Kept extends Project {
  async live(): Promise<WorkspaceApi> {
    this.write(".gitignore", "*.env\nmodules/\nbuild/\n");
    for (const [path, content] of Object.entries(SECRETS)) this.write(path, content);
    this.write("src/a.txt", "a\n");
    this.write("src/deep/b.txt", "b\n");
    this.write("plain/c.txt", "c\n");
    return this.init({ excludePatterns: ["src/private", "hid"] });
  }
}

async function recorded(workspace: WorkspaceApi): Promise<readonly string[]> {
  return (await workspace.files({ limit: 10_000 })).files.map(({ path }) => path);
}

/** Checks that nothing that the rules leave out is in the log, not even after another capture. */
async function saysNothing(workspace: WorkspaceApi): Promise<void> {
  await workspace.snapshot();
  const log = JSON.stringify(await workspace.log());
  for (const [path, content] of Object.entries(SECRETS))
    expect([path, log.includes(sha256(content))]).toEqual([path, false]);
}

const agentOf = (workspace: WorkspaceApi): WorkspaceApi => workspace.as({ role: "agent", actor: "agent" });

describe("Truth 75: an agent's write to a folder with files that the rules leave out", () => {
  it("a move takes the recorded files along, leaves the rest where it is, and names the folder that stays", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const before = project.tree();
    const moved = await agentOf(workspace).moveFile("src", "lib");
    expect(moved.file?.path).toBe("lib");
    expect(moved.skipped).toMatchObject([{ path: "src", reason: "not-empty" }]);
    expect(moved.changes.map(({ path }) => path)).toEqual([
      ...["lib", "lib/a.txt", "lib/deep", "lib/deep/b.txt"],
      ...["src/a.txt", "src/deep", "src/deep/b.txt"],
    ]);
    for (const [path, content] of Object.entries(SECRETS)) expect(project.read(path)).toBe(content);
    await saysNothing(workspace);
    expect(await recorded(workspace)).not.toContain("lib/modules");
    await workspace.undo();
    expect(project.tree()).toEqual(before);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("a deletion leaves the same files, and a repeated request gets the same answer", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const before = project.tree();
    const agent = agentOf(workspace);
    const deleted = await agent.deleteFile("src", { requestId: "one" });
    expect(deleted.skipped).toMatchObject([{ path: "src", reason: "not-empty" }]);
    expect(await agent.deleteFile("src", { requestId: "one" })).toEqual(deleted);
    for (const [path, content] of Object.entries(SECRETS)) expect(project.read(path)).toBe(content);
    await saysNothing(workspace);
    await workspace.undo();
    expect(project.tree()).toEqual(before);
    const whole = await agent.deleteFile("plain");
    expect(whole.skipped).toBeUndefined();
  });

  it("is refused if the rules would be moved or deleted with it", async () => {
    await using project = new Kept();
    project.write("own/.gitignore", "key\n");
    project.write("own/key", "SECRET\n");
    project.write("own/a.txt", "a\n");
    const workspace = await project.live();
    const before = project.tree();
    for (const write of [() => agentOf(workspace).moveFile("own", "there"), () => agentOf(workspace).deleteFile("own")])
      await expect(write()).rejects.toMatchObject({ code: "REFUSED", data: { path: "own/key" } });
    expect(project.tree()).toEqual(before);
    await saysNothing(workspace);
    expect(JSON.stringify(await workspace.log())).not.toContain(sha256("SECRET\n"));
  });

  test.each(["hid", "hid/x", "build", "build/out.js", "src/local.env"])(
    "a deletion finds nothing at %s",
    async (path) => {
      await using project = new Kept();
      const workspace = await project.live();
      const deleted = agentOf(workspace).deleteFile(path);
      await expect(deleted).rejects.toMatchObject({ code: "NOT_FOUND", message: `there is nothing at "${path}"` });
      await saysNothing(workspace);
    },
  );

  test.each(["hid/x", "build/out.js", "src/local.env"])("a write or a move onto %s is refused", async (path) => {
    await using project = new Kept();
    const workspace = await project.live();
    const agent = agentOf(workspace);
    const wrong = "0".repeat(64);
    for (const write of [
      () => agent.putFile(path, Buffer.from("mine\n")),
      () => agent.putFile(path, Buffer.from("mine\n"), { ifMatch: "*" }),
      // The answer to a condition must not tell the hash of what is there.
      () => agent.putFile(path, Buffer.from("mine\n"), { ifMatch: wrong }),
      () => agent.moveFile("plain/c.txt", path, { overwrite: true }),
    ])
      await expect(write()).rejects.toMatchObject({ code: "REFUSED" });
    expect(project.read(path)).toBe(SECRETS[path as keyof typeof SECRETS]);
    await saysNothing(workspace);
    // A new file beside it belongs to the agent.
    await agent.putFile("build/mine.js", Buffer.from("mine\n"));
    await agent.deleteFile("build");
    expect(project.read("build/out.js")).toBe(SECRETS["build/out.js"]);
    await saysNothing(workspace);
  });
});

describe("Truth 75: no deletion or move of a folder records what a person excluded, whoever asks for it", () => {
  const asPerson: readonly (readonly [string, string, (on: WorkspaceApi) => Promise<unknown>])[] = [
    ["the excluded folder is deleted", "hid", (on) => on.deleteFile("hid")],
    ["a file in it is deleted", "hid/x", (on) => on.deleteFile("hid/x")],
    ["the folder above is deleted", "src/private", (on) => on.deleteFile("src")],
    ["the folder above is moved", "src/private", (on) => on.moveFile("src", "lib")],
  ];
  it.each(asPerson)("%s", async (_, path, write) => {
    await using project = new Kept();
    const workspace = await project.live();
    const before = project.tree();
    await expect(write(workspace)).rejects.toMatchObject({ code: "REFUSED", data: { path } });
    expect(project.tree()).toEqual(before);
    await saysNothing(workspace);
  });

  it("over HTTP, an agent's deletion finds nothing, and an operator's deletion is refused", async () => {
    await using serving = await Serving.start({ folder: true });
    const project = join(serving.base, "project");
    const { default_workspace: id } = (await serving.ask("/v1/me")).json<{ default_workspace: string }>();
    const base = `/v1/workspaces/${id}`;
    expect((await serving.ask(`${base}/files/.gitignore`, { method: "PUT", body: "build/\n" })).status).toBe(200);
    for (const folder of ["build", "hid"]) {
      mkdirSync(join(project, folder));
      writeFileSync(join(project, folder, "x"), `SECRET in ${folder}\n`);
    }
    const config = await serving.ask(`${base}/config`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ excludePatterns: ["hid"] }),
    });
    expect([config.status, config.text]).toEqual([200, expect.stringContaining("hid")]);
    const token = serving.token("agent");
    for (const folder of ["build", "hid"])
      expect((await serving.ask(`${base}/files/${folder}`, { method: "DELETE", token })).status).toBe(404);
    const byOperator = await serving.ask(`${base}/files/hid`, { method: "DELETE" });
    expect([byOperator.status, byOperator.json()]).toMatchObject([409, { code: "REFUSED" }]);
    for (const folder of ["build", "hid"]) expect(existsSync(join(project, folder, "x"))).toBe(true);
    const { text } = await serving.ask(`${base}/log?prefix=file:&limit=1000`);
    for (const folder of ["build", "hid"]) expect(text).not.toContain(sha256(`SECRET in ${folder}\n`));
  });
});
