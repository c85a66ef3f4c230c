import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { faultsOfGit, seenGit } from "../helpers/git-state.ts";

/** Makes two commits and a staged edit in the repository in `cwd`. */
function fill(project: GitProject, cwd: string): void {
  for (const text of ["1\n", "2\n"]) {
    project.write(join(cwd, "a"), text);
    project.git(["add", "a"], cwd);
    project.git(["commit", "-qm", text.trim()], cwd);
  }
  project.write(join(cwd, "a"), "2\nstaged\n");
  project.git(["add", "a"], cwd);
}

/** A repository with another one in the folder `inner`: of its own, a submodule, or a linked working tree. */
function project(kind: string): { readonly project: GitProject; readonly inner: string } {
  const made = new GitProject(["-b", "main"]);
  const inner = join(made.top, "in/ner");
  fill(made, made.top);
  if (kind === "a repository of its own") {
    made.git(["init", "-q", "-b", "main", inner]);
    fill(made, inner);
  } else if (kind === "a submodule") {
    const other = join(made.base, "other");
    made.git(["init", "-q", "-b", "main", other]);
    fill(made, other);
    made.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "in/ner"]);
    made.git(["commit", "-qm", "a submodule"]);
    made.write("a", "staged again\n");
    made.git(["add", "a"]);
    made.write(join(inner, "a"), "2\nstaged\n");
    made.git(["add", "a"], inner);
  } else {
    made.git(["worktree", "add", "-q", "-b", "side", inner]);
    fill(made, inner);
  }
  return { project: made, inner };
}

function run(made: GitProject, workspace: WorkspaceApi, script: string): Promise<RunShape> {
  return workspace.run({ command: ["sh", "-c", script], cwd: made.top, env: made.env });
}

/** Removes the `.git` file in a way that the command line does not tell, so that the file is not kept aside. */
const HIDDEN_RM = "name=it; rm in/ner/.g$name";

const COMMIT = "cd in/ner; echo new > new; git add new; git commit -qm new";

