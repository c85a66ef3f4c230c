import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { faultsOfGit, filesOf, seenGit } from "../helpers/git-state.ts";

/** A repository with packed and loose objects, a stash, a hook and staged edits. */
function repository(): GitProject {
  const project = new GitProject(["-b", "main"]);
  for (const text of ["1\n", "2\n", "3\n"]) {
    project.write("a", text);
    project.git(["add", "."]);
    if (text !== "3\n") project.git(["commit", "-qm", text.trim()]);
    if (text === "1\n") project.git(["gc", "-q"]);
  }
  project.git(["stash", "-q"]);
  project.write("sub/b", "staged\n");
  project.git(["add", "."]);
  project.write(".git/hooks/post-commit", "#!/bin/sh\n");
  return project;
}

const all = (project: GitProject): unknown => [
  seenGit(project),
  filesOf(project),
  new Set(readdirSync(join(project.top, ".git"), { recursive: true, encoding: "utf8" })),
];

describe.skipIf(!hasGit)("a run whose command line removes the git folder", () => {
  it.each([
    ["rm -rf .git", ["rm", "-rf", ".git"]],
    ["everything, in a shell", ["sh", "-c", "echo x > new; rm -rf a sub .git"]],
    ["a move", ["mv", ".git", "../moved"]],
    ["a new repository in its place", ["sh", "-c", "rm -rf .git; git init -q -b other; git add .; git commit -qm new"]],
    ["some of its files", ["rm", "-rf", ".git/HEAD", ".git/refs", ".git/index"]],
    ["all of the folder", ["find", ".", "-mindepth", "1", "-delete"]],
  ])("is undone and redone: %s", async (_, command) => {
    await using project = repository();
    const workspace = await project.init();
    const before = all(project);
    const ran = await workspace.run({ command, cwd: project.top, env: project.env });
    expect(ran.session.omitted_changes?.filter(({ lost }) => lost)).toEqual([]);
    const isThere = existsSync(join(project.top, ".git/HEAD"));
    const after = isThere ? all(project) : undefined;
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(all(project)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
    expect((await workspace.redo()).skipped).toEqual([]);
    expect(existsSync(join(project.top, ".git/HEAD"))).toBe(isThere);
    if (after !== undefined) expect(all(project)).toEqual(after);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(all(project)).toEqual(before);
  });

  it("comes back also if the process that recorded the run was gone", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = all(project);
    const stopped = workspace.run({
      command: ["rm", "-rf", ".git"],
      cwd: project.top,
      runner: {
        pid: 999_999_999,
        run: async () => {
          rmSync(join(project.top, ".git"), { recursive: true });
          throw new (await import("../../src/core/values/errors.ts")).ChronicleError("UNAVAILABLE", "gone");
        },
      },
    });
    await expect(stopped).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await workspace.undo();
    expect(all(project)).toEqual(before);
  });

  it("does not write over a repository that was made since", async () => {
    await using project = repository();
    const workspace = await project.init();
    await workspace.run({ command: ["rm", "-rf", ".git"], cwd: project.top });
    project.git(["init", "-q", "-b", "mine"]);
    const mine = all(project);
    await workspace.undo().catch(() => undefined);
    expect(all(project)).toEqual(mine);
  });
});

/** Runs a script that the command line does not show. */
async function hiddenRun(project: GitProject, workspace: WorkspaceApi, script: string): Promise<RunShape> {
  const hidden = join(project.base, "hidden.sh");
  writeFileSync(hidden, script);
  return workspace.run({ command: ["sh", hidden], cwd: project.top, env: project.env });
}

describe.skipIf(!hasGit)("a run whose script removes the git folder", () => {
  it.each([
    ["rm -rf .git", "rm -rf .git"],
    ["everything", "echo x > new; rm -rf a sub .git"],
    ["a move", "mv .git ../moved"],
    ["a new repository in its place", "rm -rf .git; git init -q -b other; git add .; git commit -qm new"],
    ["some of its files", "rm -rf .git/HEAD .git/refs .git/index"],
    ["its objects", "rm -rf .git/objects"],
    ["its packs, after a commit", "git commit -qam later; rm -rf .git/objects/pack"],
    ["its packs, after a collection", "git gc -q --prune=now; rm -rf .git"],
  ])("is undone and redone: %s", async (_, script) => {
    await using project = repository();
    const workspace = await project.init();
    const before = all(project);
    const ran = await hiddenRun(project, workspace, script);
    expect(ran.session.omitted_changes?.filter(({ lost }) => lost)).toEqual([]);
    const isThere = existsSync(join(project.top, ".git/HEAD")) && existsSync(join(project.top, ".git/objects/pack"));
    const after = isThere ? all(project) : undefined;
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(all(project)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
    expect((await workspace.redo()).skipped).toEqual([]);
    if (after !== undefined) expect(all(project)).toEqual(after);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(all(project)).toEqual(before);
  });
});
