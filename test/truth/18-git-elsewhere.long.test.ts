import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

const WHO = ["-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false"];

function git(folder: string, ...args: string[]): string {
  return execFileSync("git", [...WHO, ...args], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
}

/** A repository whose own state lies in a folder of another name. */
function separate(): Project {
  const project = new Project();
  project.write("a", "1");
  git(project.folder, "init", "-q", "--separate-git-dir=meta", ".");
  git(project.folder, "add", "a");
  git(project.folder, "commit", "-q", "-m", "1");
  return project;
}

/** A bare repository with working trees beside it, all of which a walk meets later than the repository. */
function bare(): Project {
  const project = new Project();
  const first = `${project.base}/first`;
  git(project.base, "init", "-q", first);
  git(first, "commit", "-q", "--allow-empty", "-m", "0");
  git(project.folder, "clone", "-q", "--bare", first, "hub");
  for (const tree of ["one", "x/two"]) {
    git(project.at("hub"), "worktree", "add", "-q", "-b", tree.replace("/", "-"), project.at(tree));
    project.write(`${tree}/made`, tree);
  }
  return project;
}

const bash = (command: string) => ({ type: "run_command", payload: { command }, session: "s" });
const put = (path: string) => ({ type: "write_file", payload: { path }, session: "s" });

async function recorded(workspace: WorkspaceApi): Promise<string[]> {
  return (await workspace.files()).files.map(({ path }) => path);
}

/** Takes a snapshot. Returns why it leaves the path out. */
async function leftOut(workspace: WorkspaceApi, path: string): Promise<string | undefined> {
  const { omitted } = (await workspace.snapshot()).coverage;
  return omitted.find((one) => one.path === path)?.detail;
}

const TREES = ["one", "one/made", "x", "x/two", "x/two/made"];

describe("Truth 18: a repository's own state is no part of the workspace, whatever its folder is called", () => {
  test("--separate-git-dir: nothing of it is recorded, the coverage says why, and a restore rewinds no branch", async () => {
    await using project = separate();
    const workspace = await project.init();
    const { seq } = await workspace.head();
    expect([await recorded(workspace), await leftOut(workspace, "meta")]).toEqual([
      ["a"],
      "git: a repository's own state",
    ]);
    project.write("a", "2");
    git(project.folder, "commit", "-q", "-a", "-m", "2");
    const head = git(project.folder, "rev-parse", "HEAD");
    await workspace.snapshot();
    await workspace.restore(`seq:${seq}`);
    expect([project.read("a"), git(project.folder, "rev-parse", "HEAD")]).toEqual(["1", head]);
    expect(await recorded(workspace)).toEqual(["a"]);
  });

  test.each([true, false])(
    "the working trees of a bare repository are recorded, and the repository is not (useGitignore: %s)",
    async (useGitignore) => {
      await using project = bare();
      const workspace = await project.init({ useGitignore });
      expect(await recorded(workspace)).toEqual(TREES);
      git(project.at("one"), "add", "made");
      git(project.at("one"), "commit", "-q", "-m", "1");
      await workspace.snapshot();
      expect(await recorded(workspace)).toEqual(TREES);
      // The working trees that led to the repository are removed one after the other. It is still left out.
      for (const tree of ["one", "x"]) {
        project.remove(tree);
        await workspace.snapshot();
      }
      await workspace.close();
      await using again = await project.open();
      await again.snapshot();
      expect(await recorded(again)).toEqual([]);
    },
  );

  test("a folder that only looks like a repository is recorded, and so is one that git does not use any more", async () => {
    await using project = separate();
    git(project.folder, "init", "-q", "--bare", "fixture");
    const workspace = await project.init();
    const paths = await recorded(workspace);
    expect([paths.includes("fixture/HEAD"), paths.some((path) => path.startsWith("meta"))]).toEqual([true, false]);
    project.remove("meta");
    project.remove(".git");
    project.write("meta/notes", "n");
    await workspace.snapshot();
    expect((await recorded(workspace)).filter((path) => path.startsWith("meta"))).toEqual(["meta", "meta/notes"]);
  });

  test("a bare repository whose working trees are ignored is neither recorded nor written", async () => {
    await using project = bare();
    project.write(".gitignore", "one/\nx/\n");
    const workspace = await project.init();
    expect(await recorded(workspace)).toEqual([".gitignore"]);
    await expect(workspace.putFile("hub/hooks/post-checkout", Buffer.from("x"))).rejects.toMatchObject({
      code: "REFUSED",
    });
  });

  test("a recorded folder is still recorded if a .git is made to point at it", async () => {
    await using project = new Project();
    project.write("src/a", "1");
    const workspace = await project.init();
    project.write("src/HEAD", "ref: refs/heads/main\n");
    for (const folder of ["objects", "refs"]) mkdirSync(project.at(`src/${folder}`));
    project.write(".git", "gitdir: src\n");
    project.write("src/a", "2");
    project.write("src/b", "2");
    await workspace.snapshot();
    expect((await workspace.diff("baseline", "now")).changes.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["src/a", "src/b"]),
    );
    await workspace.putFile("src/a", Buffer.from("3"));
    await workspace.restore("baseline");
    expect([project.read("src/a"), (await workspace.explain("src/a")).tracked]).toEqual(["1", true]);
  });

  test("a repository is recorded if forceInclude names it, and not if it names a folder above", async () => {
    await using project = bare();
    const workspace = await project.init({ forceInclude: ["x"] });
    git(project.at("x"), "clone", "-q", "--bare", project.at("hub"), "inner");
    git(project.at("x/inner"), "worktree", "add", "-q", "-b", "w", project.at("x/w"));
    await workspace.snapshot();
    expect((await recorded(workspace)).filter((path) => path.startsWith("x/inner"))).toEqual([]);
    await workspace.configure({ forceInclude: ["hub"] });
    await workspace.close();
    await using again = await project.open();
    await again.snapshot();
    expect(await recorded(again)).toEqual(expect.arrayContaining(["hub/HEAD", "hub/worktrees/one/HEAD"]));
  });

  test.each(["meta/hooks/pre-commit", "meta/config", "meta/new/file"])("a write to %s is refused", async (path) => {
    await using project = separate();
    const workspace = await project.init();
    await expect(workspace.putFile(path, Buffer.from("#!/bin/sh\n"))).rejects.toMatchObject({ code: "REFUSED" });
    await expect(workspace.putFile(path, Buffer.from("x"), { ifMatch: "f".repeat(64) })).rejects.toMatchObject({
      code: "REFUSED",
    });
    expect(await recorded(workspace)).toEqual(["a"]);
  });

  test.each([
    ["rm -rf meta", "meta"],
    ["rm -rf .", "meta"],
  ])(
    "%s, done: the removal is reported, undo brings the state back whole, and redo removes it again",
    async (command, gone) => {
      await using project = separate();
      const workspace = await project.init();
      const before = project.tree();
      const action = await workspace.snapshotAction(bash(command));
      project.remove(gone);
      const { action: ended } = await workspace.finishAction(action?.id ?? "");
      const after = project.tree();
      expect(ended.omitted_changes).toMatchObject([{ path: "meta", change_type: "deleted", kept: true, lost: false }]);
      await workspace.undo();
      expect(project.tree()).toEqual(before);
      expect(git(project.folder, "fsck", "--strict")).toBe("");
      await workspace.redo();
      expect(project.tree()).toEqual(after);
      expect((await workspace.verify()).problems).toEqual([]);
    },
  );

  test("undo of a tool call that edited or made a file of the state changes no other path", async () => {
    await using project = separate();
    const workspace = await project.init();
    for (const path of ["meta/config", "meta/hooks/mine"]) {
      const before = project.tree();
      const action = await workspace.snapshotAction(put(path));
      project.write(path, "[core]\nhooksPath = evil\n");
      const end = await workspace.finishAction(action?.id ?? "");
      expect([path, end.changes, end.action.omitted_changes?.map((one) => one.path)]).toEqual([path, [], [path]]);
      await workspace.undo();
      expect(project.tree()).toEqual(before);
    }
  });

  test("a denied action records nothing of the state", async () => {
    await using project = separate();
    const workspace = await project.init();
    const action = await workspace.snapshotAction(bash("rm -rf meta a"));
    await workspace.finishAction(action?.id ?? "", { outcome: "denied" });
    await workspace.snapshot();
    expect(await recorded(workspace)).toEqual(["a"]);
  });

  test("a .git that is mounted under a second name is left out under both names", async (context) => {
    await using project = new Project();
    git(project.folder, "init", "-q", ".");
    project.write("a", "1");
    mkdirSync(project.at("second"));
    const mounted = spawnSync("mount", ["--bind", project.at(".git"), project.at("second")]);
    if (mounted.status !== 0) context.skip("needs the right to mount");
    try {
      const workspace = await project.init();
      expect(await recorded(workspace)).toEqual(["a"]);
      await expect(workspace.putFile("second/hooks/pre-commit", Buffer.from("x"))).rejects.toMatchObject({
        code: "REFUSED",
      });
    } finally {
      execFileSync("umount", [project.at("second")]);
    }
  });
});