/** A workspace of a repository, and a function that records a tool call. */
async function withKnownFolder(what: string) {
  const made = new GitProject(["-b", "main"]);
  fill(made, made.top);
  if (what === "a repository in a known folder") made.write("in/ner/b");
  const workspace = await made.init();
  const call = async (command: string): Promise<string> => {
    const asked = { type: "execute_command", payload: { command }, session: "s", turn: "t" };
    const { id = "" } = (await workspace.snapshotAction(asked)) ?? {};
    execFileSync("sh", ["-c", command], { cwd: made.top, env: made.env });
    await workspace.finishAction(id);
    return id;
  };
  const dispose = { [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
  return { ...dispose, project: made, inner: join(made.top, "in/ner"), workspace, call };
}

const KINDS = ["a repository of its own", "a submodule", "a linked working tree"];

describe.skipIf(!hasGit)("the state of git of repositories within the folder", () => {
  it.each(KINDS)("an undo brings %s and the one around it back; redo mirrors it", async (kind) => {
    const { project: made, inner } = project(kind);
    await using _made = made;
    const workspace = await made.init();
    const seen = (): readonly unknown[] => [seenGit(made), seenGit(made, inner)];
    const before = seen();
    const ran = await run(
      made,
      workspace,
      "git -C in/ner reset -q --hard HEAD~1; git stash -q; git -C in/ner branch new",
    );
    const after = seen();
    expect(ran.git?.map(({ path }) => path).toSorted()).toEqual([".git", "in/ner/.git"]);
    expect(ran.session.notes).toEqual([]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(seen()).toEqual(before);
    expect([faultsOfGit(made), faultsOfGit(made, inner)]).toEqual(["", ""]);
    expect((await workspace.redo()).skipped).toEqual([]);
    expect(seen()).toEqual(after);
  });

  it.each(KINDS.slice(1))("an undo puts the `.git` file of %s back", async (kind) => {
    const { project: made, inner } = project(kind);
    await using _made = made;
    const workspace = await made.init();
    const before = [seenGit(made), seenGit(made, inner), readFileSync(join(inner, ".git"), "utf8")];
    const ran = await run(made, workspace, "rm -rf in");
    expect(ran.session.notes).toEqual([expect.stringContaining("in/ner/.git was removed. An undo puts it back")]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect([seenGit(made), seenGit(made, inner), readFileSync(join(inner, ".git"), "utf8")]).toEqual(before);
    await workspace.redo();
    expect(existsSync(join(inner, ".git"))).toBe(false);
  });

  it.each(KINDS.slice(1))(
    "an undo of both a commit in %s and the loss of its `.git` file brings back both",
    async (kind) => {
      const { project: made, inner } = project(kind);
      await using _made = made;
      const workspace = await made.init();
      const seen = (): readonly unknown[] => [seenGit(made), seenGit(made, inner)];
      const before = seen();
      const first = await run(made, workspace, "git -C in/ner commit -qm new; git branch other");
      await run(made, workspace, HIDDEN_RM);
      expect((await workspace.undo({ to: first.session.session_id })).skipped).toEqual([]);
      expect(seen()).toEqual(before);
      expect((await workspace.redo()).skipped).toEqual([]);
      expect(existsSync(join(inner, ".git"))).toBe(false);
      expect((await workspace.undo({ to: first.session.session_id })).skipped).toEqual([]);
      expect(seen()).toEqual(before);
    },
  );

  it("an undo of both leaves both, if something is in the place of the `.git` file", async () => {
    const { project: made } = project("a submodule");
    await using _made = made;
    const workspace = await made.init();
    const first = await run(made, workspace, "git -C in/ner commit -qm new");
    await run(made, workspace, HIDDEN_RM);
    const folder = join(made.top, ".git/modules/in/ner");
    const state = (): readonly string[] => ["HEAD", "index"].map((name) => readFileSync(join(folder, name), "latin1"));
    const before = state();
    made.write("in/ner/.git", "in the way\n");
    const { skipped } = await workspace.undo({ to: first.session.session_id });
    expect(skipped).toMatchObject([{ path: "in/ner/.git", reason: "changed" }]);
    expect([state(), existsSync(join(folder, ".git"))]).toEqual([before, false]);
  });

  it("an undo of both works also if somebody has put the `.git` file back", async () => {
    const { project: made, inner } = project("a submodule");
    await using _made = made;
    const workspace = await made.init();
    const before = seenGit(made, inner);
    const file = readFileSync(join(inner, ".git"), "utf8");
    const first = await run(made, workspace, "git -C in/ner commit -qm new");
    await run(made, workspace, HIDDEN_RM);
    made.write("in/ner/.git", file);
    expect((await workspace.undo({ to: first.session.session_id })).skipped).toEqual([]);
    expect(seenGit(made, inner)).toEqual(before);
    expect(existsSync(join(made.top, ".git/modules/in/ner/.git"))).toBe(false);
  });

  it("does not write the `.git` file if something is in its place", async () => {
    const { project: made, inner } = project("a submodule");
    await using _made = made;
    const workspace = await made.init();
    await run(made, workspace, "rm in/ner/.git");
    made.git(["init", "-q", inner]);
    const { skipped } = await workspace.undo();
    expect(skipped).toMatchObject([{ path: "in/ner/.git", reason: "changed" }]);
    rmSync(join(inner, ".git"), { recursive: true });
    await workspace.undo();
    expect(readFileSync(join(inner, ".git"), "utf8")).toMatch(/^gitdir: /);
  });

  it("puts no `.git` file back whose git folder is gone, and says so", async () => {
    const { project: made, inner } = project("a linked working tree");
    await using _made = made;
    const workspace = await made.init();
    await run(made, workspace, HIDDEN_RM);
    made.git(["worktree", "prune"]);
    const { skipped } = await workspace.undo();
    expect(skipped).toMatchObject([{ path: "in/ner/.git", detail: "the git folder to which it leads is gone" }]);
    expect(existsSync(join(inner, ".git"))).toBe(false);
  });

  it("puts no `.git` file back after `git worktree remove`", async () => {
    const { project: made, inner } = project("a linked working tree");
    await using _made = made;
    const workspace = await made.init();
    const ran = await run(made, workspace, "git worktree remove --force in/ner");
    expect(ran.session.notes).toEqual([
      "the working tree ner of git was removed meanwhile, and no undo brings it back",
      "in/ner/.git was removed together with its git folder. An undo puts it back only if that folder is there again",
    ]);
    const detail = "the git folder to which it leads is gone";
    expect((await workspace.undo()).skipped).toMatchObject([{ path: "in/ner/.git", detail }]);
    expect([existsSync(join(inner, "a")), existsSync(join(inner, ".git"))]).toEqual([true, false]);
  });

  it("puts a `.git` file back together with its git folder, if that was kept aside", async () => {
    const { project: made, inner } = project("a submodule");
    await using _made = made;
    const workspace = await made.init();
    const before = [seenGit(made), seenGit(made, inner)];
    await run(made, workspace, "rm -rf .git in");
    expect((await workspace.undo()).skipped).toEqual([]);
    expect([seenGit(made), seenGit(made, inner)]).toEqual(before);
  });

  it("does not take a linked working tree for removed that cannot be read any more", async () => {
    const { project: made } = project("a linked working tree");
    await using _made = made;
    const workspace = await made.init();
    const ran = await run(made, workspace, "mkdir .git/worktrees/ner/MERGE_HEAD");
    expect(ran.session.notes).toEqual([
      "the state of the git repository in in/ner is not recorded: MERGE_HEAD is no regular file",
      "in/ner/.git is no longer looked at, so an undo leaves what was changed in the HEAD, index and refs of its repository",
    ]);
    expect(ran.git).toBeUndefined();
  });

  it("names a repository that a run has made, or has removed", async () => {
    const { project: made } = project("a repository of its own");
    await using _made = made;
    const workspace = await made.init();
    const removed = await run(made, workspace, "rm -rf in");
    expect(removed.session.omitted_changes).toMatchObject([{ path: "in/ner/.git", change_type: "deleted" }]);
    await workspace.undo();
    const ran = await run(made, workspace, "git init -q fresh");
    expect(ran.session.notes).toEqual(["a git repository was made at fresh/.git, and an undo leaves it there"]);
  });

  it.each([
    ["a clone", "git clone -q . in/ner"],
    ["a linked working tree", "git worktree add -q -b side in/ner"],
    ["a repository in a known folder", "cd in/ner; git init -q -b main; git add b; git commit -qm one"],
  ])("with a watcher, an undo also brings back %s that the call before has made", async (what, script) => {
    await using made = await withKnownFolder(what);
    await made.workspace.follow();
    await made.call("echo");
    await made.call(script);
    const before = seenGit(made.project, made.inner);
    const action = await made.call(COMMIT);
    expect((await made.workspace.undo({ action })).skipped).toEqual([]);
    expect(seenGit(made.project, made.inner)).toEqual(before);
  });

  it.each(["with a watcher", "without one"])(
    "%s, an undo also brings back a repository that a person has just made",
    async (how) => {
      await using made = await withKnownFolder("a clone");
      if (how === "with a watcher") await made.workspace.follow();
      await made.call("echo");
      made.project.git(["clone", "-q", ".", "in/ner"]);
      const before = seenGit(made.project, made.inner);
      const action = await made.call(COMMIT);
      expect((await made.workspace.undo({ action })).skipped).toEqual([]);
      expect(seenGit(made.project, made.inner)).toEqual(before);
    },
  );

  it("status names each repository with its branch, or why its state is not recorded", async () => {
    const { project: made, inner } = project("a repository of its own");
    await using _made = made;
    const workspace = await made.init();
    const [top, within] = [made.top, inner].map((cwd) => made.git(["rev-parse", "HEAD"], cwd).toString().trim());
    const main = { path: ".git", head: { branch: "main", commit: top } };
    expect((await workspace.status()).git).toEqual([
      main,
      { path: "in/ner/.git", head: { ...main.head, commit: within } },
    ]);
    made.git(["checkout", "-q", "--detach"], inner);
    made.write("in/ner/.git/config", "[extensions]\n\trefStorage = reftable\n");
    const reason = "it stores its refs in another way than files: reftable";
    expect((await workspace.status()).git).toEqual([main, { path: "in/ner/.git", not_recorded: reason }]);
    await workspace.configure({ keepAside: false });
    expect((await workspace.status()).git?.[0]).toMatchObject({ not_recorded: expect.stringContaining("keepAside") });
  });

  it("does not take a `.git` file that leads to the repository around it for another repository", async () => {
    const { project: made } = project("a repository of its own");
    await using _made = made;
    made.write("lure/.git", `gitdir: ${join(made.top, ".git")}\n`);
    const workspace = await made.init();
    const ran = await run(made, workspace, "git branch new");
    expect(ran.git?.map(({ path }) => path)).toEqual([".git"]);
  });
});
