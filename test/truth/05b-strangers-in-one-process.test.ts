import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

/** One process that serves several agents: what one agent begins is not within what another one has open. */
describe("Truth 5: strangers in one process", () => {
  it("a run beside another session's open call is not part of it, and undo of the call leaves the run's work", async () => {
    await using project = new Project();
    project.write("a", "before\n");
    const workspace = await project.init();
    const call = await workspace.snapshotAction({
      type: "write_file",
      payload: { path: "a" },
      actor: "ann",
      session: "s-ann",
    });
    project.write("a", "ann\n");
    const ran = await workspace.run({ command: ["sh", "-c", "echo bob > b"] });
    expect(ran).toMatchObject({ changes: [{ path: "b" }], ambiguous: [] });
    const { changes } = await workspace.finishAction(call?.id ?? "");
    expect(changes.map((one) => one.path)).toEqual(["a"]);
    await workspace.undo({ action: call?.id ?? "" });
    expect([project.read("a"), project.read("b")]).toEqual(["before\n", "bob\n"]);
  });

  it("the changes of a run beside another session's open command are ambiguous", async () => {
    await using project = new Project();
    project.write("a", "before\n");
    const workspace = await project.init();
    const call = await workspace.snapshotAction({
      type: "run_command",
      payload: { command: "make" },
      actor: "ann",
      session: "s-ann",
    });
    const ran = await workspace.run({ command: ["sh", "-c", "echo bob > b"] });
    expect(ran).toMatchObject({ changes: [], ambiguous: ["b"] });
    await workspace.finishAction(call?.id ?? "");
    await workspace.undo({ action: call?.id ?? "" });
    expect(project.read("b")).toBe("bob\n");
  });

  it("a run in the function of an action(…) is within it; a run beside the function is not", async () => {
    await using project = new Project();
    project.write("a", "before\n");
    const workspace = await project.init();
    const [begun, mayEnd] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    const call = workspace.action({ type: "write_file", payload: { path: "a" }, session: "s-ann" }, async (action) => {
      await workspace.run({ command: ["sh", "-c", "echo inner > inner"] });
      begun.resolve(action?.id ?? "");
      await mayEnd.promise;
    });
    const id = await begun.promise;
    await workspace.run({ command: ["sh", "-c", "echo bob > b"] });
    mayEnd.resolve();
    await call;
    const { changes } = await workspace.changes({ action: id });
    expect(changes.map((one) => one.path)).toEqual(["inner"]);
    await workspace.undo({ action: id });
    expect(Object.keys(project.tree()).sort()).toEqual(["a", "b"]);
  });

  it("an action in the function of another one is within it", async () => {
    await using project = new Project();
    project.write("a", "before\n");
    const workspace = await project.init();
    const make = { type: "run_command", payload: { command: "make" } };
    const ids: string[] = [];
    await workspace.action({ ...make, session: "s-ann" }, async (outer) => {
      project.write("outer", "1\n");
      await workspace.action({ ...make, session: "s-bob" }, async (inner) => {
        project.write("inner", "2\n");
        const ran = await workspace.run({ command: ["sh", "-c", "echo deep > deep"] });
        expect(ran.changes.map((one) => one.path)).toEqual(["deep"]);
        ids.push(outer?.id ?? "", inner?.id ?? "");
      });
    });
    const changesOf = async (id = ""): Promise<string[]> =>
      (await workspace.diffAction(id)).changes.map((one) => one.path);
    expect(await changesOf(ids[1])).toEqual(["deep", "inner"]);
    expect(await changesOf(ids[0])).toEqual(["deep", "inner", "outer"]);
    await workspace.undo({ action: ids[0] ?? "" });
    expect(Object.keys(project.tree())).toEqual(["a"]);
  });

  it("a transaction beside another session's open call is not within it, whoever owns it", async () => {
    await using project = new Project();
    project.write("a", "before\n");
    const workspace = await project.init();
    for (const owner of [{}, { pid: null }]) {
      const call = await workspace.snapshotAction({
        type: "write_file",
        payload: { path: "a" },
        actor: "ann",
        session: "s-ann",
      });
      const { id } = await workspace.beginTransaction({ name: "bob's", ...owner });
      project.write("b", "bob\n");
      await workspace.finishAction(call?.id ?? "");
      await workspace.commitTransaction(id);
      const [begun] = await workspace.log({ prefix: `transaction:${id}`, limit: 1 });
      expect(begun?.record).not.toHaveProperty("action");
      project.remove("b");
    }
  });
});
