import { describe, expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { sha256 } from "../../core/values/hash.ts";

/** Makes a project in which rules leave out files that exist nowhere else. */
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

describe("files that a rule leaves out are kept aside before a command sweeps them away", () => {
  const all = [".env", "out", "run.log", "src/deep/out"];
  test.each([
    ["rm -rf *", ["out", "run.log", "src/deep/out"]],
    ["rm -f *.log .env", [".env", "run.log"]],
    ["rm *", ["run.log"]],
    ["git clean -fdx", all],
    ["git stash --all", all],
    ["find . -type f -not -path './.git/*' -delete", all],
    ["rm -rf .", all],
    ["touch *.ts; git clean -fd; git reset --hard", []],
  ])("%s", async (command, kept) => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command } });
    expect(action?.files_backed_up).toEqual(kept);
  });

  test("a command that would remove the store is stopped", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    // The store lies beside the folder here.
    const swept = workspace.snapshotAction({ type: "run_command", payload: { command: "rm -rf .." } });
    await expect(swept).rejects.toMatchObject({ code: "REFUSED" });
  });

  test("an undo of the action brings them back", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const before = project.tree();
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "git clean -fdx" } });
    for (const path of [".env", "run.log", "out", "src/deep/out"]) project.remove(path);
    const end = await workspace.finishAction(action?.id ?? "");
    expect(end.changes).toEqual([]);
    expect(end.action.omitted_changes?.map((one) => one.path)).toEqual(action?.files_backed_up);
    await workspace.undo({ action: action?.id ?? "" });
    expect(project.tree()).toEqual(before);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test.each(["git clean -fdx", "rm -f *.log"])(
    "small ignored files are private, and come back: %s",
    async (command) => {
      await using project = projectWithSecrets();
      const workspace = await project.init();
      const action = await workspace.snapshotAction({ type: "run_command", payload: { command } });
      project.remove("run.log");
      if (command.startsWith("git")) project.remove(".env");
      const before = project.tree();
      const end = await workspace.finishAction(action?.id ?? "");
      expect(end.changes).toEqual([]);
      expect(end.action.omitted_changes?.every((one) => one.kept && !one.lost)).toBe(true);
      await workspace.gc();
      const log = JSON.stringify(await workspace.log());
      expect([log.includes(sha256("KEY=1")), log.includes(sha256("l"))]).toEqual([false, false]);
      const undone = await workspace.undo();
      expect([undone.changes, undone.notes.join()]).toEqual([[], expect.stringContaining("run.log")]);
      expect([project.read("run.log"), project.read(".env")]).toEqual(["l", "KEY=1"]);
      await workspace.redo();
      expect(project.tree()).toEqual(before);
      const preview = await workspace.rollback(action?.id ?? "", { dryRun: true });
      expect(preview.notes?.join()).toMatch(/run\.log.*would be put back|would be put back.*run\.log/);
      const rolled = await workspace.rollback(action?.id ?? "");
      expect(rolled.changes).toEqual([]);
      expect(rolled.notes).toEqual([expect.stringMatching(/put back.*run\.log/)]);
      expect([project.read("run.log"), project.read(".env")]).toEqual(["l", "KEY=1"]);
      expect(await workspace.rollback(action?.id ?? "")).toMatchObject({ notes: [], undo_id: null });
      const back = await workspace.undo();
      expect([back.operation?.id, back.notes.length]).toEqual([rolled.undo_id, 1]);
      expect(project.tree()).toEqual(before);
      await workspace.redo();
      expect([project.read("run.log"), project.read(".env")]).toEqual(["l", "KEY=1"]);
      await workspace.undo({ operation: rolled.undo_id ?? "" });
      expect(project.tree()).toEqual(before);
      expect((await workspace.verify()).problems).toEqual([]);
    },
  );

  test("the command's content of such a file comes back with an undo of the rollback", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const request = { type: "run_command", payload: { command: "rm -f *.log .e*; make env" } };
    const action = await workspace.snapshotAction(request);
    project.write(".env", "KEY=2");
    await workspace.finishAction(action?.id ?? "");
    await workspace.rollback(action?.id ?? "");
    expect(project.read(".env")).toBe("KEY=1");
    await workspace.undo();
    expect(project.read(".env")).toBe("KEY=2");
    await workspace.redo();
    expect(project.read(".env")).toBe("KEY=1");
    await workspace.gc();
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("they come back with the action's other work, by action, turn, session or transaction", async () => {
    for (const how of ["action", "turn", "session", "transaction"] as const) {
      await using project = projectWithSecrets();
      const workspace = await project.init();
      const sweep = async (): Promise<string> => {
        const request = { type: "run_command", payload: { command: "git clean -fdx" }, session: "s", turn: "t" };
        const action = await workspace.snapshotAction(request);
        project.remove(".env");
        project.write("src/a", "edited");
        await workspace.finishAction(action?.id ?? "");
        return action?.id ?? "";
      };
      if (how === "transaction") {
        const { id } = await workspace.beginTransaction();
        await sweep();
        await workspace.rollbackTransaction(id);
      } else {
        const action = await sweep();
        await workspace.undo({ [how]: how === "action" ? action : how === "turn" ? "t" : "s" });
      }
      expect([how, project.read("src/a"), project.read(".env")]).toEqual([how, "a", "KEY=1"]);
    }
  });

  /** Runs an action that sweeps `.env` away, and that edits `src/a` if an edit is given. */
  async function sweeps(project: Project, workspace: WorkspaceApi, edit?: string): Promise<string> {
    const request = { type: "run_command", payload: { command: "git clean -fdx" }, session: "s", turn: "t" };
    const action = await workspace.snapshotAction(request);
    project.remove(".env");
    if (edit !== undefined) project.write("src/a", edit);
    await workspace.finishAction(action?.id ?? "");
    return action?.id ?? "";
  }

  test.each([undefined, "edited"])("they come back with a rollback of the transaction (edit: %s)", async (edit) => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction();
    await sweeps(project, workspace, edit);
    await workspace.rollbackTransaction(id);
    expect([project.read("src/a"), project.read(".env")]).toEqual(["a", "KEY=1"]);
  });

  test.each([
    ["the transaction", undefined, false],
    ["the transaction", "edited", false],
    ["the action", undefined, true],
    ["the action", "edited", true],
  ])("they come back from a committed transaction with an undo of %s (edit: %s)", async (_, edit, isByAction) => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction();
    const action = await sweeps(project, workspace, edit);
    await workspace.commitTransaction(id);
    await workspace.undo(isByAction ? { action } : {});
    expect([project.read("src/a"), project.read(".env")]).toEqual(["a", "KEY=1"]);
    await workspace.redo();
    expect([project.read("src/a"), ".env" in project.tree()]).toEqual([edit ?? "a", false]);
    await workspace.undo(isByAction ? { action } : {});
    expect([project.read("src/a"), project.read(".env")]).toEqual(["a", "KEY=1"]);
    const { seq } = await workspace.head();
    await workspace.undo({ action });
    expect((await workspace.head()).seq).toBe(seq);
  });

  test.each(["action", "turn", "session"] as const)(
    "they come back from an action in a run with an undo of the %s",
    async (how) => {
      await using project = projectWithSecrets();
      const workspace = await project.init();
      let action = "";
      const command = ["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; rm go"];
      let started: () => void = () => undefined;
      const isUp = new Promise<void>((resolve) => (started = resolve));
      const run = workspace.run({ command, onStart: () => started() });
      await isUp;
      {
        await using other = await project.open();
        action = await sweeps(project, other);
      }
      project.write("go", "");
      await run;
      await workspace.undo({ [how]: how === "action" ? action : how === "turn" ? "t" : "s" });
      expect(project.read(".env")).toBe("KEY=1");
    },
  );

  test("an undo of one action of a transaction does not bring back what another action swept away", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction();
    const action = await sweeps(project, workspace);
    const other = await workspace.snapshotAction({ type: "run_command", payload: { command: "rm -f *.log" } });
    project.remove("run.log");
    await workspace.finishAction(other?.id ?? "");
    await workspace.commitTransaction(id);
    await workspace.undo({ action });
    expect([project.read(".env"), Object.keys(project.tree()).includes("run.log")]).toEqual(["KEY=1", false]);
    await workspace.undo();
    expect(project.read("run.log")).toBe("l");
  });

  test("they come back from a run that did nothing else with an undo of its session", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const { session } = await workspace.run({ command: ["rm", ".env"] });
    await workspace.undo({ session: session.session_id });
    expect(project.read(".env")).toBe("KEY=1");
    await workspace.redo();
    expect(Object.keys(project.tree())).not.toContain(".env");
  });

  test("they come back even if the action's own edit cannot be undone because of a later edit", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const action = await sweeps(project, workspace, "edited");
    project.write("src/a", "by hand");
    const { unmerged } = await workspace.undo({ action });
    expect([unmerged.map(({ path }) => path), project.read(".env")]).toEqual([["src/a"], "KEY=1"]);
    await workspace.redo();
    expect(Object.keys(project.tree())).not.toContain(".env");
  });

  test("nothing is kept aside if `keepAside` is off", async () => {
    await using project = projectWithSecrets();
    project.write("mine", "m");
    const workspace = await project.init({ excludePatterns: ["mine"] });
    await workspace.configure({ keepAside: false });
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "git clean -fdx" } });
    expect(action?.files_backed_up).toEqual([]);
    for (const path of [".env", "mine"]) project.remove(path);
    const { action: ended } = await workspace.finishAction(action?.id ?? "");
    expect(ended.omitted_changes?.map((one) => [one.path, one.lost])).toEqual([
      [".env", true],
      ["mine", true],
    ]);
  });

  test("`.git` comes back after a tool that removes the whole folder", async () => {
    await using project = projectWithSecrets();
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "delete_directory", payload: { path: project.folder } });
    expect(action).toMatchObject({ scope: "workspace" });
    project.remove(".git");
    await workspace.finishAction(action?.id ?? "");
    await workspace.undo();
    expect(project.read(".git/HEAD")).toBe("ref");
  });
});
