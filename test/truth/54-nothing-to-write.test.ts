import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileWriteShape } from "../../src/api/file-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";
import { Serving } from "../server/serving.ts";

/** A write that finds its result in place writes nothing, so it records nothing that a rule keeps out. */

async function ignoring(project: Project): Promise<WorkspaceApi> {
  project.write(".gitignore", "private/\n.env\n");
  project.write("private/deep/key", "secret\n");
  project.write("kept-out/key", "secret\n");
  project.write("src/.env", "secret\n");
  project.write("src/a.txt", "a\n");
  return project.init({ excludePatterns: ["kept-out"] });
}

type Write = (on: WorkspaceApi) => Promise<FileWriteShape>;

const NOTHING: readonly (readonly [string, Write])[] = [
  ["an ignored folder that is there", (on) => on.makeFolder("private")],
  ["an ignored folder, with other permissions", (on) => on.makeFolder("private", { permissions: 0o700 })],
  ["an ignored folder, repeated with its request id", (on) => on.makeFolder("private", { requestId: "one" })],
  ["a folder in an ignored folder", (on) => on.makeFolder("private/deep")],
  ["a folder that a person excluded", (on) => on.makeFolder("kept-out")],
  ["a recorded folder with an ignored file", (on) => on.makeFolder("src")],
  ["an ignored folder moved to where it is", (on) => on.moveFile("private", "private")],
  [
    "an ignored folder moved to where it is, repeated with its request id",
    (on) => on.moveFile("private", "private", { requestId: "one" }),
  ],
  ["an ignored file moved to where it is", (on) => on.moveFile("src/.env", "src/.env")],
  [
    "an ignored file moved to where it is, if it is there",
    (on) => on.moveFile("src/.env", "src/.env", { ifMatch: "*" }),
  ],
  ["a recorded folder moved to where it is", (on) => on.moveFile("src", "src", { overwrite: true })],
];

describe("Truth: a write that changes nothing records nothing that a rule keeps out", () => {
  it.each(NOTHING)("%s", async (_, write) => {
    await using project = new Project();
    const workspace = await ignoring(project);
    const before = await workspace.files();
    const told = await write(workspace);
    expect(told).toMatchObject({ changes: [], undo_id: null });
    expect(await write(workspace)).toMatchObject({ changes: [], undo_id: null, file: told.file });
    const paths = before.files.map(({ path }) => path);
    expect((await workspace.files()).files.map(({ path }) => path)).toEqual(paths);
    // Later captures do not take it either.
    for (const path of ["private/deep/key", "kept-out/key", "src/.env"]) project.write(path, "another\n");
    await workspace.snapshot();
    expect((await workspace.files()).files.map(({ path }) => path)).toEqual(paths);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("a folder that no rule keeps out is recorded with all that is in it, and the answer has it", async () => {
    await using project = new Project();
    const workspace = await ignoring(project);
    project.write("new/deep/a.txt", "a\n");
    const { file, changes } = await workspace.makeFolder("new/deep");
    expect([file?.path, file?.iteration, changes]).toEqual(["new/deep", 1, []]);
    expect((await workspace.files({ path: "new" })).files.map(({ path }) => path)).toContain("new/deep/a.txt");
    await expect(workspace.moveFile("none", "none")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("a file put with the content that is on disk is recorded, because the caller has that content", async () => {
    await using project = new Project();
    const workspace = await ignoring(project);
    const { file, changes } = await workspace.putFile("private/deep/key", Buffer.from("secret\n"));
    expect([file?.iteration, changes]).toEqual([1, []]);
    expect((await workspace.files({ path: "private" })).files.map(({ path }) => path)).toEqual([
      "private/deep",
      "private/deep/key",
    ]);
  });

  it("an agent's write over HTTP records nothing that a rule keeps out either", async () => {
    await using serving = await Serving.start({ folder: true });
    const project = join(serving.base, "project");
    const { default_workspace: id } = (await serving.ask("/v1/me")).json<{ default_workspace: string }>();
    const [base, token] = [`/v1/workspaces/${id}`, serving.token("agent")];
    const sent = { method: "PUT", token };
    expect((await serving.ask(`${base}/files/.gitignore`, { ...sent, body: "private/\n" })).status).toBe(200);
    mkdirSync(join(project, "private"));
    writeFileSync(join(project, "private", "key"), "secret\n");
    const made = await serving.ask(`${base}/folders/private`, { ...sent, headers: { "idempotency-key": "one" } });
    expect([made.status, made.json()]).toMatchObject([200, { file: null, changes: [] }]);
    const moved = await serving.send(`${base}/move`, { from: "private", to: "private" }, { token });
    // For an agent, the ignored folder does not exist.
    expect([moved.status, moved.json()]).toMatchObject([404, { code: "NOT_FOUND" }]);
    expect((await serving.ask(`${base}/files/private/key`, { token })).status).toBe(404);
    expect((await serving.ask(`${base}/log?prefix=file:private`, { token })).json()["items"]).toEqual([]);
  });
});
