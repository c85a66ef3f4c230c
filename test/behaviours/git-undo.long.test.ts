import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { UndoOptions, WorkspaceApi } from "../../src/api/workspace-api.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { commitOf, faultsOfGit, seenGit } from "../helpers/git-state.ts";

/** A repository with two commits, staged and unstaged edits. */
function repository(): GitProject {
  const project = new GitProject(["-b", "main"]);
  project.write("a", "1\n");
  project.git(["add", "."]);
  project.git(["commit", "-qm", "one"]);
  project.write("a", "2\n");
  project.write("b", "b\n");
  project.git(["add", "."]);
  project.git(["commit", "-qm", "two"]);
  project.write("a", "2\nstaged\n");
  project.write("new", "new\n");
  project.git(["add", "."]);
  project.write("b", "b\nunstaged\n");
  return project;
}

function runGit(project: GitProject, workspace: WorkspaceApi, ...args: string[]): Promise<RunShape> {
  return workspace.run({ command: ["git", ...args], cwd: project.top, env: project.env });
}

describe.skipIf(!hasGit)("undo of a run that changes the state of git", () => {
  it("brings files, HEAD, the index and refs back together, and says so; redo mirrors it", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = seenGit(project);
    const ran = await runGit(project, workspace, "reset", "-q", "--hard", "HEAD~1");
    const after = seenGit(project);
    expect(after).not.toEqual(before);
    const undone = await workspace.undo();
    expect(seenGit(project)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
    expect(readFileSync(join(project.top, "a"), "utf8")).toBe("2\nstaged\n");
    const was = commitOf(project);
    const is = project.git(["rev-parse", "HEAD~1"]).toString().trim();
    const heads = { head_before: { branch: "main", commit: was }, head_after: { branch: "main", commit: is } };
    expect(ran.git).toMatchObject([{ path: ".git", ...heads, refs: [{ name: "refs/heads/main" }] }]);
    expect(undone.git?.[0]?.head_after).toEqual({ branch: "main", commit: was });
    const redone = await workspace.redo();
    expect(seenGit(project)).toEqual(after);
    expect(redone.git?.[0]?.head_after).toEqual({ branch: "main", commit: is });
    await workspace.undo();
    expect(seenGit(project)).toEqual(before);
  });

  it("takes back a commit that changed no file", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = seenGit(project);
    const ran = await runGit(project, workspace, "commit", "-qam", "three");
    expect([ran.changes, ran.undo_id]).toEqual([[], ran.session.session_id]);
    await workspace.undo();
    expect(seenGit(project)).toEqual(before);
  });

  it.each([
    ["a deleted branch", ["branch", "-D", "side"]],
    ["a checkout of another branch", ["checkout", "-q", "-f", "side"]],
    ["a new branch", ["checkout", "-q", "-b", "fresh"]],
    ["a detached HEAD", ["checkout", "-q", "-f", "--detach", "HEAD~1"]],
    ["an amended commit", ["commit", "-q", "--amend", "-m", "other"]],
    ["a stash", ["stash", "-q"]],
    ["a dropped stash", ["stash", "drop", "-q", "stash@{1}"]],
    ["cleared stashes", ["stash", "clear"]],
    ["a restored file", ["restore", "--staged", "--worktree", "."]],
    ["a renamed branch", ["branch", "-m", "main", "trunk"]],
    ["packed refs", ["pack-refs", "--all"]],
    ["a tag", ["tag", "v1"]],
    ["a merge that conflicts", ["merge", "-q", "side"]],
  ])("brings back what was there before %s", async (_, args) => {
    await using project = repository();
    project.git(["branch", "side", "HEAD~1"]);
    for (const text of ["s1\n", "s2\n"]) {
      project.write("new", text);
      project.git(["stash", "-q"]);
      project.write("new", text);
      project.git(["add", "."]);
    }
    if (args[0] === "merge") {
      project.git(["commit", "-qm", "three"]);
      project.git(["checkout", "-q", "side"]);
      project.write("a", "other\n");
      project.git(["commit", "-qam", "side"]);
      project.git(["checkout", "-q", "main"]);
    }
    const workspace = await project.init();
    const before = seenGit(project);
    await runGit(project, workspace, ...args);
    const after = seenGit(project);
    if (args[0] !== "pack-refs") {
      expect(after).not.toEqual(before);
      await workspace.undo();
      expect(seenGit(project)).toEqual(before);
      expect(faultsOfGit(project)).toBe("");
      await workspace.redo();
    }
    expect(seenGit(project)).toEqual(after);
    expect(faultsOfGit(project)).toBe("");
  });

  it("takes an unfinished rebase back whole", async () => {
    await using project = repository();
    project.git(["commit", "-qam", "three"]);
    project.git(["checkout", "-q", "-b", "side", "HEAD~2"]);
    project.write("a", "other\n");
    project.git(["commit", "-qam", "side"]);
    const workspace = await project.init();
    const before = seenGit(project);
    const ran = await runGit(project, workspace, "rebase", "main");
    expect([ran.exit_code, existsSync(join(project.top, ".git/rebase-merge"))]).toEqual([1, true]);
    const after = seenGit(project);
    await workspace.undo();
    expect([seenGit(project), existsSync(join(project.top, ".git/rebase-merge"))]).toEqual([before, false]);
    await workspace.redo();
    expect([seenGit(project), existsSync(join(project.top, ".git/rebase-merge/head-name"))]).toEqual([after, true]);
  });

  it("brings back objects that git has removed since", async () => {
    await using project = repository();
    project.write("only staged", "nowhere else\n");
    project.git(["add", "."]);
    const workspace = await project.init();
    const before = seenGit(project);
    const commit = commitOf(project);
    await runGit(project, workspace, "reset", "-q", "--hard", "HEAD~1");
    project.git(["reflog", "expire", "--expire=now", "--all"]);
    project.git(["gc", "-q", "--prune=now"]);
    expect(() => project.git(["cat-file", "-e", commit])).toThrow();
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(seenGit(project)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
  });

  it("leaves git alone if the branch has moved since, names the branch, and can be tried again", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = seenGit(project);
    await runGit(project, workspace, "commit", "-qam", "three");
    const three = commitOf(project);
    project.git(["commit", "-q", "--allow-empty", "-m", "a person's"]);
    const moved = seenGit(project);
    await expect(workspace.undo()).resolves.toMatchObject({
      undo_id: null,
      skipped: [{ path: ".git", reason: "changed", detail: expect.stringContaining("branch main was moved since") }],
    });
    expect(seenGit(project)).toEqual(moved);
    project.git(["reset", "-q", "--soft", three]);
    await workspace.undo();
    expect(seenGit(project)).toEqual(before);
  });

  it("leaves git alone while another git has the lock of the index", async () => {
    await using project = repository();
    const workspace = await project.init();
    await runGit(project, workspace, "reset", "-q", "--hard", "HEAD~1");
    const after = commitOf(project);
    writeFileSync(join(project.top, ".git/index.lock"), "");
    const { skipped } = await workspace.undo();
    expect(skipped).toMatchObject([{ path: ".git", detail: expect.stringContaining("index.lock exists") }]);
    expect(commitOf(project)).toBe(after);
    expect(existsSync(join(project.top, ".git/index.lock"))).toBe(true);
  });

  it("undoes a run within a run once, and leaves what another run did to git", async () => {
    await using project = repository();
    const workspace = await project.init();
    const start = seenGit(project);
    await runGit(project, workspace, "branch", "first");
    const first = seenGit(project);
    const second = await runGit(project, workspace, "branch", "second");
    await workspace.undo({ operation: second.session.session_id });
    expect(seenGit(project)).toEqual(first);
    await workspace.undo();
    expect(seenGit(project)).toEqual(start);
  });

  it.each([
    ["by a plain undo", {}],
    ["by its turn", { turn: "last" }],
    ["by its session", { session: "s" }],
  ])("takes back a tool call that changed files and git, and one that changed only git, %s", async (_, selection) => {
    await using project = repository();
    const workspace = await project.init();
    const start = seenGit(project);
    for (const args of [
      ["commit", "-qam", "three"],
      ["reset", "-q", "--hard", "HEAD~2"],
    ]) {
      const payload = { command: `git ${args.join(" ")}` };
      const call = { type: "execute_command", payload, session: "s", turn: "t", toolCall: args.join(" ") };
      const action = await workspace.snapshotAction(call);
      project.git(args);
      await workspace.finishAction(action?.id ?? "");
    }
    const end = seenGit(project);
    await workspace.undo(selection);
    if (Object.keys(selection).length === 0) await workspace.undo();
    expect(seenGit(project)).toEqual(start);
    await workspace.redo();
    if (Object.keys(selection).length === 0) await workspace.redo();
    expect(seenGit(project)).toEqual(end);
    expect(faultsOfGit(project)).toBe("");
  });

  it.each([
    ["its turn", (): UndoOptions => ({ turn: "t" })],
    ["its session", (): UndoOptions => ({ session: "s" })],
    ["everything back to before it", (seq: number): UndoOptions => ({ to: `seq:${seq}` })],
    ["everything since then", (seq: number): UndoOptions => ({ since: `seq:${seq}` })],
  ])("undoes and redoes the same work again and again: %s", async (_, selectionOf) => {
    await using project = repository();
    const workspace = await project.init();
    const start = seenGit(project);
    const { seq } = await workspace.head();
    for (const args of [
      ["commit", "-qam", "three"],
      ["reset", "-q", "--hard", "HEAD~2"],
      ["branch", "x"],
    ]) {
      const payload = { command: `git ${args.join(" ")}` };
      const action = await workspace.snapshotAction({ type: "execute_command", payload, session: "s", turn: "t" });
      project.git(args);
      await workspace.finishAction(action?.id ?? "");
    }
    const end = seenGit(project);
    await workspace.undo(selectionOf(seq));
    expect(seenGit(project)).toEqual(start);
    for (let round = 0; round < 3; round += 1) {
      await workspace.redo();
      expect([round, seenGit(project)]).toEqual([round, end]);
      await workspace.undo();
      expect([round, seenGit(project)]).toEqual([round, start]);
    }
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("says of no undo or redo that only changed git that nothing was changed", async () => {
    await using project = repository();
    const workspace = await project.init();
    const { seq } = await workspace.head();
    await runGit(project, workspace, "branch", "x");
    const told = [
      await workspace.undo({ to: `seq:${seq}`, dryRun: true }),
      await workspace.undo({ to: `seq:${seq}` }),
      await workspace.redo(),
      await workspace.undo(),
    ];
    expect(told.map(({ notes, git = [] }) => [notes, git.length])).toEqual(told.map(() => [[], 1]));
    const again = await workspace.undo({ to: `seq:${seq}` });
    expect([again.notes, again.git]).toEqual([[expect.stringContaining("nothing was changed")], undefined]);
  });

  it("the last turn is the one that changed only git", async () => {
    await using project = repository();
    const workspace = await project.init();
    const call = async (turn: string, work: () => void): Promise<void> => {
      const request = { type: "execute_command", payload: { command: "git work" }, session: "s", turn };
      const action = await workspace.snapshotAction(request);
      work();
      await workspace.finishAction(action?.id ?? "");
    };
    await call("edits", () => project.write("a", "edited\n"));
    const before = seenGit(project);
    await call("commits", () => void project.git(["commit", "-qam", "three"]));
    expect((await workspace.changes({ turn: "last" })).selection).toBe("turn commits");
    expect((await workspace.undo({ turn: "last" })).selection).toBe("turn commits");
    expect([seenGit(project), readFileSync(join(project.top, "a"), "utf8")]).toEqual([before, "edited\n"]);
    expect((await workspace.undo({ turn: "last" })).selection).toBe("turn edits");
    expect(readFileSync(join(project.top, "a"), "utf8")).toBe("2\nstaged\n");
  });

  it("passes over a last turn whose change of git cannot be taken back any more", async () => {
    await using project = repository();
    const workspace = await project.init();
    for (const [turn, work] of [
      ["edits", () => project.write("a", "edited\n")],
      ["commits", () => void project.git(["commit", "-qm", "three"])],
    ] as const) {
      const request = { type: "execute_command", payload: { command: "git work" }, session: "s", turn };
      const action = await workspace.snapshotAction(request);
      work();
      await workspace.finishAction(action?.id ?? "");
    }
    project.git(["commit", "-q", "--allow-empty", "-m", "by hand"]);
    const undone = await workspace.undo({ turn: "last" });
    expect([undone.selection, readFileSync(join(project.top, "a"), "utf8")]).toEqual(["turn edits", "2\nstaged\n"]);
    expect((await workspace.undo({ turn: "commits" })).skipped).toMatchObject([{ path: ".git", reason: "changed" }]);
  });

  it("leaves what a tool call within a run did to the run, and undoes both together", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = seenGit(project);
    const command = ["sh", "-c", "git branch x; git commit -qam three; git branch -D x"];
    const ran = await workspace.run({
      command,
      cwd: project.top,
      env: project.env,
      onStart: () => void workspace.snapshotAction({ type: "execute_command", payload: { command: "git branch y" } }),
    });
    expect(ran.git?.[0]?.refs.map(({ name }) => name)).toEqual(["refs/heads/main"]);
    await workspace.undo({ operation: ran.session.session_id });
    expect(seenGit(project)).toEqual(before);
  });

  it("records an unborn branch, a commit on it, and its undo", async () => {
    await using project = new GitProject(["-b", "main"]);
    project.write("a", "1\n");
    const workspace = await project.init();
    const before = seenGit(project);
    await workspace.run({
      command: ["sh", "-c", "git add . && git commit -qm one"],
      cwd: project.top,
      env: project.env,
    });
    expect(commitOf(project)).toMatch(/^[0-9a-f]{40}/);
    await workspace.undo();
    expect(seenGit(project)).toEqual(before);
    await workspace.redo();
    expect(seenGit(project)).toContain("# branch.head main");
    expect(faultsOfGit(project)).toBe("");
  });
});

