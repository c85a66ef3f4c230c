import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { DiskPath } from "../../src/disk/disk.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Changed, statesOf } from "../helpers/git-changed.ts";
import { playGitHistories } from "../helpers/git-histories.ts";
import { GitProject } from "../helpers/git-project.ts";
import { allOf, mixedRepository } from "../helpers/git-removed.ts";
import { faultsOfGit, seenGit } from "../helpers/git-state.ts";
import { AS_REFTABLE, reftableGit } from "../helpers/reftable-git.ts";

/** A repository with two commits, a branch that conflicts with the second one, three stashes and staged edits. */
function repository(): GitProject {
  const project = new GitProject(["-b", "main", AS_REFTABLE]);
  project.write("a", "1\n");
  project.git(["add", "."]);
  project.git(["commit", "-qm", "one"]);
  project.git(["checkout", "-q", "-b", "side"]);
  project.write("a", "other\n");
  project.git(["commit", "-qam", "side"]);
  project.git(["checkout", "-q", "main"]);
  project.write("a", "2\n");
  project.git(["commit", "-qam", "two"]);
  for (const text of ["s1\n", "s2\n", "s3\n"]) {
    project.write("a", text);
    project.git(["stash", "-q", "-m", text.trim()]);
  }
  project.write("b", "staged\n");
  project.git(["add", "."]);
  return project;
}

function run(project: GitProject, workspace: WorkspaceApi, script: string, cwd = project.top): Promise<RunShape> {
  const command = ["sh", "-c", `{ ${script}; } > /dev/null 2>&1; exit 0`];
  return workspace.run({ command, cwd, env: { ...project.env, GIT_EDITOR: "true" } });
}

/** A disk that removes no files any more, as if the process had been killed. */
class Stopped extends NodeDisk {
  isStopped = false;

  override unlink(path: DiskPath): void {
    if (this.isStopped) throw new Error("killed");
    super.unlink(path);
  }
}

const stashes = (project: GitProject): string =>
  project.git(["log", "-g", "--format=%H %gn %ge %gd %gs", "--date=raw", "refs/stash", "--"]).toString();

