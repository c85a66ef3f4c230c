import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { ActionRequest } from "../../api/action-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

const LINES = ["one", "two", "three", "four", "five", "six", "seven"];
const BASE = LINES.map((line) => `${line}\n`).join("");

/** Returns the base with some lines replaced. */
const text = (...now: readonly (readonly [string, string])[]): string =>
  now.reduce((all, [from, to]) => all.replace(`${from}\n`, `${to}\n`), BASE);

/** Makes a tool call that replaces something in a file. Returns its id. */
async function edit(
  project: Project,
  workspace: WorkspaceApi,
  of: Partial<ActionRequest> & { readonly path: string; readonly from: string; readonly to: string },
): Promise<string> {
  const { path, from, to, ...request } = of;
  return workspace.action({ type: "write_file", payload: { path }, ...request }, (action) => {
    project.write(path, project.read(path).replace(from, to));
    return action?.id ?? "";
  });
}

describe("undo of actions", () => {
  it("an action in the middle is undone alone, by its id, a prefix or the agent's own id of the call", async () => {
    for (const name of ["id", "prefix", "call"] as const) {
      await using project = new Project();
      project.write("f", BASE);
      const workspace = await project.init();
      await edit(project, workspace, { path: "f", from: "one", to: "ONE", toolCall: "c1" });
      const id = await edit(project, workspace, { path: "f", from: "four", to: "FOUR", toolCall: "c2" });
      await edit(project, workspace, { path: "f", from: "seven", to: "SEVEN", toolCall: "c3" });
      const done = await workspace.undo({ action: { id, prefix: id.slice(0, 8), call: "c2" }[name] });
      expect(project.read("f")).toBe(text(["one", "ONE"], ["seven", "SEVEN"]));
      expect(done.selection).toBe(`action ${id}`);
      const operations = await workspace.operations();
      expect(operations.filter((one) => one.kind === "action").map((one) => one.undone)).toEqual([false, true, false]);
      await workspace.undo();
      expect(project.read("f")).toBe(text(["one", "ONE"]));
      await workspace.redo();
      await workspace.redo();
      expect(project.read("f")).toBe(text(["one", "ONE"], ["four", "FOUR"], ["seven", "SEVEN"]));
    }
  });

  it("an agent's own id of a call names that call, even if another id begins with it", async () => {
    await using project = new Project();
    project.write("f", BASE);
    const workspace = await project.init();
    const first = await edit(project, workspace, { path: "f", from: "one", to: "ONE" });
    const second = await edit(project, workspace, { path: "f", from: "two", to: "TWO", toolCall: first.slice(0, 2) });
    expect((await workspace.undo({ action: first.slice(0, 2), dryRun: true })).selection).toBe(`action ${second}`);
    expect((await workspace.undo({ action: first.slice(0, 8), dryRun: true })).selection).toBe(`action ${first}`);
  });

  it("`changes` shows nothing of a person's edit between two edits of the turn", async () => {
    await using project = new Project();
    project.write("f", BASE);
    project.write("g", "g\n");
    const workspace = await project.init();
    const of = { session: "s", actor: "claude", turn: "t1" };
    await edit(project, workspace, { ...of, path: "f", from: "one", to: "ONE" });
    await edit(project, workspace, { ...of, path: "g", from: "g", to: "G" });
    project.write("f", project.read("f").replace("four", "by a human"));
    await edit(project, workspace, { ...of, path: "f", from: "seven", to: "SEVEN" });
    await edit(project, workspace, { ...of, path: "g", from: "G", to: "GG" });
    const { changes } = await workspace.changes({}, { patch: true });
    const edited = changes.map(({ path, patch = "" }) => [
      path,
      ...patch.split("\n").filter((line) => /^[+-]\w/.test(line)),
    ]);
    expect(edited).toEqual([
      ["f", "-one", "+ONE"],
      ["f", "-seven", "+SEVEN"],
      ["g", "-g", "+GG"],
    ]);
  });

  it("the last turn is undone with all its actions and nothing of the turn before, as `changes` shows it", async () => {
    await using project = new Project();
    project.write("f", BASE);
    project.write("g", "g\n");
    const workspace = await project.init();
    const of = { session: "s", actor: "claude" };
    await edit(project, workspace, { ...of, turn: "t1", path: "f", from: "one", to: "ONE" });
    await edit(project, workspace, { ...of, turn: "t2", path: "f", from: "four", to: "FOUR" });
    await edit(project, workspace, { ...of, turn: "t2", path: "g", from: "g", to: "G" });
    const told = await workspace.changes({});
    expect(told.selection).toBe("turn t2");
    expect(told.actions).toHaveLength(2);
    expect(told.changes.map((one) => one.path)).toEqual(["f", "g"]);
    await workspace.undo({ turn: "last" });
    expect([project.read("f"), project.read("g")]).toEqual([text(["one", "ONE"]), "g\n"]);
    expect((await workspace.undo({ turn: "t2" })).notes).toEqual([expect.stringContaining("undone already")]);
    await workspace.undo({ session: "s" });
    expect(project.read("f")).toBe(BASE);
  });

  it("the last turn is the one that changed something last, whichever action of two agents began last", async () => {
    await using project = new Project();
    project.write("f", BASE);
    project.write("g", "g\n");
    const workspace = await project.init();
    const long = await workspace.snapshotAction({
      ...{ actor: "codex", session: "s1", turn: "t1" },
      ...{ type: "write_file", payload: { path: "f" } },
    });
    await edit(project, workspace, { actor: "claude", session: "s2", turn: "t2", path: "g", from: "g", to: "G" });
    project.write("f", text(["one", "ONE"]));
    await workspace.finishAction(long?.id ?? "");
    expect((await workspace.changes({})).selection).toBe("turn t1");
    await edit(project, workspace, { actor: "claude", session: "s2", turn: "t3", path: "g", from: "G", to: "G" });
    expect((await workspace.undo({ turn: "last" })).selection).toBe("turn t1");
    expect([project.read("f"), project.read("g")]).toEqual([BASE, "G\n"]);
  });

  it("if no turn changed anything, the last turn is the one that ended last", async () => {
    await using project = new Project();
    project.write("g", "g\n");
    const workspace = await project.init();
    await edit(project, workspace, { session: "s", turn: "t1", path: "g", from: "g", to: "g" });
    await edit(project, workspace, { session: "s", turn: "t2", path: "g", from: "g", to: "g" });
    expect((await workspace.changes({})).selection).toBe("turn t2");
  });

  it("undoing one agent's work leaves another agent's work, even in the same file", async () => {
    await using project = new Project();
    project.write("shared", BASE);
    const workspace = await project.init();
    const codex = { session: "s1", actor: "codex" };
    const claude = { session: "s2", actor: "claude" };
    await edit(project, workspace, { ...codex, path: "shared", from: "one", to: "codex 1" });
    await edit(project, workspace, { ...claude, path: "shared", from: "four", to: "claude 1" });
    await edit(project, workspace, { ...codex, path: "shared", from: "seven", to: "codex 2" });
    project.write("mine", "human\n");
    await workspace.undo({ actor: "codex" });
    expect(project.read("shared")).toBe(text(["four", "claude 1"]));
    await workspace.undo({ actor: "claude" });
    expect(project.read("shared")).toBe(BASE);
    expect(project.read("mine")).toBe("human\n");
    await workspace.redo();
    await workspace.redo();
    expect(project.read("shared")).toBe(text(["one", "codex 1"], ["four", "claude 1"], ["seven", "codex 2"]));
  });

  it("a shell's rm -rf of a whole folder is undone while the next action stays", async () => {
    await using project = new Project();
    project.write("src/a", "a\n");
    project.write("src/deep/b", "b\n", 0o755);
    const workspace = await project.init();
    const before = project.tree();
    const id = await workspace.action({ type: "run_command", payload: { command: "rm -rf src" } }, (action) => {
      project.remove("src");
      return action?.id ?? "";
    });
    await workspace.action({ type: "write_file", payload: { path: "later" } }, () => project.write("later", "x\n"));
    await workspace.undo({ action: id });
    expect(project.read("later")).toBe("x\n");
    project.remove("later");
    expect(project.tree()).toEqual(before);
  });

  it("an ambiguous change is not undone with a turn, session or actor, but with its file", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    const command = { type: "run_command", payload: { command: "make" }, actor: "agent" };
    const one = await workspace.snapshotAction({ ...command, session: "s1", turn: "t1" });
    const two = await workspace.snapshotAction({ ...command, session: "s2", turn: "t2" });
    project.write("f", "somebody's\n");
    await workspace.finishAction(one?.id ?? "");
    await workspace.finishAction(two?.id ?? "");
    for (const meant of [{ turn: "t2" }, { session: "s2" }, { actor: "agent" }, { actor: "ambiguous" }])
      expect((await workspace.undo(meant)).changes, JSON.stringify(meant)).toEqual([]);
    expect(project.read("f")).toBe("somebody's\n");
    await workspace.undo({ file: "f" });
    expect(project.read("f")).toBe("f\n");
  });

  it("a change that only calls of one turn can have made belongs to the turn and session, even if one call never ran", async () => {
    for (const selection of [{ turn: "last" }, { turn: "t" }, { session: "s" }]) {
      await using project = new Project();
      project.write("f", "f\n");
      const workspace = await project.init();
      const of = { type: "run_command", payload: { command: "make" }, actor: "codex", session: "s", turn: "t" };
      await workspace.snapshotAction({ ...of, toolCall: "declined" });
      const made = await workspace.snapshotAction({ ...of, toolCall: "made" });
      project.write("f", "made\n");
      await workspace.finishAction(made?.id ?? "");
      await workspace.abandonActions({ session: "s" });
      expect((await workspace.undo({ action: "made" })).changes).toEqual([]);
      expect(await workspace.changes(selection)).toMatchObject({ changes: [{ path: "f" }], ambiguous: [] });
      expect((await workspace.undo({ ...selection, dryRun: true })).changes).toMatchObject([{ path: "f" }]);
      await workspace.undo(selection);
      expect(project.read("f")).toBe("f\n");
      const again = "turn" in selection ? { turn: "t" } : selection;
      expect((await workspace.undo(again)).notes).toEqual([expect.stringContaining("undone already")]);
      await workspace.redo();
      expect(project.read("f")).toBe("made\n");
    }
  });

  it("an action of a run is undone alone, and the undo of the run then undoes the rest", async () => {
    await using project = new Project();
    project.write("f", BASE);
    const workspace = await project.init();
    const watch = await workspace.watch();
    const id = await edit(project, workspace, { path: "f", from: "one", to: "ONE" });
    project.write("f", project.read("f").replace("seven", "SEVEN"));
    await watch.stop();
    await workspace.undo({ action: id });
    expect(project.read("f")).toBe(text(["seven", "SEVEN"]));
    await workspace.undo({ session: watch.sessionId });
    expect(project.read("f")).toBe(BASE);
  });

  it("work that was undone already is not undone again, by either kind of undo", async () => {
    await using project = new Project();
    project.write("f", BASE);
    const workspace = await project.init();
    const of = { path: "f", actor: "claude" };
    await edit(project, workspace, { ...of, from: "one", to: "uno" });
    const second = await edit(project, workspace, { ...of, from: "uno", to: "eins" });
    await workspace.undo({ action: second });
    expect(project.read("f")).toBe(text(["one", "uno"]));
    expect((await workspace.undo({ actor: "claude" })).unmerged).toEqual([]);
    expect(project.read("f")).toBe(BASE);
    await workspace.redo();
    await workspace.redo();
    expect(project.read("f")).toBe(text(["one", "eins"]));
    await workspace.undo({ operation: second });
    expect((await workspace.undo({ action: second })).notes).toEqual([expect.stringContaining("undone already")]);
    expect(project.read("f")).toBe(text(["one", "uno"]));
  });

  it("an undo that left a folder because of a person's file removes the folder when it is asked again", async () => {
    await using project = new Project();
    project.write("a", "a\n");
    const workspace = await project.init();
    const id = await workspace.action({ type: "create_directory", payload: { path: "made" } }, (action) => {
      project.write("made/x", "x\n");
      return action?.id ?? "";
    });
    project.write("made/mine", "mine\n");
    expect((await workspace.undo({ action: id })).skipped).toMatchObject([{ path: "made", reason: "not-empty" }]);
    project.remove("made/mine");
    await workspace.undo({ action: id });
    expect(Object.keys(project.tree())).toEqual(["a"]);
    expect((await workspace.undo({ action: id })).changes).toEqual([]);
  });
});
