import { randomBytes } from "node:crypto";
import { existsSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { restoreHere } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";

const PACK = "x".repeat(9 * 1024 * 1024);

/** A project with a repository of its own and one in a folder. */
function repository(): Project {
  const project = new Project();
  project.write("a", "1");
  for (const folder of ["", "vendor/lib/"]) {
    project.write(`${folder}.git/HEAD`, "ref: refs/heads/main\n");
    project.write(`${folder}.git/refs/heads/main`, "1111\n");
    project.write(`${folder}.git/objects/pack/p.pack`, PACK);
    project.write(`${folder}.git/config`, "[core]\n");
  }
  project.write("vendor/lib/made", "m");
  return project;
}

const bash = (command: string) => ({ type: "run_command", payload: { command }, session: "s" });
const write = (path: string) => ({ type: "write_file", payload: { path }, session: "s" });

describe("Truth 18: a repository's own state is no part of the workspace", () => {
  test.each(["rm -rf .git", "rm -rf vendor", "rm -f .git/config vendor/lib/.git/HEAD", "rm -rf .", "git clean -ffdx"])(
    "%s, denied: nothing of the state is recorded, and a restore rewinds no branch",
    async (command) => {
      await using project = repository();
      const workspace = await project.init();
      const { seq } = await workspace.head();
      const action = await workspace.snapshotAction(bash(command));
      expect(action?.files_backed_up.filter((path) => path.includes(".git"))).toEqual([]);
      await workspace.finishAction(action?.id ?? "", { outcome: "denied" });
      project.write(".git/refs/heads/main", "2222\n");
      project.write("a", "2");
      await workspace.snapshot();
      const paths = (await workspace.files()).files.map(({ path }) => path);
      expect(paths.filter((path) => path.includes(".git"))).toEqual([]);
      await workspace.restore(`seq:${seq}`);
      expect([project.read("a"), project.read(".git/refs/heads/main")]).toEqual(["1", "2222\n"]);
      expect((await workspace.verify()).problems).toEqual([]);
    },
  );

  test.each([
    ["rm -rf .git", ".git"],
    ["rm -rf .", ".git"],
    ["rm -rf vendor", "vendor/lib/.git"],
  ])(
    "%s, done: the removal is reported, undo brings the state back whole, and redo removes it again",
    async (command, git) => {
      await using project = repository();
      const workspace = await project.init();
      const before = project.tree();
      const action = await workspace.snapshotAction(bash(command));
      project.remove(git);
      const { action: ended } = await workspace.finishAction(action?.id ?? "");
      const gone = project.tree();
      expect(ended.omitted_changes).toMatchObject([{ path: git, change_type: "deleted", kept: true, lost: false }]);
      const { notes } = await workspace.undo();
      expect(notes.join()).toContain(`put back: ${git}`);
      expect(project.tree()).toEqual(before);
      await workspace.redo();
      expect(project.tree()).toEqual(gone);
      await workspace.rollback(ended.id);
      expect(project.tree()).toEqual(before);
      expect((await workspace.verify()).problems).toEqual([]);
    },
  );

  test("undo leaves another repository that was begun since as a whole", async () => {
    await using project = repository();
    const workspace = await project.init();
    const action = await workspace.snapshotAction(bash("rm -rf .git a"));
    for (const path of [".git", "a"]) project.remove(path);
    await workspace.finishAction(action?.id ?? "");
    project.write(".git/HEAD", "ref: refs/heads/other\n");
    const { skipped } = await workspace.undo();
    expect(skipped.map(({ path }) => path)).toEqual([".git"]);
    expect([project.read("a"), Object.keys(project.tree()).filter((path) => path.startsWith(".git"))]).toEqual([
      "1",
      [".git", ".git/HEAD"],
    ]);
  });

  test("undo of a tool call that edited or made a file of the state changes no other path", async () => {
    await using project = repository();
    const workspace = await project.init();
    for (const [path, made] of [
      [".git/config", "[core]\nhooksPath = evil\n"],
      [".git/hooks/pre-commit", "#!/bin/sh\n"],
    ] as const) {
      const before = project.tree();
      const action = await workspace.snapshotAction(write(path));
      project.write(path, made);
      const end = await workspace.finishAction(action?.id ?? "");
      expect([path, end.changes, end.action.omitted_changes?.map((one) => one.path)]).toEqual([path, [], [path]]);
      project.write(".git/refs/heads/main", "2222\n");
      await workspace.undo();
      expect(project.read(".git/refs/heads/main")).toBe("2222\n");
      project.write(".git/refs/heads/main", "1111\n");
      project.remove(".git/hooks");
      expect(project.tree()).toEqual(before);
    }
  });

  test("with keepAside off, nothing of the state is kept: its removal is reported as lost, and undo leaves it", async () => {
    await using project = repository();
    const workspace = await project.init();
    await workspace.configure({ keepAside: false });
    const kept = await workspace.snapshotAction({ ...write(".git/config"), onFailure: "warn" });
    if (kept !== null) await workspace.finishAction(kept.id);
    const action = await workspace.snapshotAction({ ...bash("rm -rf .git"), onFailure: "warn" });
    project.remove(".git/refs");
    project.write("a", "2");
    await workspace.finishAction(action?.id ?? "");
    await workspace.undo();
    expect([project.read("a"), project.read(".git/HEAD")]).toEqual(["1", "ref: refs/heads/main\n"]);
    const again = await workspace.snapshotAction({ ...bash("rm -rf .git"), onFailure: "warn" });
    project.remove(".git");
    const { action: ended } = await workspace.finishAction(again?.id ?? "");
    expect(ended.omitted_changes).toMatchObject([{ path: ".git", change_type: "deleted", kept: false, lost: true }]);
  });

  test("an action is stopped if there is no room to keep the state", async () => {
    await using project = repository();
    project.write(".git/objects/pack/p.pack", randomBytes(3 * 1024 * 1024));
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 2 * 1024 * 1024 } });
    const workspace = await store.open({ folder: project.folder });
    await expect(workspace.snapshotAction(bash("rm -rf .git"))).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await workspace.snapshotAction({ ...bash("rm -rf .git"), onFailure: "warn" })).toMatchObject({
      coverage: { complete: false },
    });
  });

  test("a run goes on if there is no room to keep the state, and says so", async () => {
    await using project = repository();
    project.write(".git/objects/pack/p.pack", randomBytes(3 * 1024 * 1024));
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 2 * 1024 * 1024 } });
    const workspace = await store.open({ folder: project.folder });
    const { exit_code: code, session } = await workspace.run({ command: ["rm", "-rf", ".git"], cwd: project.folder });
    expect(code).toBe(0);
    expect(session.notes).toContainEqual(expect.stringMatching(/^\.git cannot be kept aside/));
    expect(session.omitted_changes).toMatchObject([{ path: ".git", lost: true }]);
  });

  test("restore --to leaves out .git and says so, unless forceInclude or the restore names it", async () => {
    await using project = repository();
    const workspace = await project.init({ forceInclude: [".git"] });
    const to = (name: string): string => `${project.folder}-${name}`;
    const isThere = (name: string): boolean => existsSync(join(to(name), ".git/config"));
    try {
      expect((await workspace.restore("now", { to: to("taken-in") })).skipped).toEqual([]);
      const elsewhere = await restoreHere(workspace, "now", { to: to("elsewhere") });
      const then = `seq:${(await workspace.head()).seq}`;
      await workspace.configure({ forceInclude: [] });
      const again = await project.open();
      const left = await again.restore(then, { to: to("left-out") });
      for (const { skipped, changes } of [elsewhere, left]) {
        expect(skipped).toMatchObject([
          { path: ".git", reason: "git" },
          { path: "vendor/lib/.git", reason: "git" },
        ]);
        expect(changes.map(({ path }) => path)).toEqual(["a", "vendor", "vendor/lib", "vendor/lib/made"]);
      }
      const named = await again.restore(then, { to: to("named"), paths: [".git"] });
      expect(named.skipped).toEqual([]);
      expect(["taken-in", "elsewhere", "left-out", "named"].filter(isThere)).toEqual(["taken-in", "named"]);
    } finally {
      for (const name of ["taken-in", "elsewhere", "left-out", "named"])
        rmSync(to(name), { recursive: true, force: true });
    }
  });

  test("a .git that a person takes in with forceInclude is recorded", async () => {
    await using project = repository();
    const workspace = await project.init({ forceInclude: [".git"] });
    const action = await workspace.snapshotAction(bash("rm -rf .git"));
    expect(action?.files_backed_up).toContain(".git/HEAD");
  });
});