describe.skipIf(reftableGit === undefined)("a repository with its refs in a reftable", () => {
  beforeAll(() => {
    if (reftableGit !== "") vi.stubEnv("PATH", `${reftableGit}${delimiter}${process.env["PATH"]}`);
  });
  afterAll(() => void vi.unstubAllEnvs());

  it.each([
    ["a commit", "git commit -qm three"],
    ["a reset", "git reset -q --hard HEAD~1"],
    ["a deleted branch", "git branch -D side"],
    ["a renamed branch, and a branch beneath the old name", "git branch -m side s; git branch side/x"],
    ["another branch, and a detached HEAD", "git checkout -qf -b new; git checkout -qf HEAD~1"],
    ["a merge that stops", "git commit -qm three; git merge side"],
    ["a rebase that stops", "git commit -qm three; git rebase side"],
    ["a cherry-pick that stops, and a bisect", "git commit -qm x; git cherry-pick side; git bisect start HEAD HEAD~2"],
    ["a stash", "git stash -q"],
    ["a dropped stash", "git stash drop -q stash@{1}"],
    ["cleared stashes, and all tables made one", "git stash clear; git pack-refs --all"],
    ["a tag and a symbolic ref's target", "git tag -a -m v1 v1; git update-ref refs/remotes/origin/x HEAD"],
  ])("an undo takes back %s, and redo makes it again", async (_, script) => {
    await using project = repository();
    const workspace = await project.init();
    const before = [seenGit(project), stashes(project)];
    const ran = await run(project, workspace, script);
    const after = seenGit(project);
    expect(after).not.toEqual(before[0]);
    expect(ran.session.notes).toEqual([]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect([seenGit(project), stashes(project)]).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
    expect((await workspace.redo()).skipped).toEqual([]);
    expect(seenGit(project)).toEqual(after);
  });

  it("comes back whole after rm -rf .git, seen or hidden in a script", async () => {
    for (const command of [
      ["rm", "-rf", ".git"],
      ["sh", "../script"],
    ]) {
      await using project = mixedRepository([AS_REFTABLE]);
      project.write(join(project.base, "script"), "rm -rf .git\n");
      const workspace = await project.init();
      const before = allOf(project);
      await workspace.run({ command, cwd: project.top, env: project.env });
      expect((await workspace.undo()).skipped).toEqual([]);
      expect(allOf(project)).toEqual(before);
      expect(faultsOfGit(project)).toBe("");
    }
  });

  it("has linked working trees, whose branches an undo leaves", async () => {
    await using project = repository();
    const tree = join(project.base, "linked");
    project.git(["worktree", "add", "-q", tree, "side"]);
    project.write(join(tree, "a"), "linked\n");
    const workspace = await project.init("../linked");
    const both = (): unknown => [seenGit(project), seenGit(project, tree)];
    const before = both();
    await run(project, workspace, "git commit -qam x; git checkout -q -f --detach HEAD~1", tree);
    await run(project, workspace, "git stash; git bisect start HEAD", tree);
    await workspace.undo();
    await workspace.undo();
    expect(both()).toEqual(before);
    const other = await project.init();
    const ran = await run(project, other, `git -C ${tree} commit -qam y; git branch z`);
    expect(ran.session.notes).toEqual([
      expect.stringContaining("branch side of git has changed meanwhile; the working"),
    ]);
    await other.undo();
    expect(seenGit(project).filter((line) => line.startsWith("refs/heads/z"))).toEqual([]);
  });

  it("is named with its branch and its operations, and is left alone if a branch has moved since", async () => {
    await using project = repository();
    const workspace = await project.init();
    const commit = project.git(["rev-parse", "HEAD"]).toString().trim();
    expect((await workspace.status()).git).toEqual([{ path: ".git", head: { branch: "main", commit } }]);
    const ran = await run(project, workspace, "git commit -qm three");
    expect(ran.git?.[0]).toMatchObject({
      head_before: { branch: "main", commit },
      refs: [{ name: "refs/heads/main" }],
    });
    project.git(["commit", "-q", "--allow-empty", "-m", "a person's"]);
    const moved = seenGit(project);
    const { skipped } = await workspace.undo();
    expect(skipped).toMatchObject([{ path: ".git", detail: expect.stringContaining("branch main was moved since") }]);
    expect(seenGit(project)).toEqual(moved);
  });

  it.each([
    ["a dropped stash", ["stash", "drop", "-q", "stash@{2}"]],
    ["a stash", ["stash", "-q"]],
    ["cleared stashes", ["stash", "clear"]],
  ])("gets the list of stashes whole if an undo of %s is killed at any step and is made again", async (_, command) => {
    // The first step removes the list, if there is one, and each further step adds a stash.
    for (let at = 0; at <= 3; at += 1) {
      await using project = repository();
      const before = [seenGit(project), stashes(project)];
      const changed = await Changed.by(project, command);
      project.write("b", "staged\n");
      if (at === 0 && command.includes("clear")) continue;
      let pushed = 0;
      const disk = new Stopped();
      const killed = statesOf(project, {
        disk,
        onRun: (args) => {
          if (!args.includes("refs/stash")) return;
          if (args.includes("--create-reflog")) pushed += 1;
          if (pushed < at) return;
          disk.isStopped = true;
          throw new Error("killed");
        },
      });
      await expect(changed.apply(killed)).rejects.toThrow();
      const list = project.git(["stash", "list"]).toString().split("\n");
      expect(list).toHaveLength(at + 1);
      expect(existsSync(join(project.top, ".git/index.lock"))).toBe(true);
      expect(await changed.undo(), `after ${at} stashes`).toBeUndefined();
      expect([seenGit(project), stashes(project)]).toEqual(before);
    }
  });

  it("keeps a stash that is made while an undo sets the list of stashes", async () => {
    for (const at of [0, 1]) {
      await using project = repository();
      const changed = await Changed.by(project, ["stash", "drop", "-q", "stash@{2}"], ["branch", "x"]);
      const foreign = project.git(["stash", "create"]).toString().trim();
      let isMade = false;
      const states = statesOf(project, {
        onRun: (args) => {
          const isNow = at === 0 ? args.includes("--stdin") : args.includes("-d") && args.includes("refs/stash");
          if (!isNow || isMade) return;
          isMade = true;
          project.git(["stash", "store", "-m", "a person's", foreign]);
        },
      });
      expect(await changed.apply(states)).toContain("the list of stashes");
      expect(isMade).toBe(true);
      expect(stashes(project).split("\n")[0]).toContain(foreign);
    }
  });

  it("is neither read nor written through a link", async () => {
    await using project = repository();
    const workspace = await project.init();
    const ran = await run(
      project,
      workspace,
      "mv .git/reftable ../elsewhere; ln -s ../../elsewhere .git/reftable; git branch x",
    );
    expect(ran.session.notes).toEqual(
      expect.arrayContaining([expect.stringContaining("not recorded: reftable is a link")]),
    );
    const { git } = await workspace.status();
    expect(git).toMatchObject([{ not_recorded: "reftable is a link" }]);
  });

  it("random histories are undone and redone", async () => {
    await expect(playGitHistories(14, 3, [AS_REFTABLE])).resolves.toBeUndefined();
  });
});
