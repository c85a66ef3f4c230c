import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { type GitProject, hasGit } from "../helpers/git-project.ts";
import { allOf as all, mixedRepository as repository } from "../helpers/git-removed.ts";
import { faultsOfGit, seenGit } from "../helpers/git-state.ts";

/** Runs a script that the command line does not show. */
async function hiddenRun(project: GitProject, workspace: WorkspaceApi, script: string): Promise<RunShape> {
  return workspace.run({ command: hiddenScript(project, script), cwd: project.top, env: project.env });
}

function hiddenScript(project: GitProject, script: string): string[] {
  const hidden = join(project.base, "hidden.sh");
  writeFileSync(hidden, script);
  return ["sh", hidden];
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

  it("is undone also if it is an agent's command", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = all(project);
    const action = await workspace.snapshotAction({ type: "execute_command", payload: { command: "make clean" } });
    rmSync(join(project.top, ".git"), { recursive: true });
    await workspace.finishAction(action?.id ?? "");
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(all(project)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
  });

  it.each(["its turn ended", "a new turn began", "its session ended", "it ends late"])(
    "is undone also if it is an agent's command whose end nobody saw: %s",
    async (how) => {
      await using project = repository();
      const workspace = await project.init();
      const before = all(project);
      const of = { type: "execute_command", payload: { command: "make clean" }, session: "s" };
      const action = await workspace.snapshotAction({ ...of, turn: "1", toolCall: "a" });
      if (how === "it ends late") await workspace.abandonActions({ session: "s" });
      rmSync(join(project.top, ".git"), { recursive: true });
      if (how === "its turn ended") await workspace.abandonActions({ session: "s", turn: "1", unsure: true });
      if (how === "its session ended") await workspace.abandonActions({ session: "s" });
      if (how === "it ends late") await workspace.finishAction(action?.id ?? "");
      // The next commands give up links that nobody needs.
      for (const toolCall of ["b", "c"]) {
        const next = await workspace.snapshotAction({ ...of, turn: "2", toolCall });
        await workspace.finishAction(next?.id ?? "");
      }
      expect((await workspace.undo({ action: action?.id ?? "" })).skipped).toEqual([]);
      expect(all(project)).toEqual(before);
      expect(faultsOfGit(project)).toBe("");
    },
  );

  it("is undone also if it is an agent's command whose process is gone", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = all(project);
    const of = { type: "execute_command", payload: { command: "make clean" } };
    const action = await workspace.snapshotAction({ ...of, pid: 999_999_999 });
    rmSync(join(project.top, ".git"), { recursive: true });
    for (const toolCall of ["b", "c"]) {
      const next = await workspace.snapshotAction({ ...of, toolCall });
      await workspace.finishAction(next?.id ?? "");
    }
    expect((await workspace.undo({ action: action?.id ?? "" })).skipped).toEqual([]);
    expect(all(project)).toEqual(before);
  });

  it("is undone also if the process that recorded the run was gone", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = all(project);
    const stopped = workspace.run({
      command: hiddenScript(project, ""),
      cwd: project.top,
      runner: {
        pid: 999_999_999,
        run: async () => {
          rmSync(join(project.top, ".git"), { recursive: true });
          throw new ChronicleError("UNAVAILABLE", "gone");
        },
      },
    });
    await expect(stopped).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await workspace.undo();
    expect(all(project)).toEqual(before);
  });

  it("gives up what is kept once keepAside is false", async () => {
    await using project = repository();
    const workspace = await project.init();
    const links = (): number => {
      const folder = join(project.base, "store/workspaces");
      const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
      return names.filter((name) => name.includes("/git/") && name.includes("/objects/")).length;
    };
    await hiddenRun(project, workspace, "true");
    expect(links()).toBeGreaterThan(0);
    await workspace.configure({ keepAside: false });
    await hiddenRun(project, workspace, "true");
    expect(links()).toBe(0);
  });

  it("leaves a repository alone that was made since", async () => {
    await using project = repository();
    const workspace = await project.init();
    await hiddenRun(project, workspace, "rm -rf .git");
    project.git(["init", "-q", "-b", "mine"]);
    const mine = all(project);
    await workspace.undo().catch(() => undefined);
    expect(all(project)).toEqual(mine);
  });

  it("says why a git folder cannot be brought back", async () => {
    await using project = repository();
    const workspace = await project.init();
    symlinkSync("/etc/passwd", join(project.top, `.git/objects/pack/pack-${"a".repeat(40)}.pack`));
    const ran = await hiddenRun(project, workspace, "rm -rf .git");
    expect(ran.session.omitted_changes).toMatchObject([{ path: ".git", change_type: "deleted", lost: true }]);
    expect(ran.session.notes.join()).toMatch(/\.git was removed, and cannot be brought back: .* is no regular file/);
  });

  it("is named if it is larger than the budget, and takes nothing from what is kept of other work", async () => {
    await using project = repository();
    const options = { retention: { max_private_bytes: 60_000 } };
    const workspace = await project.init("", {}, options);
    project.write(".gitignore", "*.log\n");
    project.write("a.log", randomBytes(20_000));
    const other = await workspace.run({ command: ["rm", "a.log"], cwd: project.top, env: project.env });
    project.write(`.git/objects/pack/pack-${"b".repeat(40)}.pack`, randomBytes(60_000));
    const ran = await hiddenRun(project, workspace, "rm -rf .git");
    expect(ran.session.notes.join()).toContain(
      ".git was removed, and cannot be brought back: its contents need more than max_",
    );
    expect(ran.session.omitted_changes).toMatchObject([{ path: ".git", lost: true }]);
    expect((await workspace.undo({ session: other.session.session_id })).skipped).toEqual([]);
    expect(existsSync(join(project.top, "a.log"))).toBe(true);
  });
});