/** Settings of a repository that make git start the program `canary`. */
const HOSTILE = (canary: string): string => `
[core]
  fsmonitor = ${canary}
  hooksPath = hooks
  sshCommand = ${canary}
  askPass = ${canary}
  pager = ${canary}
  editor = ${canary}
  alternateRefsCommand = ${canary}
  gitProxy = ${canary}
[alias]
  rev-list = !${canary}
  update-ref = !${canary}
  pack-objects = !${canary}
[filter "evil"]
  clean = ${canary}
  smudge = ${canary}
  process = ${canary}
  required = true
[diff]
  external = ${canary}
[diff "evil"]
  textconv = ${canary}
[credential]
  helper = !${canary}
[gpg]
  program = ${canary}
[uploadpack]
  packObjectsHook = ${canary}
[remote "origin"]
  url = ext::${canary}
  promisor = true
  partialclonefilter = blob:none
  uploadpack = ${canary}
[extensions]
  partialClone = origin
[include]
  path = more
`;

describe.skipIf(!hasGit)("the state of git in a folder that an agent can write", () => {
  it("no setting, hook, filter or helper of the repository is ever started", async () => {
    await using project = repository();
    const workspace = await project.init();
    const touched = join(project.base, "touched");
    const canary = join(project.base, "canary");
    writeFileSync(canary, `#!/bin/sh\necho "$0 $*" >> ${touched}\n`);
    chmodSync(canary, 0o755);
    const target = commitOf(project);
    const script = [
      "set -e",
      "git branch gone && git update-ref -d refs/heads/gone",
      "git reset -q --hard HEAD~1",
      `printf '%s' "$HOSTILE" >> .git/config; printf '[core]\\n fsmonitor = ${canary}\\n' > .git/more`,
      "mkdir -p hooks .git/hooks .git/info; echo '* filter=evil diff=evil' > .git/info/attributes",
      ...["reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc"].map(
        (name) => `cp ${canary} hooks/${name}; cp ${canary} .git/hooks/${name}`,
      ),
      // One of the objects is gone, so that a partial clone would ask its server for it.
      "rm -f .git/objects/$(git --no-pager -c core.fsmonitor= rev-parse ORIG_HEAD:b | sed 's#^..#&/#')",
      `rm -f ${touched}`,
    ].join("\n");
    const env = { ...project.env, HOSTILE: HOSTILE(canary) };
    // A file, because what a command line names in `.git` would be kept aside, and the undo would put the settings back.
    const file = join(project.base, "script");
    writeFileSync(file, script);
    await workspace.run({ command: ["sh", file], cwd: project.top, env });
    const undone = await workspace.undo();
    expect(undone.skipped).toEqual([]);
    expect(readFileSync(join(project.top, ".git/refs/heads/main"), "utf8").trim()).toBe(target);
    await workspace.redo();
    expect(existsSync(touched) ? readFileSync(touched, "utf8") : "").toBe("");
  });

  it.each([
    ["refs that are a link", ".git/refs/heads"],
    ["a folder of an unfinished rebase that is a link", ".git/rebase-merge"],
  ])("does not read or write through %s", async (_, place) => {
    await using project = repository();
    const workspace = await project.init();
    const elsewhere = join(project.base, "elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "secret"), `${"a".repeat(40)}\n`);
    const script = `git branch x; git branch -D x; rm -rf ${place}; ln -s ${elsewhere} ${place}; exit 0`;
    await workspace.run({ command: ["sh", "-c", script], cwd: project.top, env: project.env });
    await workspace.undo().catch(() => undefined);
    expect(readFileSync(join(elsewhere, "secret"), "utf8")).toBe(`${"a".repeat(40)}\n`);
    expect(existsSync(join(elsewhere, "main"))).toBe(false);
  });

  it.each([
    ["a HEAD that is no ref", (top: string) => writeFileSync(join(top, ".git/HEAD"), "nonsense\n")],
    ["an index that is damaged", (top: string) => writeFileSync(join(top, ".git/index"), "DIRC nonsense")],
    [
      "an index that is a folder",
      (top: string) => (rmSync(join(top, ".git/index")), mkdirSync(join(top, ".git/index"))),
    ],
    ["packed refs that are a link to nothing", (top: string) => symlinkSync("nowhere", join(top, ".git/packed-refs"))],
    ["no object at all", (top: string) => rmSync(join(top, ".git/objects"), { recursive: true })],
  ])("a run is recorded and undone with %s", async (_, damage) => {
    await using project = repository();
    const workspace = await project.init();
    damage(project.top);
    const ran = await workspace.run({ command: ["sh", "-c", "echo 3 > a; git add a; exit 0"], cwd: project.top });
    expect([ran.exit_code, ran.not_recorded]).toEqual([0, null]);
    await workspace.undo();
    expect(readFileSync(join(project.top, "a"), "utf8")).toBe("2\nstaged\n");
  });
});
