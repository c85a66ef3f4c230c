import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Project } from "../helpers/project.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";

const HOUR_MS = 3_600_000;
const COMMAND = { type: "run_command", payload: { command: "make" }, pid: null };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

function later(hours: number): void {
  vi.setSystemTime(Date.now() + hours * HOUR_MS);
}

async function stateOf(workspace: WorkspaceApi, id = ""): Promise<[string, string | undefined]> {
  const { state, reason } = await workspace.showAction(id);
  return [state, reason];
}

describe("an action that no process owns and nobody finishes", () => {
  it("blocks compact with dropArchive for a day, and the refusal says so; then it is abandoned", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    const action = await workspace.snapshotAction(COMMAND);
    await expect(workspace.compact({ dropArchive: true })).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("run_command: make"),
      hint: expect.stringContaining("24 hours"),
    });
    later(23);
    await expect(workspace.compact({ dropArchive: true })).rejects.toMatchObject({ code: "REFUSED" });
    later(2);
    await workspace.compact({ dropArchive: true });
    expect(await stateOf(workspace, action?.id)).toEqual(["abandoned", "nobody finished the action within 24 hours"]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("owns no changes that are made after that day", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    const action = await workspace.snapshotAction(COMMAND);
    project.write("f", "its own\n");
    await workspace.snapshot();
    later(25);
    project.write("g", "somebody's\n");
    await workspace.snapshot();
    expect((await workspace.history("g"))[0]?.action).toBeUndefined();
    expect((await workspace.history("f")).at(-1)?.action).toBe(action?.id);
    expect((await stateOf(workspace, action?.id))[0]).toBe("abandoned");
  });

  it("can be finished later all the same", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    const action = await workspace.snapshotAction(COMMAND);
    later(25);
    await workspace.snapshot();
    project.write("f", "its own\n");
    const { changes } = await workspace.finishAction(action?.id ?? "");
    expect(changes.map((one) => one.path)).toEqual(["f"]);
    expect(await stateOf(workspace, action?.id)).toEqual(["done", undefined]);
  });
});

describe("an action that is finished after more than that day", () => {
  it("owns what it has changed, also if nothing else was done in between", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    const action = await workspace.snapshotAction(COMMAND);
    project.write("f", "its own\n");
    later(25);
    const { changes } = await workspace.finishAction(action?.id ?? "");
    expect(changes.map((one) => one.path)).toEqual(["f"]);
    expect((await workspace.history("f")).at(-1)?.action).toBe(action?.id);
  });
});

describe("an agent's session that nobody ends", () => {
  it("is abandoned together with its last action", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    await workspace.snapshotAction({ ...COMMAND, session: "s" });
    later(25);
    await workspace.compact({ dropArchive: true });
    expect((await workspace.sessions()).map((one) => one.state)).toEqual(["abandoned"]);
  });

  it("stays running as long as one of its actions is open that a process owns", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ ...COMMAND, session: "s", pid: process.pid });
    later(25);
    await expect(workspace.compact({ dropArchive: true })).rejects.toMatchObject({ code: "REFUSED" });
    expect((await workspace.sessions()).map((one) => one.state)).toEqual(["running"]);
    expect(await stateOf(workspace, action?.id)).toEqual(["open", undefined]);
  });

  it("blocks compact with dropArchive until a day after its last action", async () => {
    await using project = new Project();
    project.write("f", "f\n");
    const workspace = await project.init();
    const write = { type: "write_file", payload: { path: "f" }, session: "s", pid: null };
    await workspace.action(write, () => project.write("f", "1\n"));
    later(23);
    await workspace.action(write, () => project.write("f", "2\n"));
    later(23);
    await expect(workspace.compact({ dropArchive: true })).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("session s"),
      hint: expect.stringContaining("24 hours"),
    });
    later(2);
    await workspace.compact({ dropArchive: true });
    expect((await workspace.sessions()).map((one) => one.state)).toEqual(["abandoned"]);
    await workspace.action(write, () => project.write("f", "3\n"));
    expect((await workspace.sessions()).map((one) => one.state)).toEqual(["running"]);
  });
});