it.skipIf(!hasGit)("objects that a run makes unreachable and removes come back with its undo", async () => {
  await using project = repository();
  project.git(["checkout", "-qb", "side"]);
  project.git(["commit", "-qm", "side", "--allow-empty"]);
  project.git(["checkout", "-q", "main"]);
  const workspace = await project.init();
  const before = seenGit(project);
  const ran = await hiddenRun(
    project,
    workspace,
    "git branch -D side; git reflog expire --expire=now --all; git gc -q --prune=now",
  );
  expect(ran.session.notes).toEqual([]);
  expect((await workspace.undo()).skipped).toEqual([]);
  expect(seenGit(project)).toEqual(before);
  expect(faultsOfGit(project)).toBe("");
});

/** The kept objects of all repositories of a store, by their names. */
function keptIn(project: GitProject): string[] {
  const folder = join(project.base, "store/workspaces");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\/git\/.*\/(?:[0-9a-f]{38}|pack-.*)$/.test(name));
}

/** Dates everything in a folder back by two hours. */
function makeOlder(folder: string): void {
  const time = Date.now() / 1_000 - 2 * 3_600;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    utimesSync(join(folder, name), time, time);
}

describe.skipIf(!hasGit)("gc of what is kept of git folders", () => {
  it("removes objects that the repository no longer has, but none of work that goes on", async () => {
    await using project = repository();
    const workspace = await project.init();
    const before = all(project);
    const action = await workspace.snapshotAction({ type: "execute_command", payload: { command: "make clean" } });
    const kept = keptIn(project);
    expect(kept.length).toBeGreaterThan(0);
    rmSync(join(project.top, ".git"), { recursive: true });
    expect((await workspace.gc()).freed_bytes).toBe(0);
    expect(keptIn(project)).toEqual(kept);
    await workspace.finishAction(action?.id ?? "");
    const { freed_bytes: bytes } = await workspace.gc();
    expect([keptIn(project), bytes > 0]).toEqual([[], true]);
    await workspace.undo();
    expect(all(project)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
  });

  it("leaves what the repository has, gives up what git has packed anew, and what a crash has left", async () => {
    await using project = repository();
    project.git(["init", "-q", "inner"]);
    project.write("inner/f", "inner\n");
    project.git(["add", "."], join(project.top, "inner"));
    const workspace = await project.init();
    await hiddenRun(project, workspace, "echo x > new");
    const kept = keptIn(project);
    await workspace.gc();
    expect(keptIn(project)).toEqual(kept);
    const [place = ""] = /^.*?\/git\//.exec(kept[0] ?? "") ?? [];
    const left = join(project.base, "store/workspaces", place, "0123456789abcdef.gone");
    mkdirSync(join(left, "files"), { recursive: true });
    writeFileSync(join(left, "files/rest"), "rest");
    project.git(["gc", "-q", "--prune=now"]);
    await workspace.gc();
    expect(keptIn(project)).toEqual(kept);
    makeOlder(join(project.base, "store/workspaces", place));
    await workspace.gc();
    const ofTop = readdirSync(join(project.top, ".git/objects"), { recursive: true, encoding: "utf8" });
    const names = keptIn(project).map((name) => name.replace(/^.*\/files\/objects\//, ""));
    expect(names.filter((name) => !ofTop.includes(name))).toHaveLength(1);
    expect(existsSync(left)).toBe(false);
    const before = all(project);
    await hiddenRun(project, workspace, "rm -rf .git");
    expect((await workspace.undo()).skipped).toEqual([]);
    expect(all(project)).toEqual(before);
    expect(faultsOfGit(project)).toBe("");
  });
});
