import { describe, expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { ActionRequest } from "../../api/action-api.ts";
import type { ActionShape } from "../../api/action-shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

async function begun(workspace: WorkspaceApi, request: ActionRequest): Promise<ActionShape> {
  const action = await workspace.snapshotAction(request);
  if (action === null) throw new Error("there was nothing to keep");
  return action;
}

const write = (path: string, more: Partial<ActionRequest> = {}): ActionRequest => ({
  type: "write_file",
  payload: { path },
  ...more,
});
const command = (line: string, more: Partial<ActionRequest> = {}): ActionRequest => ({
  type: "run_command",
  payload: { command: line },
  ...more,
});

/** Returns the author of each iteration of a file. */
async function authors(workspace: WorkspaceApi, path: string): Promise<(string | undefined)[]> {
  return (await workspace.history(path)).map((one) => one.action ?? one.actor);
}

describe("whose work a change is", () => {
  test("a person's edit between two edits of an agent is the person's", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const first = await begun(workspace, write("a"));
    project.write("a", "agent 1");
    await workspace.finishAction(first.id);
    project.write("a", "a person");
    const second = await begun(workspace, write("a"));
    project.write("a", "agent 2!");
    await workspace.finishAction(second.id);
    const [baseline, ...rest] = await authors(workspace, "a");
    expect(rest).toEqual([first.id, baseline, second.id]);
  });

  test("two agents in one folder have their own changes, even if one of them runs a command", async () => {
    await using project = new Project();
    project.write("a", "0");
    project.write("b", "0");
    const workspace = await project.init();
    const one = await begun(workspace, write("a", { session: "one" }));
    const two = await begun(workspace, command("make", { session: "two" }));
    project.write("a", "by the first");
    project.write("b", "by the command");
    const ended = await workspace.finishAction(two.id);
    expect(ended.changes.map((change) => change.path)).toEqual(["b"]);
    expect((await workspace.finishAction(one.id)).changes.map((change) => change.path)).toEqual(["a"]);
    expect((await authors(workspace, "a")).at(-1)).toBe(one.id);
    expect((await authors(workspace, "b")).at(-1)).toBe(two.id);
  });

  test("a change during two commands is ambiguous, with both as candidates, and belongs to neither", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const one = await begun(workspace, command("one", { session: "one" }));
    const two = await begun(workspace, command("two", { session: "two" }));
    project.write("a", "by whom?");
    const ended = await workspace.finishAction(one.id);
    expect(ended).toMatchObject({ changes: [], ambiguous: ["a"], action: { changed: 0 } });
    expect(await workspace.finishAction(two.id)).toMatchObject({ changes: [], ambiguous: ["a"] });
    const [event] = await workspace.log({ prefix: "file:a", reverse: true, limit: 1 });
    expect(event?.record).toMatchObject({ actor: "ambiguous", candidates: [one.id, two.id] });
    for (const selection of [{ action: one.id }, { action: two.id }, { session: "one" }, { actor: "agent" }])
      expect(await workspace.changes(selection)).toMatchObject({ changes: [], ambiguous: ["a"] });
    expect(await workspace.changes({ file: "a" })).toMatchObject({ changes: [{ path: "a" }], ambiguous: [] });
  });

  test("a change of a path that two open actions declare is ambiguous", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const one = await begun(workspace, write("a", { session: "one" }));
    const two = await begun(workspace, write("a", { session: "two" }));
    project.write("a", "by whom?");
    expect(await workspace.finishAction(one.id)).toMatchObject({ changes: [], ambiguous: ["a"] });
    expect(await workspace.finishAction(two.id)).toMatchObject({ changes: [], ambiguous: ["a"] });
  });

  test("a sub-agent's call is within the call that started it", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const outer = await begun(workspace, { type: "task", payload: {}, session: "s" });
    const inner = await begun(workspace, command("make", { session: "s", depth: 1 }));
    project.write("a", "by the inner one");
    expect((await workspace.finishAction(inner.id)).changes).toHaveLength(1);
    project.write("b", "by the outer one");
    expect((await workspace.finishAction(outer.id)).changes.map((one) => one.path)).toEqual(["b"]);
  });

  test.each([false, true])(
    "a change by sub-agents of two calls at once belongs to neither call (within another call: %s)",
    async (isWithin) => {
      await using project = new Project();
      project.write("a", "0");
      const workspace = await project.init();
      const rivals = async (): Promise<readonly string[]> => {
        await begun(workspace, write("x", { session: "s" }));
        await begun(workspace, command("make", { session: "s" }));
        const one = await begun(workspace, write("a", { session: "s", depth: 2 }));
        const two = await begun(workspace, write("a", { session: "s", depth: 2 }));
        project.write("a", "by whom?");
        await workspace.finishAction(one.id);
        return [one.id, two.id];
      };
      const around = { type: "task", payload: {}, session: "s", actor: "ann" };
      const candidates = isWithin ? await workspace.action(around, rivals) : await rivals();
      const [event] = await workspace.log({ prefix: "file:a", reverse: true, limit: 1 });
      expect(event?.record).toMatchObject({ actor: isWithin ? "ann" : "ambiguous", candidates });
    },
  );

  test("an action within a run is part of the run, and an undo of the run undoes it", async () => {
    await using project = new Project();
    project.write("a", "0");
    project.write("b", "0");
    const workspace = await project.init();
    const other = await project.open();
    const running = workspace.run({
      command: ["sh", "-c", "echo plain > b; while [ ! -e go ]; do sleep 0.05; done; rm go"],
      cwd: project.folder,
    });
    await expect.poll(async () => (await other.sessions()).some((one) => one.state === "running")).toBe(true);
    const action = await begun(other, write("a"));
    project.write("a", "by the tool");
    await other.finishAction(action.id);
    project.write("go", "");
    const done = await running;
    expect(done.changes.map((one) => one.path)).toEqual(["a", "b"]);
    expect((await other.operations()).map((one) => one.kind)).toEqual(["run"]);
    await workspace.undo();
    expect([project.read("a"), project.read("b")]).toEqual(["0", "0"]);
  });

  test("a change in a transaction that no action made belongs to the transaction", async () => {
    await using project = new Project();
    project.write("a", "0");
    project.write("b", "0");
    const workspace = await project.init();
    const transaction = await workspace.beginTransaction();
    const action = await begun(workspace, write("a"));
    expect(action.transaction_id).toBe(transaction.id);
    project.write("a", "by the tool");
    await workspace.finishAction(action.id);
    project.write("b", "plain");
    await workspace.snapshot();
    const [event] = await workspace.log({ prefix: "file:b", reverse: true, limit: 1 });
    expect(event?.record).toMatchObject({ cause: "transaction", transaction: transaction.id });
    await workspace.rollbackTransaction(transaction.id);
    expect([project.read("a"), project.read("b")]).toEqual(["0", "0"]);
  });
});

