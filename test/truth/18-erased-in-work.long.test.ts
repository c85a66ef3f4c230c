import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { text } from "../helpers/content-text.ts";
import { Sandbox } from "../cli/sandbox.ts";

/**
 * Work on files whose content was erased. A move does not serve the content again. A file that a command leaves with an
 * erased content is reported, although no capture records it.
 */

const SECRET = "SECRETONE\n";

/** `s.txt` had the secret, which was erased, and has `good` now. */
async function lived(): Promise<{ readonly project: ClockedProject; readonly workspace: WorkspaceApi }> {
  const project = new ClockedProject();
  project.write("s.txt", SECRET);
  const workspace = await project.init();
  project.write("s.txt", "good\n");
  await workspace.snapshot();
  await workspace.erase({ what: "s.txt" });
  return { project, workspace };
}

const code = (wanted: string) => expect.objectContaining({ code: wanted });
const NAMED = [{ path: "s.txt", reason: "erased", change_type: "modified", kept: false, lost: false }];
const command = (script: string) => ["sh", "-c", script];

describe("Truth 18: a move of an erased content", { timeout: 600_000 }, () => {
  it.each([
    ["a file", "config.txt", "moved.txt"],
    ["a folder that holds it", "d", "e"],
  ])("%s in a fork is refused to a person and to an agent, and the content is not served", async (_name, from, to) => {
    await using project = new ClockedProject();
    const store = await project.store();
    const { workspace: source } = await store.create({ name: "source" });
    const secret = randomBytes(300);
    const paths = ["config.txt", "d/config.txt"];
    for (const path of paths) await source.putFile(path, secret, {});
    await source.putFile("d/a.txt", Buffer.from("one\n"), {});
    await source.snapshot({ name: "with" });
    for (const path of paths) await source.putFile(path, Buffer.from("clean\n"), {});
    await source.erase({ what: "config.txt" });
    const { workspace: fork } = await store.create({ name: "fork", from: { workspace: source.id, moment: "with" } });
    const agent = fork.as({ role: "agent", actor: "claude" });
    for (const one of [fork, agent]) await expect(one.moveFile(from, to, {})).rejects.toThrow(code("ERASED"));
    for (const path of paths) await expect(fork.cat(path)).rejects.toThrow(code("ERASED"));
    await fork.moveFile("d/a.txt", "b.txt", {});
    expect(await text(await fork.cat("b.txt"))).toBe("one\n");
    // A content that somebody writes again is not erased any more.
    await fork.putFile("config.txt", secret, {});
    await fork.moveFile("config.txt", "given.txt", {});
    expect(await fork.verify()).toMatchObject({ ok: true, problems: [] });
    await fork.close();
    await source.close();
  });
});

describe("Truth 18: work that leaves an erased content in a recorded file", { timeout: 600_000 }, () => {
  it("a run names the file, and so does its undo, which leaves the file as it is", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    const { session } = await workspace.run({ command: command("echo SECRETONE > s.txt; echo n > n") });
    expect(session.omitted_changes).toMatchObject(NAMED);
    const undone = await workspace.undo();
    expect(undone.changes).toMatchObject([{ path: "n", change_type: "deleted" }]);
    expect(undone.notes).toEqual([expect.stringMatching(/erased from the history, so they stay as they are: s\.txt/)]);
    expect(project.read("s.txt")).toBe(SECRET);
  });

  it("an action of an agent names the file, whether it declared the path or not", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    for (const payload of [{ path: "s.txt" }, { command: "echo SECRETONE > s.txt" }]) {
      const type = "path" in payload ? "write_file" : "run_command";
      const action = await workspace.action({ type, payload }, (made) => {
        project.write("s.txt", SECRET);
        return made;
      });
      const record = (await workspace.log({ prefix: `action:${action?.id}` })).at(-1)?.record;
      const named = { path: "s.txt", reason: "erased", type: "modified", kept: false, lost: false };
      expect(record).toMatchObject({ state: "done", omitted_changes: [named] });
      project.write("s.txt", "good\n");
      await workspace.snapshot();
    }
  });

  it("a new file with it is named as created", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    const { session } = await workspace.run({ command: command("echo SECRETONE > other.txt") });
    expect(session.omitted_changes).toMatchObject([{ path: "other.txt", reason: "erased", change_type: "created" }]);
  });

  it("the rollback of a run says that the file was not rolled back", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    const ran = await workspace.run({
      command: command("echo SECRETONE > s.txt; echo n > n; false"),
      rollbackOnFailure: true,
    });
    expect(ran.not_rolled_back).toMatchObject({ paths: ["s.txt"], reason: expect.stringContaining("erased") });
    expect(project.read("s.txt")).toBe(SECRET);
  });

  it("the rollback of a transaction says that the file stays", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    const { id } = await workspace.beginTransaction();
    project.write("s.txt", SECRET);
    project.write("t", "t");
    const { undo } = await workspace.rollbackTransaction(id);
    expect(undo.notes).toEqual([expect.stringMatching(/erased from the history, so they stay as they are: s\.txt/)]);
    expect(project.read("s.txt")).toBe(SECRET);
  });

  it("undo of a run leaves a file that had the erased content before the run", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    writeFileSync(join(project.folder, "s.txt"), SECRET);
    await workspace.run({ command: command("echo changed > s.txt; echo n > n") });
    const undone = await workspace.undo();
    expect(undone.skipped).toMatchObject([
      { path: "s.txt", reason: "unseen", detail: expect.stringContaining("erased") },
    ]);
    expect(readFileSync(join(project.folder, "s.txt"), "utf8")).toBe("changed\n");
  });

  it("the command line names the file, and the exit code is 1", async () => {
    using box = new Sandbox();
    box.write("s.txt", SECRET);
    await box.must(["init"]);
    box.write("s.txt", "good\n");
    await box.must(["snapshot"]);
    await box.must(["erase", "s.txt", "--yes"]);
    const ran = box.run(["run", "--", ...command("echo SECRETONE > s.txt")]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("1 path with a content that was erased was changed; undo leaves it as it is: s.txt");
  });
});
