import { execFileSync } from "node:child_process";
import { chmodSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { asSomebody } from "../helpers/as-somebody.ts";
import { fill, KINDS, nestedProject, runScript } from "../helpers/git-nested-project.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { faultsOfGit, seenGit } from "../helpers/git-state.ts";

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

describe.skipIf(!hasGit)("the state of git of repositories within the folder", () => {
  it.each(KINDS)("an undo brings %s and the one around it back; redo mirrors it", async (kind) => {
    const { project: made, inner } = nestedProject(kind);
    await using _made = made;
    const workspace = await made.init();
    const seen = (): readonly unknown[] => [seenGit(made), seenGit(made, inner)];
    const before = seen();
    const ran = await runScript(
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

  it("names a repository that a run has made, or has removed", async () => {
    const { project: made } = nestedProject("a repository of its own");
    await using _made = made;
    const workspace = await made.init();
    const removed = await runScript(made, workspace, "rm -rf in");
    expect(removed.session.omitted_changes).toMatchObject([{ path: "in/ner/.git", change_type: "deleted" }]);
    await workspace.undo();
    const ran = await runScript(made, workspace, "git init -q fresh");
    expect(ran.session.notes).toEqual(["a git repository was made at fresh/.git, and an undo leaves it there"]);
  });

  it.each(["git switch -q feature; git -C wt switch -q main", "git -C wt switch -q feature; git switch -q other"])(
    "brings branches back that two working trees have handed on: %s",
    async (script) => {
      await using made = new GitProject(["-b", "main"]);
      fill(made, made.top);
      for (const words of [
        ["branch", "feature"],
        ["worktree", "add", "-q", "-b", "other", "wt"],
      ])
        made.git(words);
      const workspace = await made.init();
      const seen = (): readonly unknown[] => [seenGit(made), seenGit(made, join(made.top, "wt"))];
      const before = seen();
      await runScript(made, workspace, script);
      const after = seen();
      expect(after).not.toEqual(before);
      expect((await workspace.undo()).skipped).toEqual([]);
      expect(seen()).toEqual(before);
      expect((await workspace.redo()).skipped).toEqual([]);
      expect(seen()).toEqual(after);
    },
  );

  it("tells of a repository that a tool call has made", async () => {
    await using made = new GitProject();
    const notes: string[] = [];
    const store = await made.store({ onNote: (note) => void notes.push(note) });
    await using workspace = (await store.init({ roots: [made.top] })).workspace;
    const action = await workspace.snapshotAction({ type: "execute_command", payload: { command: "make" } });
    made.git(["init", "-q", "fresh"]);
    await workspace.finishAction(action?.id ?? "");
    expect(notes).toEqual(["a git repository was made at fresh/.git, and an undo leaves it there"]);
  });

  it("records the rest of a tool call that has made a repository unreadable", async () => {
    const { project: made, inner } = nestedProject("a repository of its own");
    await using _made = made;
    await asSomebody(made, async () => {
      await using workspace = await made.init();
      const before = seenGit(made);
      const asked = { type: "execute_command", payload: { command: "git work" }, session: "s", turn: "t" };
      const action = await workspace.snapshotAction(asked);
      made.git(["commit", "-q", "--allow-empty", "-m", "more"]);
      chmodSync(inner, 0o000);
      await workspace.finishAction(action?.id ?? "");
      await workspace.undo({ action: action?.id ?? "" });
      chmodSync(inner, 0o755);
      expect(seenGit(made)).toEqual(before);
    });
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

  it.each(["a watcher", "git's rules switched off"])(
    "with %s, an undo follows no link out of the folder",
    async (how) => {
      await using made = await withKnownFolder("a clone");
      if (how === "a watcher") await made.workspace.follow();
      await made.call("git clone -q . in/ner");
      const action = await made.call(COMMIT);
      if (how !== "a watcher") await made.workspace.configure({ useGitignore: false });
      const outside = join(made.project.base, "outside");
      renameSync(join(made.project.top, "in"), outside);
      symlinkSync(outside, join(made.project.top, "in"));
      const before = seenGit(made.project, join(outside, "ner"));
      const { skipped } = await made.workspace.undo({ action });
      expect(skipped).toContainEqual(expect.objectContaining({ path: "in/ner/.git" }));
      expect(seenGit(made.project, join(outside, "ner"))).toEqual(before);
    },
  );

  it("status names each repository with its branch, or why its state is not recorded", async () => {
    const { project: made, inner } = nestedProject("a repository of its own");
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
    const reason = "it says that its refs are in a reftable, and has none";
    expect((await workspace.status()).git).toEqual([main, { path: "in/ner/.git", not_recorded: reason }]);
    await workspace.configure({ keepAside: false });
    expect((await workspace.status()).git?.[0]).toMatchObject({ not_recorded: expect.stringContaining("keepAside") });
  });

  it("does not take a `.git` file that leads to the repository around it for another repository", async () => {
    const { project: made } = nestedProject("a repository of its own");
    await using _made = made;
    made.write("lure/.git", `gitdir: ${join(made.top, ".git")}\n`);
    const workspace = await made.init();
    const ran = await runScript(made, workspace, "git branch new");
    expect(ran.git?.map(({ path }) => path)).toEqual([".git"]);
  });
});
