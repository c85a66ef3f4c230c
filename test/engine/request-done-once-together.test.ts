import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/**
 * Two processes may carry out one request at the same time: a command line that has lost the store's process does the
 * command itself, and that process may then wake up in the middle of the same command.
 */

type Step = (on: WorkspaceApi, action: string) => Promise<unknown>;

const STEPS: readonly (readonly [string, Step])[] = [
  ["restore", (on) => on.restore("baseline")],
  ["undo", (on) => on.undo()],
  ["redo", (on) => on.redo()],
  ["rollback", (on, action) => on.rollback(action)],
  ["undo of a selection", (on, action) => on.undo({ action })],
  ["write", (on) => on.putFile("h", Buffer.from("h\n"))],
  ["deletion", (on) => on.deleteFile("f")],
  ["move", (on) => on.moveFile("f", "h")],
  ["snapshot", (on) => on.snapshot({ name: "named", message: "a message" })],
];

/** Returns the answer without the members that differ if the request was done before. */
function partsOf(answer: unknown): unknown {
  const { notes: _notes, operation: _operation, seq: _seq, ...rest } = answer as Record<string, unknown>;
  return rest;
}

describe("one request in two processes at the same time", () => {
  it.each(STEPS)("%s is done once", async (name, step) => {
    await using project = new Project();
    project.write("f", "one\n");
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "f" } });
    project.write("f", "two\n");
    await workspace.finishAction(action?.id ?? "");
    await workspace.putFile("g", Buffer.from("g\n"));
    await workspace.undo();
    const second = await project.open();
    const from = (await workspace.head()).seq + 1;
    const views = [workspace, second].map((on) => on.as({ requestId: "r" }));
    const both = await Promise.all(views.map((on) => step(on, action?.id ?? "")));
    expect(partsOf(both[1])).toEqual(partsOf(both[0]));
    const ids = (await workspace.log({ from })).map((event) => event.record_id);
    const done = ids.filter((id) => /^(?:intent|snapshot):/.test(id));
    // Most operations open an intent and close it.
    const events = name === "snapshot" ? 1 : 2;
    expect(done).toEqual(Array(events).fill(done[0]));
    expect((await workspace.verify()).ok).toBe(true);
  });
});
