import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KINDS, nestedProject, runScript } from "../helpers/git-nested-project.ts";
import { hasGit } from "../helpers/git-project.ts";
import { seenGit } from "../helpers/git-state.ts";

/** Removes the `.git` file in a way that the command line does not tell, so that the file is not kept aside. */
const HIDDEN_RM = "name=it; rm in/ner/.g$name";

const OF_FILES = KINDS.slice(1);

describe.skipIf(!hasGit)("the `.git` file of a repository within the folder", () => {
  it.each(OF_FILES)("an undo puts the `.git` file of %s back", async (kind) => {
    const { project: made, inner } = nestedProject(kind);
    await using _made = made;
    const workspace = await made.init();
    const before = [seenGit(made), seenGit(made, inner), readFileSync(join(inner, ".git"), "utf8")];
    const ran = await runScript(made, workspace, "rm -rf in");
    expect(ran.session.notes).toEqual([expect.stringContaining("in/ner/.git was removed. An undo puts it back")]);
    expect((await workspace.undo()).skipped).toEqual([]);
    expect([seenGit(made), seenGit(made, inner), readFileSync(join(inner, ".git"), "utf8")]).toEqual(before);
    await workspace.redo();
    expect(existsSync(join(inner, ".git"))).toBe(false);
  });

  it.each(OF_FILES)("an undo of both a commit in %s and the loss of its `.git` file brings back both", async (kind) => {
    const { project: made, inner } = nestedProject(kind);
    await using _made = made;
    const workspace = await made.init();
    const seen = (): readonly unknown[] => [seenGit(made), seenGit(made, inner)];
    const before = seen();
    const first = await runScript(made, workspace, "git -C in/ner commit -qm new; git branch other");
    await runScript(made, workspace, HIDDEN_RM);
    expect((await workspace.undo({ to: first.session.session_id })).skipped).toEqual([]);
    expect(seen()).toEqual(before);
    expect((await workspace.redo()).skipped).toEqual([]);
    expect(existsSync(join(inner, ".git"))).toBe(false);
    expect((await workspace.undo({ to: first.session.session_id })).skipped).toEqual([]);
    expect(seen()).toEqual(before);
  });

  it("an undo of both leaves both, if something is in the place of the `.git` file", async () => {
    const { project: made } = nestedProject("a submodule");
    await using _made = made;
    const workspace = await made.init();
    const first = await runScript(made, workspace, "git -C in/ner commit -qm new");
    await runScript(made, workspace, HIDDEN_RM);
    const folder = join(made.top, ".git/modules/in/ner");
    const state = (): readonly string[] => ["HEAD", "index"].map((name) => readFileSync(join(folder, name), "latin1"));
    const before = state();
    made.write("in/ner/.git", "in the way\n");
    const { skipped } = await workspace.undo({ to: first.session.session_id });
    expect(skipped).toMatchObject([{ path: "in/ner/.git", reason: "changed" }]);
    expect([state(), existsSync(join(folder, ".git"))]).toEqual([before, false]);
  });

  it("an undo of both works also if somebody has put the `.git` file back", async () => {
    const { project: made, inner } = nestedProject("a submodule");
    await using _made = made;
    const workspace = await made.init();
    const before = seenGit(made, inner);
    const file = readFileSync(join(inner, ".git"), "utf8");
    const first = await runScript(made, workspace, "git -C in/ner commit -qm new");
    await runScript(made, workspace, HIDDEN_RM);
    made.write("in/ner/.git", file);
    expect((await workspace.undo({ to: first.session.session_id })).skipped).toEqual([]);
    expect(seenGit(made, inner)).toEqual(before);
    expect(existsSync(join(made.top, ".git/modules/in/ner/.git"))).toBe(false);
  });

  it("does not write the `.git` file if something is in its place", async () => {
    const { project: made, inner } = nestedProject("a submodule");
    await using _made = made;
    const workspace = await made.init();
    await runScript(made, workspace, "rm in/ner/.git");
    made.git(["init", "-q", inner]);
    const { skipped } = await workspace.undo();
    expect(skipped).toMatchObject([{ path: "in/ner/.git", reason: "changed" }]);
    rmSync(join(inner, ".git"), { recursive: true });
    await workspace.undo();
    expect(readFileSync(join(inner, ".git"), "utf8")).toMatch(/^gitdir: /);
  });

  it("puts no `.git` file back whose git folder is gone, and says so", async () => {
    const { project: made, inner } = nestedProject("a linked working tree");
    await using _made = made;
    const workspace = await made.init();
    await runScript(made, workspace, HIDDEN_RM);
    made.git(["worktree", "prune"]);
    const { skipped } = await workspace.undo();
    expect(skipped).toMatchObject([{ path: "in/ner/.git", detail: "the git folder to which it leads is gone" }]);
    expect(existsSync(join(inner, ".git"))).toBe(false);
  });

  it("puts no `.git` file back after `git worktree remove`", async () => {
    const { project: made, inner } = nestedProject("a linked working tree");
    await using _made = made;
    const workspace = await made.init();
    const ran = await runScript(made, workspace, "git worktree remove --force in/ner");
    expect(ran.session.notes).toEqual([
      "the working tree ner of git was removed meanwhile, and no undo brings it back",
      "in/ner/.git was removed together with its git folder. An undo puts it back only if that folder exists again",
    ]);
    const detail = "the git folder to which it leads is gone";
    expect((await workspace.undo()).skipped).toMatchObject([{ path: "in/ner/.git", detail }]);
    expect([existsSync(join(inner, "a")), existsSync(join(inner, ".git"))]).toEqual([true, false]);
  });

  it("puts a `.git` file back together with its git folder, if that was kept aside", async () => {
    const { project: made, inner } = nestedProject("a submodule");
    await using _made = made;
    const workspace = await made.init();
    const before = [seenGit(made), seenGit(made, inner)];
    await runScript(made, workspace, "rm -rf .git in");
    expect((await workspace.undo()).skipped).toEqual([]);
    expect([seenGit(made), seenGit(made, inner)]).toEqual(before);
  });

  it("does not take a linked working tree for removed that cannot be read any more", async () => {
    const { project: made } = nestedProject("a linked working tree");
    await using _made = made;
    const workspace = await made.init();
    const ran = await runScript(made, workspace, "mkdir .git/worktrees/ner/MERGE_HEAD");
    expect(ran.session.notes).toEqual([
      "the state of the git repository in in/ner is not recorded: MERGE_HEAD is no regular file",
      "in/ner/.git is no longer looked at, so an undo leaves what was changed in the HEAD, index and refs of its repository",
    ]);
    expect(ran.git).toBeUndefined();
  });
});
