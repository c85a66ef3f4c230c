import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** A project with paths that rules of each kind leave out. */
class Kept extends Project {
  async live(): Promise<WorkspaceApi> {
    this.write(".gitignore", ".env\nbuild/\n");
    this.write(".env", "KEY=secret\n");
    this.write("keys.txt", "secret\n");
    this.write(".git/config", "[core]\n");
    this.write(".git/HEAD", "ref: refs/heads/main\n");
    this.write("build/out/a.js", "secret\n");
    this.write("src/a.txt", "a\n");
    this.write("src/.env", "KEY=secret\n");
    return this.init({ excludePatterns: ["keys.txt"] });
  }
}

const BYTES = Buffer.from("new\n");
const WRONG = "0".repeat(64);

type Write = (workspace: WorkspaceApi) => Promise<unknown>;

/** Writes that are refused: the error's code, a title, and the write. */
const REFUSED: readonly (readonly [string, string, Write])[] = [
  [
    "PRECONDITION_FAILED",
    "put, only if the file does not exist",
    (on) => on.putFile(".env", BYTES, { ifMatch: "none" }),
  ],
  [
    "PRECONDITION_FAILED",
    "put, with the hash of another content",
    (on) => on.putFile("keys.txt", BYTES, { ifMatch: WRONG }),
  ],
  [
    "PRECONDITION_FAILED",
    "put beneath an ignored folder",
    (on) => on.putFile("build/out/a.js", BYTES, { ifMatch: WRONG }),
  ],
  [
    "PRECONDITION_FAILED",
    "delete, with the hash of another content",
    (on) => on.deleteFile(".env", { ifMatch: WRONG }),
  ],
  [
    "PRECONDITION_FAILED",
    "delete of a folder, only if it does not exist",
    (on) => on.deleteFile("build", { ifMatch: "none" }),
  ],
  [
    "PRECONDITION_FAILED",
    "move, with the hash of another content",
    (on) => on.moveFile(".env", "b", { ifMatch: WRONG }),
  ],
  ["REFUSED", "put onto an ignored folder", (on) => on.putFile("build", BYTES)],
  ["REFUSED", "put onto a recorded folder with an ignored file", (on) => on.putFile("src", BYTES)],
  ["REFUSED", "put onto git's folder", (on) => on.putFile(".git", BYTES)],
  ["REFUSED", "put into git's folder", (on) => on.putFile(".git/config", BYTES)],
  ["REFUSED", "delete of git's folder", (on) => on.deleteFile(".git")],
  ["REFUSED", "delete of a file in git's folder", (on) => on.deleteFile(".git/HEAD", { ifMatch: WRONG })],
  ["REFUSED", "move of git's folder", (on) => on.moveFile(".git", "git")],
  [
    "REFUSED",
    "put into a folder that another disk takes for git's",
    (on) => on.putFile(".GIT/hooks/pre-commit", BYTES),
  ],
  [
    "REFUSED",
    "put into git's folder, with a character in its name that HFS+ ignores",
    (on) => on.putFile(".g\u200cit/hooks/pre-commit", BYTES),
  ],
  ["REFUSED", "move into git's folder, by its short name on Windows", (on) => on.moveFile("src/a.txt", "GIT~1/config")],
  ["REFUSED", "move onto an ignored file", (on) => on.moveFile("src/a.txt", ".env")],
  ["REFUSED", "move onto an excluded file", (on) => on.moveFile("src/a.txt", "keys.txt")],
  ["REFUSED", "move onto an ignored folder", (on) => on.moveFile("src/a.txt", "build", { overwrite: true })],
  ["REFUSED", "move of a folder into itself", (on) => on.moveFile("src", "src/b")],
  ["REFUSED", "move of an ignored file into git's folder", (on) => on.moveFile(".env", ".git/env")],
  ["REFUSED", "a folder where an ignored file is", (on) => on.makeFolder(".env")],
  ["REFUSED", "a folder beneath an ignored file", (on) => on.makeFolder(".env/b")],
  ["REFUSED", "put beneath an excluded file", (on) => on.putFile("keys.txt/b", BYTES)],
  ["NOT_FOUND", "delete of nothing in an ignored folder", (on) => on.deleteFile("build/none")],
];

describe("Truth 18: a write that is refused records nothing that the rules leave out", () => {
  test.each(REFUSED)("%s: %s", async (code, _, write) => {
    await using project = new Kept();
    const workspace = await project.live();
    const before = await workspace.files();
    const { seq } = await workspace.status();
    await expect(write(workspace)).rejects.toMatchObject({ code });
    expect((await workspace.files()).files).toEqual(before.files);
    expect((await workspace.log({ from: seq + 1 })).filter((one) => one.record_id.startsWith("file"))).toEqual([]);
    // A later snapshot does not treat the paths as tracked, either.
    project.write(".env", "KEY=other\n");
    await workspace.snapshot();
    expect((await workspace.files()).files.map(({ path }) => path)).toEqual(before.files.map(({ path }) => path));
  });

  test("a write that is done records what it replaces, and undo brings it back", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    await workspace.putFile(".env", BYTES);
    expect(project.read(".env")).toBe("new\n");
    await workspace.undo();
    expect(project.read(".env")).toBe("KEY=secret\n");
  });

  test("ifMatch is about the content on disk, also for a path that the rules leave out", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const { file } = await workspace.putFile(".env", BYTES, { ifMatch: "*" });
    project.write(".env", "edited by hand\n");
    const again = workspace.putFile(".env", Buffer.from("newer\n"), { ifMatch: file?.hash ?? "" });
    await expect(again).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
    const hashes = (await workspace.history(".env")).map(({ hash }) => hash);
    expect(hashes.at(-1)).toBe(file?.hash);
  });

  test("a request with the id of one that was done gets the same answer, and records nothing", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const options = { ifMatch: "*", requestId: "one" };
    const first = await workspace.putFile(".env", BYTES, options);
    project.write(".env", "edited by hand\n");
    expect(await workspace.putFile(".env", BYTES, options)).toEqual(first);
    expect((await workspace.history(".env")).at(-1)?.seq).toBe(first.file?.seq);
  });
});

test.each(["keys.txt", "build"])("an agent cannot move a path that the rules leave out: %s", async (path) => {
  await using project = new Kept();
  const workspace = await project.live();
  const agent = workspace.as({ role: "agent", actor: "agent" });
  const nothing = agent.moveFile("none", "there");
  const hidden = agent.moveFile(path, "there");
  await expect(nothing).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(hidden).rejects.toMatchObject({ code: "NOT_FOUND", message: `there is nothing at "${path}"` });
  expect((await workspace.log({ prefix: "file:" })).map(({ record_id }) => record_id)).not.toContain(`file:${path}`);
  // A person may.
  await workspace.moveFile(path, "there");
});
