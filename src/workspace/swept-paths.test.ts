import { describe, expect, test } from "vitest";
import { Project } from "../../test/helpers/project.ts";

/** A project in which a rule keeps out what nobody has a copy of. */
function projectWithSecrets(): Project {
  const project = new Project();
  project.write(".gitignore", ".env\n*.log\nout/\n");
  project.write(".git/HEAD", "ref");
  project.write(".env", "KEY=1");
  project.write("run.log", "l");
  project.write("out/made", "m");
  project.write("src/deep/out/made", "d");
  project.write("src/a", "a");
  return project;
}

describe("what a rule keeps out is kept before a command sweeps it away", () => {
  const everything = [".env", "out", "out/made", "run.log", "src/deep/out", "src/deep/out/made"];
  const visible = everything.filter((path) => path !== ".env");
  test.each([
    ["rm -rf *", visible],
    ["rm -rf ./*", visible],
    ["rm -f *.log .env", [".env", "run.log"]],
    ["rm *", ["run.log"]],
    ["git clean -fdx", everything],
    ["git stash --all", everything],
    ["find . -type f -not -path './.git/*' -delete", everything],
    ["rm -rf .", [".env", ".git", ".git/HEAD", ...visible]],
    ["touch *.ts; git clean -fd; git reset --hard", []],
  ])("%s", async (command, kept) => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command } });
    expect(action?.files_backed_up).toEqual(kept);
  });

  test("what would take the store along is stopped", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    // The store lies beside the folder here.
    const swept = workspace.snapshotAction({ type: "run_command", payload: { command: "rm -rf .." } });
    await expect(swept).rejects.toMatchObject({ code: "REFUSED" });
  });

  test("and comes back", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const before = project.tree();
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "git clean -fdx" } });
    for (const path of [".env", "run.log", "out", "src/deep/out"]) project.remove(path);
    const end = await workspace.finishAction(action?.id ?? "");
    expect(end.changes.map((one) => one.path)).toEqual(action?.files_backed_up);
    await workspace.undo({ action: action?.id ?? "" });
    expect(project.tree()).toEqual(before);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("a tool that removes the whole folder too", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "delete_directory", payload: { path: project.folder } });
    expect(action).toMatchObject({ scope: "workspace" });
    expect(action?.files_backed_up).toContain(".git/HEAD");
  });
});
