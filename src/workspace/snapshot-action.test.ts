import { describe, expect, test } from "vitest";
import { Project } from "../../test/helpers/project.ts";

describe("an action", () => {
  test("keeps what a write destroys, and what it left", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const action = await workspace.snapshotAction({
      type: "write_file",
      payload: { path: "main.go" },
      session: "s1",
      turn: "t1",
      toolCall: "c1",
    });
    expect(action).toMatchObject({
      action_type: "write_file",
      action_summary: "write_file: main.go",
      files_backed_up: ["main.go"],
      state: "open",
      previous_hash: "",
    });
    project.write("main.go", "package other\n");
    const end = await workspace.finishAction(action?.id ?? "");
    expect(end.changes).toMatchObject([{ path: "main.go", change_type: "modified" }]);
    expect(end.action).toMatchObject({ state: "done", changed: 1, hash: action?.hash });
    const again = await workspace.finishAction("c1");
    expect(again.changes).toEqual(end.changes);
    expect(await workspace.list()).toHaveLength(1);
    expect(await workspace.history("main.go")).toMatchObject([
      { iteration: 1 },
      { iteration: 2, cause: "action", actor: "agent", session: "s1", action: action?.id },
    ]);
  });
});