describe("actions that nobody finishes", () => {
  test("an action whose process is gone is abandoned by the next one, and is done if it is finished late", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const gone = await begun(workspace, write("a", { pid: 2 ** 22 + 7 }));
    await workspace.snapshotAction(write("b"));
    expect(await workspace.showAction(gone.id)).toMatchObject({ state: "abandoned", changed: 0 });
    project.write("a", "late");
    const late = await workspace.finishAction(gone.id);
    expect(late).toMatchObject({ action: { state: "done", changed: 1 }, changes: [{ path: "a" }] });
  });

  test("a new turn abandons the actions of earlier turns with their changes, and leaves other sessions alone", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const stopped = await begun(workspace, write("a", { session: "s", turn: "1", pid: null }));
    const other = await begun(workspace, write("c", { session: "other", turn: "1", pid: null }));
    project.write("a", "half done");
    await begun(workspace, write("b", { session: "s", turn: "2" }));
    expect(await workspace.showAction(stopped.id)).toMatchObject({ state: "abandoned", changed: 1 });
    expect((await authors(workspace, "a")).at(-1)).toBe(stopped.id);
    expect(await workspace.showAction(other.id)).toMatchObject({ state: "open" });
  });

  test("the end of a session abandons its open actions", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const action = await begun(workspace, command("make", { session: "s", pid: null }));
    project.write("a", "half done");
    const ended = await workspace.endSession("s");
    expect(ended).toMatchObject({ state: "ended", changed: 1 });
    expect(await workspace.showAction(action.id)).toMatchObject({ state: "abandoned", changed: 1 });
    expect(await workspace.endSession("s")).toEqual(ended);
    expect(await workspace.startSession({ id: "s" })).toMatchObject({ session_id: "s", state: "running", ended: null });
  });

  test("abandoning the actions of a turn returns the ids of those that were open", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const first = await begun(workspace, write("a", { session: "s", turn: "1", pid: null }));
    const second = await begun(workspace, write("b", { session: "s", turn: "2", pid: null }));
    expect(await workspace.showAction(first.id)).toMatchObject({ state: "abandoned" });
    expect(await workspace.abandonActions({ session: "s", turn: "1" })).toEqual([]);
    expect(await workspace.abandonActions({ session: "s", turn: "2", reason: "stopped" })).toEqual([second.id]);
    expect(await workspace.showAction(second.id)).toMatchObject({ state: "abandoned", reason: "stopped" });
  });

  test("a session id that is invalid, or that names a run, is refused", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    for (const session of ["", "../x", "a/b", "a\0b", "x".repeat(129), "."]) {
      await expect(workspace.startSession({ id: session })).rejects.toMatchObject({ code: "USAGE" });
      await expect(workspace.snapshotAction(write("a", { session }))).rejects.toMatchObject({ code: "USAGE" });
    }
    const run = await workspace.run({ command: ["true"] });
    await expect(workspace.snapshotAction(write("a", { session: run.session.session_id }))).rejects.toMatchObject({
      code: "USAGE",
    });
  });
});