describe("Truth 18: a repository's own state lies inside the workspace, also for a caller with `onlyInside`", () => {
  test.each(["rm -rf .git", "rm -rf vendor/lib"])("%s is kept, and its undo brings it back whole", async (command) => {
    await using project = repository();
    const person = await project.init();
    const agent = person.as({ role: "agent", onlyInside: true });
    const before = project.tree();
    const action = await agent.snapshotAction(bash(command));
    project.remove(command.split(" ").at(-1) ?? "");
    const { action: ended } = await agent.finishAction(action?.id ?? "");
    expect(ended.omitted_changes).toMatchObject([{ change_type: "deleted", kept: true, lost: false }]);
    await person.undo();
    expect(project.tree()).toEqual(before);
  });

  test("an agent that ends a person's action does not drop what the action's beginning has kept", async () => {
    await using project = repository();
    const person = await project.init();
    const before = project.tree();
    const action = await person.snapshotAction(bash("rm -rf .git"));
    project.remove(".git");
    await person.as({ role: "agent", onlyInside: true }).finishAction(action?.id ?? "");
    await person.undo();
    expect(project.tree()).toEqual(before);
  });

  test("a write through a link that stays inside backs up the file that the link leads to", async () => {
    await using project = repository();
    const person = await project.init();
    symlinkSync("vendor", join(project.folder, "link"));
    await person.snapshot();
    const agent = person.as({ role: "agent", onlyInside: true });
    const action = await agent.snapshotAction(write("link/lib/made"));
    expect(action?.files_backed_up).toEqual(["vendor/lib/made"]);
  });
});
