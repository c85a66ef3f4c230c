import { spawn } from "node:child_process";
import { linkSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CommandEnd, CommandRunner, WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { commitOf, seenGit } from "../helpers/git-state.ts";
import { noise, rot } from "../helpers/rot.ts";

/** Cases in which git's state is left as it is, or is not recorded, and the files are undone nevertheless. */

const ONLY_IN_GIT = noise("only in git", 4_096);

/** A repository with three commits. Only the second one has the content `ONLY_IN_GIT`. */
function repository(): GitProject {
  const project = new GitProject(["-b", "main"]);
  project.write("a", "1\n");
  project.git(["add", "."]);
  project.git(["commit", "-qm", "one"]);
  writeFileSync(join(project.top, "big"), ONLY_IN_GIT);
  project.git(["add", "."]);
  project.git(["commit", "-qm", "two"]);
  project.git(["rm", "-q", "big"]);
  project.write("a", "2\n");
  project.git(["add", "."]);
  project.git(["commit", "-qm", "three"]);
  return project;
}

function read(project: GitProject, path: string): string {
  return readFileSync(join(project.top, path), "utf8");
}

async function reset(project: GitProject, workspace: WorkspaceApi) {
  return workspace.run({ command: ["git", "reset", "-q", "--hard", "HEAD~2"], cwd: project.top, env: project.env });
}

/** A runner whose command ends when the test says so. */
class Runner implements CommandRunner {
  readonly pid: number;
  readonly session = Promise.withResolvers<string>();
  readonly end = Promise.withResolvers<CommandEnd>();

  constructor(pid: number) {
    this.pid = pid;
  }

  run(_command: readonly string[], { moreEnv = {} }: Parameters<CommandRunner["run"]>[1]): Promise<CommandEnd> {
    this.session.resolve(moreEnv["CHRONICLE_RUN"] ?? "");
    return this.end.promise;
  }
}

/** Begins a run, changes the file `a` in it, and makes a commit after nobody records the run any more. */
async function unseenEnd(project: GitProject, workspace: WorkspaceApi, pid: number): Promise<string> {
  const runner = new Runner(pid);
  const result = workspace.run({ command: ["edit"], runner });
  result.catch(() => undefined);
  const id = await runner.session.promise;
  project.write("a", "by the run\n");
  await workspace.snapshot();
  runner.end.reject(new ChronicleError("UNAVAILABLE", "nobody knows"));
  await expect(result).rejects.toMatchObject({ code: "UNAVAILABLE" });
  return id;
}

const UNKNOWN_END = expect.stringContaining("the state of git at the end of this work is not known") as string;

describe.skipIf(!hasGit)("git's state is left alone", () => {
  it("if the objects that were kept are damaged in the store; files come back, and later commands work", async () => {
    await using project = repository();
    const before = await project.init();
    await reset(project, before);
    const after = commitOf(project);
    // The repository itself must have lost them, or the undo needs no kept objects.
    project.git(["reflog", "expire", "--expire=now", "--all"]);
    project.git(["update-ref", "-d", "ORIG_HEAD"]);
    project.git(["gc", "-q", "--prune=now"]);
    rot(join(project.base, "store"), ONLY_IN_GIT);
    // The store that has written the contents remembers some of them.
    await before.close();
    const workspace = await (await project.store()).openById(before.id);
    const undone = await workspace.undo();
    expect(undone.skipped).toMatchObject([{ path: ".git", detail: expect.stringContaining("damaged") }]);
    expect([read(project, "a"), commitOf(project)]).toEqual(["2\n", after]);
    const ran = await workspace.run({ command: ["sh", "-c", "echo 3 > a"], cwd: project.top });
    expect([ran.exit_code, ran.not_recorded, ran.changes.length]).toEqual([0, null, 1]);
    await workspace.undo();
    expect(read(project, "a")).toBe("2\n");
  });

  it("if a value becomes unreadable between the plan and its execution", async () => {
    await using project = repository();
    const workspace = await project.init();
    await reset(project, workspace);
    const onProgress = ({ phase }: { readonly phase: string }): void => {
      if (phase !== "restore" || lstatSync(join(project.top, ".git/ORIG_HEAD")).isDirectory()) return;
      project.git(["update-ref", "-d", "ORIG_HEAD"]);
      mkdirSync(join(project.top, ".git/ORIG_HEAD"), { recursive: true });
    };
    const undone = await workspace.undo({ onProgress });
    expect(undone.skipped).toMatchObject([{ path: ".git", detail: expect.stringContaining("ORIG_HEAD") }]);
    expect(read(project, "a")).toBe("2\n");
    const ran = await workspace.run({ command: ["sh", "-c", "echo 3 > a"], cwd: project.top });
    expect([ran.exit_code, ran.not_recorded]).toEqual([0, null]);
  });

  it("if every file of the work was edited since", async () => {
    await using project = repository();
    const workspace = await project.init();
    await workspace.run({
      command: ["sh", "-c", "echo 4 > a; git commit -qam four"],
      cwd: project.top,
      env: project.env,
    });
    project.write("a", "by a person\n");
    const before = seenGit(project);
    const undone = await workspace.undo();
    expect(undone.changes).toEqual([]);
    expect(seenGit(project)).toEqual(before);
    expect(undone.skipped).toContainEqual(
      expect.objectContaining({ path: ".git", detail: expect.stringContaining("none of the files") as string }),
    );
  });

  it("by the undo of a run that was killed: commits after it stay", async () => {
    await using project = repository();
    const workspace = await project.init();
    const child = spawn("sleep", ["60"]);
    const id = await unseenEnd(project, workspace, child.pid ?? 0);
    const gone = new Promise((resolve) => child.on("exit", resolve));
    child.kill("SIGKILL");
    await gone;
    project.git(["commit", "-qam", "by a person"]);
    const commit = commitOf(project);
    await workspace.snapshot();
    const session = (await workspace.sessions()).find(({ session_id: one }) => one === id);
    expect(session).toMatchObject({ state: "abandoned", notes: [UNKNOWN_END] });
    await workspace.undo({ session: id });
    expect([read(project, "a"), commitOf(project)]).toEqual(["2\n", commit]);
  });

  it("by the undo of a run whose end was recorded later", async () => {
    await using project = repository();
    const workspace = await project.init();
    const id = await unseenEnd(project, workspace, process.pid);
    project.git(["commit", "-qam", "by a person"]);
    const commit = commitOf(project);
    const ended = { exitCode: 0, signal: null, code: 0, session: id };
    const done = await workspace.run({ command: ["edit"], ended });
    expect([done.git, done.session.notes]).toEqual([undefined, expect.arrayContaining([UNKNOWN_END])]);
    await workspace.undo({ session: id });
    expect([read(project, "a"), commitOf(project)]).toEqual(["2\n", commit]);
  });

  it("by the undo of an action that was abandoned and is finished later", async () => {
    await using project = repository();
    const workspace = await project.init();
    const call = { type: "execute_command", payload: { command: "edit" }, session: "s", turn: "t", toolCall: "c" };
    const { id = "" } = (await workspace.snapshotAction(call)) ?? {};
    project.write("a", "by the tool\n");
    await workspace.abandonActions({ session: "s" });
    project.git(["commit", "-qam", "by a person"]);
    const commit = commitOf(project);
    await workspace.finishAction(id);
    await workspace.undo({ action: id });
    expect([read(project, "a"), commitOf(project)]).toEqual(["2\n", commit]);
  });
});

describe.skipIf(!hasGit)("git's state is not recorded, and a note says so", () => {
  it.each([
    [
      "in a repository with the extension",
      (top: string) => writeFileSync(join(top, ".git/config"), "[extensions]\n\trefStorage = reftable\n"),
    ],
    ["in a repository with a folder of reftables", (top: string) => mkdirSync(join(top, ".git/reftable"))],
    [
      "in a repository whose HEAD is a stub",
      (top: string) => writeFileSync(join(top, ".git/HEAD"), "ref: refs/heads/.invalid\n"),
    ],
  ])("%s", async (_, change) => {
    await using project = repository();
    const workspace = await project.init();
    change(project.top);
    const ran = await workspace.run({ command: ["sh", "-c", "echo 3 > .git/refs/heads/x"], cwd: project.top });
    expect(ran.git).toBeUndefined();
    expect(ran.session.notes).toContainEqual(expect.stringContaining("reftable"));
    const { git } = await workspace.status();
    expect(git).toMatchObject([{ path: ".git", not_recorded: expect.stringContaining("reftable") }]);
  });

  it("with more than 5,000 loose refs", async () => {
    await using project = repository();
    const workspace = await project.init();
    const many = join(project.top, ".git/refs/many");
    mkdirSync(many);
    for (let i = 0; i <= 5_000; i += 1) linkSync(join(project.top, ".git/refs/heads/main"), join(many, String(i)));
    const ran = await workspace.run({ command: ["rm", ".git/refs/heads/main"], cwd: project.top });
    expect(ran.git).toBeUndefined();
    expect(ran.session.notes).toContainEqual(expect.stringContaining("more than 5000 loose refs"));
  });
});
