import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { commitOf, faultsOfGit, seenGit } from "../helpers/git-state.ts";

/** A repository with two commits, and a linked working tree `linked` beside it with one more and staged edits. */
function linked(): { readonly project: GitProject; readonly tree: string } {
  const project = new GitProject(["-b", "main"]);
  const tree = join(project.base, "linked");
  for (const text of ["1\n", "2\n"]) {
    project.write("a", text);
    project.git(["add", "."]);
    project.git(["commit", "-qm", text.trim()]);
  }
  project.git(["worktree", "add", "-q", "-b", "side", tree]);
  project.write(join(tree, "a"), "side\n");
  project.git(["commit", "-qam", "side"], tree);
  project.write(join(tree, "b"), "staged\n");
  project.git(["add", "."], tree);
  return { project, tree };
}

function run(project: GitProject, workspace: WorkspaceApi, cwd: string, script: string): Promise<RunShape> {
  return workspace.run({ command: ["sh", "-c", script], cwd, env: project.env });
}

const both = (project: GitProject, tree: string): readonly unknown[] => [seenGit(project), seenGit(project, tree)];

describe.skipIf(!hasGit)("the state of git in a folder that is a linked working tree", () => {
  it.each([
    ["a reset", "git reset -q --hard HEAD~1"],
    [
      "a new branch with a commit, and a detached HEAD",
      "git checkout -qb fresh; git commit -qm x; git checkout -qf HEAD~1",
    ],
    ["a stash", "git stash -q"],
    [
      "a rebase that stops",
      "git commit -qm b; git reset -q --hard HEAD~2; echo x > a; git commit -qam x; git rebase side@{2}",
    ],
    ["a bisect", "git stash -q; git bisect start -q HEAD HEAD~2"],
    ["a deleted branch", "git branch -q other && git branch -D other; git branch -q two"],
  ])("an undo takes %s back, and leaves the main working tree; redo mirrors it", async (_, script) => {
    const { project, tree } = linked();
    await using _project = project;
    const workspace = await project.init("../linked");
    const before = both(project, tree);
    const ran = await run(project, workspace, tree, `${script}; exit 0`);
    const after = both(project, tree);
    expect(after).not.toEqual(before);
    expect(ran.session.notes).toEqual([]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(both(project, tree)).toEqual(before);
    expect(faultsOfGit(project, tree)).toBe("");
    expect((await workspace.redo()).skipped).toEqual([]);
    expect(both(project, tree)).toEqual(after);
  });

  it("a branch that another working tree has checked out is left to it, and said so", async () => {
    const { project, tree } = linked();
    await using _project = project;
    const workspace = await project.init("../linked");
    const before = seenGit(project, tree);
    const script = `git reset -q --hard HEAD~1; git -C ${project.top} commit -q --allow-empty -m "somebody else's"`;
    const ran = await run(project, workspace, tree, script);
    const theirs = commitOf(project);
    expect(ran.git?.[0]?.refs.map(({ name }) => name)).toEqual(["refs/heads/side"]);
    expect(ran.session.notes).toEqual([expect.stringContaining("branch main of git has changed meanwhile; the main")]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(commitOf(project)).toBe(theirs);
    expect(seenGit(project, tree).filter((line) => !line.startsWith("refs/heads/main"))).toEqual(
      before.filter((line) => !line.startsWith("refs/heads/main")),
    );
  });

  it("brings back what git has removed since", async () => {
    const { project, tree } = linked();
    await using _project = project;
    const workspace = await project.init("../linked");
    const before = both(project, tree);
    await run(project, workspace, tree, "git reset -q --hard HEAD~1");
    project.git(["reflog", "expire", "--expire=now", "--all"]);
    project.git(["gc", "-q", "--prune=now"]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(both(project, tree)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
  });

  it("of a bare repository, the branch that HEAD names in it is in use by nobody", async () => {
    await using project = new GitProject(["-b", "main"]);
    project.write("a", "1\n");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "one"]);
    const bare = join(project.base, "bare.git");
    project.git(["clone", "-q", "--bare", project.top, bare]);
    const tree = join(project.base, "linked");
    project.git(["worktree", "add", "-q", tree, "main"], bare);
    const workspace = await project.init("../linked");
    const before = seenGit(project, tree);
    await run(project, workspace, tree, "echo 2 > a; git commit -qam two");
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(seenGit(project, tree)).toEqual(before);
  });

  it("a `.git` file that leads to a repository which does not name the folder is not followed", async () => {
    const { project, tree } = linked();
    await using _project = project;
    const folder = join(project.base, "lured");
    mkdirSync(folder);
    for (const target of [join(project.top, ".git"), join(project.top, ".git/worktrees/linked")]) {
      writeFileSync(join(folder, ".git"), `gitdir: ${target}\n`);
      const workspace = await project.init("../lured");
      const before = both(project, tree);
      const ran = await run(project, workspace, folder, `git --git-dir=${target} update-ref refs/heads/new HEAD`);
      expect(ran.git).toBeUndefined();
      expect(ran.session.notes).toEqual([expect.stringContaining("and does not name this folder")]);
      await workspace.undo().catch(() => undefined);
      project.git(["branch", "-D", "new"]);
      expect(both(project, tree)).toEqual(before);
    }
  });
});

describe.skipIf(!hasGit)("a repository that has linked working trees elsewhere", () => {
  it("an undo takes back its own branch, and leaves that of a working tree where somebody commits", async () => {
    const { project, tree } = linked();
    await using _project = project;
    const workspace = await project.init();
    const before = seenGit(project);
    const script = `git reset -q --hard HEAD~1; git -C ${tree} commit -qm theirs`;
    const ran = await run(project, workspace, project.top, script);
    const theirs = commitOf(project, tree);
    expect(ran.session.notes).toEqual([
      expect.stringContaining("branch side of git has changed meanwhile; the working"),
    ]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(commitOf(project, tree)).toBe(theirs);
    const own = (lines: readonly string[]): readonly string[] => lines.filter((line) => !line.includes("heads/side"));
    expect(own(seenGit(project))).toEqual(own(before));
  });

  it("a branch comes back that was deleted together with its working tree", async () => {
    const { project, tree } = linked();
    await using _project = project;
    const workspace = await project.init();
    const before = project.git(["rev-parse", "side"]).toString();
    const ran = await run(
      project,
      workspace,
      project.top,
      `git worktree remove --force ${tree}; git branch -q -D side`,
    );
    expect(ran.session.notes).toEqual([
      expect.stringContaining("the working tree linked of git was removed meanwhile"),
    ]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(project.git(["rev-parse", "side"]).toString()).toBe(before);
  });
});
