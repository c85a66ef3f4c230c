import { describe, expect, it } from "vitest";
import type { ActionRequest } from "../../src/api/action-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** Makes a tool call that changes the only line of `f`. Returns the action's id. */
async function edit(
  project: Project,
  workspace: WorkspaceApi,
  of: Partial<ActionRequest> & { readonly to: string },
): Promise<string> {
  const { to, ...request } = of;
  return workspace.action({ type: "write_file", payload: { path: "f" }, session: "s", ...request }, (action) => {
    project.write("f", `${to}\n`);
    return action?.id ?? "";
  });
}

async function undoneOf(workspace: WorkspaceApi): Promise<readonly boolean[]> {
  return (await workspace.operations()).filter((one) => one.kind === "action").map((one) => one.undone);
}

describe("Truth 3: what an undo could not undo does not count as undone", () => {
  it("an undo of a turn also undoes its action with a conflict, and settles the conflict", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    const workspace = await project.init();
    const c1 = await edit(project, workspace, { to: "by c1", turn: "t1" });
    await edit(project, workspace, { to: "by c2", turn: "t1" });
    const first = await workspace.undo({ action: c1 });
    expect(first.changes).toEqual([]);
    expect(first.unmerged).toMatchObject([{ path: "f" }]);
    expect(project.read("f")).toBe("by c2\n");
    expect(await undoneOf(workspace)).toEqual([false, false]);

    const whole = await workspace.undo({ turn: "last" });
    expect(project.read("f")).toBe("before\n");
    expect(whole.unmerged).toEqual([]);
    expect(await undoneOf(workspace)).toEqual([true, true]);
    expect(await workspace.conflicts()).toEqual([]);
    await workspace.redo();
    expect(project.read("f")).toBe("by c2\n");
    expect(await undoneOf(workspace)).toEqual([false, false]);
  });

  it("an action with a conflict can be undone after the action that was in its way", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    const workspace = await project.init();
    const c1 = await edit(project, workspace, { to: "by c1", turn: "t1" });
    const c2 = await edit(project, workspace, { to: "by c2", turn: "t2" });
    await workspace.undo({ action: c1 });
    const again = await workspace.undo({ action: c1 });
    // The second undo reports the same conflict, and records no second one.
    expect(again.unmerged).toMatchObject([{ path: "f" }]);
    expect(await workspace.conflicts()).toHaveLength(1);
    await workspace.undo({ action: c2 });
    expect(project.read("f")).toBe("by c1\n");
    await workspace.undo({ action: c1 });
    expect(project.read("f")).toBe("before\n");
    expect(await undoneOf(workspace)).toEqual([true, true]);
    expect(await workspace.conflicts()).toEqual([]);
  });

  it("undo of the last turn passes a turn of which only reported conflicts are left", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    project.write("g", "before\n");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "g" }, session: "s", turn: "t1" }, () =>
      project.write("g", "by t1\n"),
    );
    await edit(project, workspace, { to: "by t2", turn: "t2" });
    project.write("f", "by a human\n");
    const met = await workspace.undo({ turn: "last" });
    expect(met).toMatchObject({ selection: "turn t2", changes: [], unmerged: [{ path: "f" }] });
    const next = await workspace.undo({ turn: "last" });
    expect(next).toMatchObject({ selection: "turn t1", changes: [{ path: "g" }] });
    expect([project.read("f"), project.read("g")]).toEqual(["by a human\n", "before\n"]);
    expect(await undoneOf(workspace)).toEqual([true, false]);
  });

  it("plain undo passes an action with a conflict; a resolve in favour of the undo undoes the action", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    project.write("g", "before\n");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "g" } }, () => project.write("g", "after\n"));
    const c = await edit(project, workspace, { to: "by c" });
    project.write("f", "by a human\n");
    await workspace.undo({ action: c });
    expect(await undoneOf(workspace)).toEqual([false, false]);
    await workspace.undo();
    expect([project.read("f"), project.read("g")]).toEqual(["by a human\n", "before\n"]);
    const [conflict] = await workspace.conflicts();
    await workspace.resolve(conflict?.id ?? "", { keep: "undo" });
    expect(project.read("f")).toBe("before\n");
    expect(await undoneOf(workspace)).toEqual([true, true]);
    expect((await workspace.undo({ action: c })).notes).toEqual([expect.stringContaining("undone already")]);
    // After an undo of the resolve, the action does not count as undone.
    await workspace.undo();
    expect(project.read("f")).toBe("by a human\n");
    expect(await undoneOf(workspace)).toEqual([true, false]);
  });

  it("a change that a resolve undid is not among the changes of an action that ends later", async () => {
    for (const keep of ["undo", "current"] as const) {
      await using project = new Project();
      project.write("f", "before\n");
      const workspace = await project.init();
      const begin = (session: string) =>
        workspace.snapshotAction({ type: "write_file", payload: { path: "f" }, session });
      const first = await begin("s");
      project.write("f", "by the first\n");
      const second = await begin("another");
      // Both actions are open, so that either may have made this change.
      project.write("f", "by one of both\n");
      await workspace.undo({ session: "s" });
      const [conflict] = await workspace.conflicts();
      expect(conflict).toMatchObject({ path: "f" });
      await workspace.resolve(conflict?.id ?? "", { keep });
      await workspace.finishAction(second?.id ?? "", { outcome: "denied" });
      const ended = await workspace.finishAction(first?.id ?? "");
      expect(ended.changes.map((one) => one.path)).toEqual(keep === "undo" ? [] : ["f"]);
    }
  });

  it("conflicts are listed in parts, and a complete id means its conflict, whatever a file is named", async () => {
    await using project = new Project();
    const names = Array.from({ length: 5 }, (_, i) => `f${i}`);
    for (const name of names) project.write(name, "before\n");
    const workspace = await project.init();
    const all = { type: "write_file", payload: { paths: names }, session: "s", turn: "t1" };
    await workspace.action({ ...all, type: "run_command" }, () => {
      for (const name of names) project.write(name, "by t1\n");
    });
    for (const name of names) project.write(name, "by a person\n");
    await workspace.snapshot();
    await workspace.undo({ turn: "t1" });
    const found = await workspace.conflicts();
    expect(found.map(({ path }) => path)).toEqual(names);
    const [first, second, third] = found;
    expect(await workspace.conflicts({ limit: 2 })).toEqual([first, second]);
    expect(await workspace.conflicts({ after: second?.id ?? "", limit: 1, patch: true })).toMatchObject([
      { id: third?.id, patch: expect.stringContaining("-by a person") },
    ]);
    expect(await workspace.conflicts({ after: found.at(-1)?.id ?? "" })).toEqual([]);
    await expect(workspace.conflicts({ after: "f0" })).rejects.toMatchObject({ code: "USAGE" });

    // A file that is named like the id of another path's conflict, and has a conflict itself.
    const name = first?.id ?? "";
    project.write(name, "before\n");
    await workspace.snapshot();
    await workspace.action({ ...all, type: "run_command", turn: "t2" }, () => project.write(name, "by t2\n"));
    project.write(name, "by a person\n");
    await workspace.snapshot();
    await workspace.undo({ turn: "t2" });
    expect(await workspace.resolve(name, { keep: "undo" })).toMatchObject({ conflict: { id: name, path: "f0" } });
    expect([project.read("f0"), project.read(name)]).toEqual(["before\n", "by a person\n"]);
    await expect(workspace.conflicts({ after: name })).rejects.toMatchObject({ code: "USAGE" });
    // The id still means only the settled conflict. The other one is found by its own id.
    await expect(workspace.resolve(name, { keep: "undo" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    const [other] = (await workspace.conflicts()).filter(({ path }) => path === name);
    expect(await workspace.resolve(other?.id ?? "", { keep: "undo" })).toMatchObject({ conflict: { path: name } });
  });
});
