import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { hasGit } from "../helpers/git-project.ts";
import { allOf as all, mixedRepository as repository } from "../helpers/git-removed.ts";
import { faultsOfGit } from "../helpers/git-state.ts";

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
          throw new ChronicleError("UNAVAILABLE", "gone");
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
