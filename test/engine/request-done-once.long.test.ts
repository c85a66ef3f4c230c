import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** A restore, rollback, undo or redo with a request id is done once, also if its answer was lost in a crash. */

async function seqOf(workspace: WorkspaceApi): Promise<number> {
  return (await workspace.head()).seq;
}

/** A project with three recorded states of `f`. */
async function three(project: Project): Promise<WorkspaceApi> {
  project.write("f", "one\n");
  project.write("g", "g\n");
  const workspace = await project.init();
  for (const text of ["two\n", "three\n"]) await workspace.putFile("f", Buffer.from(text));
  return workspace;
}

describe("a request with an id", () => {
  it("undoes once: a second request with its id gets the same answer, and another id undoes one operation more", async () => {
    await using project = new Project();
    const workspace = await three(project);
    const first = await workspace.as({ requestId: "r1" }).undo();
    const seq = await seqOf(workspace);
    project.write("f", "edited since\n");
    const again = await workspace.as({ requestId: "r1" }).undo();
    expect(project.read("f")).toBe("edited since\n");
    expect(await seqOf(workspace)).toBe(seq);
    expect(again).toEqual({ ...first, operation: again.operation, notes: [expect.stringContaining("done before")] });
    expect(again.operation?.id).toBe(first.operation?.id);
    project.write("f", "two\n");
    await workspace.as({ requestId: "r2" }).undo();
    expect(project.read("f")).toBe("one\n");
  });

  it("rolls back, undoes, redoes or restores once, and its id is refused for another request", async () => {
    await using project = new Project();
    const workspace = await three(project);
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "f" } });
    project.write("f", "four\n");
    await workspace.finishAction(action?.id ?? "");
    const steps: [string, (on: WorkspaceApi) => ReturnType<WorkspaceApi["restore"]>, string][] = [
      ["a", (on) => on.rollback(action?.id ?? ""), "three\n"],
      ["b", (on) => on.undo(), "four\n"],
      ["c", (on) => on.redo(), "three\n"],
      ["d", (on) => on.restore("baseline"), "one\n"],
    ];
    for (const [requestId, step, content] of steps) {
      const first = await step(workspace.as({ requestId }));
      expect(project.read("f")).toBe(content);
      const seq = await seqOf(workspace);
      const again = await step(workspace.as({ requestId }));
      expect([again.undo_id, again.changes, await seqOf(workspace)]).toEqual([first.undo_id, first.changes, seq]);
      await expect(workspace.as({ requestId }).restore("seq:4")).rejects.toMatchObject({ code: "USAGE" });
      expect(project.read("f")).toBe(content);
    }
  });

  it("names the paths that it skipped, also when it is repeated", async () => {
    await using project = new Project();
    const workspace = await three(project);
    await workspace.putFile("g", Buffer.from("g two\n"));
    project.remove("g");
    spawnSync("mkfifo", [project.at("g")]);
    const first = await workspace.as({ requestId: "r" }).restore("baseline", { force: true });
    expect(first.skipped.map(({ path }) => path)).toEqual(["g"]);
    const again = await workspace.as({ requestId: "r" }).restore("baseline", { force: true });
    expect(again.skipped).toEqual(first.skipped);
  });

  it("says, when it is repeated, that it put back files that were kept aside, but does not name them again", async () => {
    await using project = new Project();
    project.write(".gitignore", "ignored\n");
    project.write("ignored", "only copy\n");
    const workspace = await project.init();
    await workspace.run({ command: ["sh", "-c", "rm ignored"] });
    const first = await workspace.as({ requestId: "r" }).undo();
    expect([first.kept_aside?.map(({ path }) => path), project.read("ignored")]).toEqual([["ignored"], "only copy\n"]);
    const again = await workspace.as({ requestId: "r" }).undo();
    expect(again.kept_aside).toBeUndefined();
    expect(again.notes).toEqual([expect.stringContaining("done before"), expect.stringContaining("not named again")]);
  });

  it("is still done after a dry run with its id, and after one that found nothing to do", async () => {
    await using project = new Project();
    const workspace = await three(project);
    const view = workspace.as({ requestId: "r" });
    expect((await view.undo({ dryRun: true })).changes).toHaveLength(1);
    await view.undo();
    expect(project.read("f")).toBe("two\n");
    const seq = `seq:${await seqOf(workspace)}`;
    const other = workspace.as({ requestId: "nothing" });
    expect((await other.restore(seq)).undo_id).toBeNull();
    project.write("f", "more\n");
    expect((await other.restore(seq)).undo_id).not.toBeNull();
    expect(project.read("f")).toBe("two\n");
  });

  it.each(["", "x".repeat(201), "\ud800"])("is refused if its id is %j", async (requestId) => {
    await using project = new Project();
    const workspace = await three(project);
    await expect(workspace.as({ requestId }).undo()).rejects.toMatchObject({ code: "USAGE" });
    expect(project.read("f")).toBe("three\n");
  });

  it("that was killed halfway is finished by the next request with its id, and not done twice", async () => {
    await using project = new Project();
    const many = Array.from({ length: 300 }, (_, n) => `d/${n}`);
    for (const path of many) project.write(path, "one\n");
    const workspace = await project.init();
    for (const path of many) project.write(path, "two\n");
    await workspace.snapshot();
    await workspace.close();
    const code = `
      import { open } from ${JSON.stringify(join(import.meta.dirname, "../../src/open.ts"))};
      const workspace = await open(${JSON.stringify({ home: project.home, configFolder: project.configFolder, folder: project.folder })});
      let told = 0;
      const onProgress = ({ phase }) => { if (phase === "restore" && (told += 1) > 0) process.kill(process.pid, "SIGKILL"); };
      await workspace.as({ requestId: "killed" }).restore("baseline", { onProgress });
    `;
    const killed = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", code], { encoding: "utf8" });
    expect([killed.signal, killed.stderr]).toEqual(["SIGKILL", expect.any(String)]);
    const after = await project.open();
    const answer = await after.as({ requestId: "killed" }).restore("baseline");
    expect(answer.changes).toHaveLength(many.length);
    expect(answer.notes).toEqual([expect.stringContaining("done before")]);
    expect(many.every((path) => project.read(path) === "one\n")).toBe(true);
    const seq = await seqOf(after);
    await after.as({ requestId: "killed" }).restore("baseline");
    expect(await seqOf(after)).toBe(seq);
    expect((await after.verify()).problems).toEqual([]);
  });
});
