import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { AgentHome } from "../helpers/agent-home.ts";

interface Recorded {
  readonly session: string | null;
  readonly tool_call: string | null;
  readonly state: string;
}

const SETTINGS = "home/.claude/settings.json";

describe("Truth: an id that is given whole means only itself", { timeout: 300_000 }, () => {
  it("an agent's session is recorded and ended by its id, although the id of another session begins with it", async () => {
    await using home = new AgentHome();
    home.must("init");
    home.must("agents", "install", "claude", "--strict");
    const fire = (event: string, session: string, call: string) =>
      home.fire(home.hookCommand(SETTINGS, event), event, { session_id: session, tool_use_id: call });
    for (const session of ["run-42", "run-4"]) {
      expect(fire("PreToolUse", session, `call of ${session}`), session).toMatchObject({ code: 0, err: "" });
      home.put("project/a.txt", session);
      expect(fire("PostToolUse", session, `call of ${session}`), session).toMatchObject({ code: 0, err: "" });
    }
    // This session has never begun here, so its end must not end another one.
    expect(fire("SessionEnd", "run", "")).toMatchObject({ code: 0, err: "" });
    const actions = home.json("actions") as { items?: readonly Recorded[] } & readonly Recorded[];
    expect((actions.items ?? actions).map((one) => [one.session, one.state])).toEqual(
      expect.arrayContaining([
        ["run-42", "done"],
        ["run-4", "done"],
      ]),
    );
    const states = (): Record<string, string> => {
      const sessions = home.json("sessions") as readonly { session_id: string; state: string }[];
      return Object.fromEntries(sessions.map((one) => [one.session_id, one.state]));
    };
    expect(states()).toEqual({ "run-42": "running", "run-4": "running" });
    expect(fire("SessionEnd", "run-4", "")).toMatchObject({ code: 0, err: "" });
    expect(states()).toEqual({ "run-42": "running", "run-4": "ended" });
    home.must("undo", "--session", "run-4", "-y");
    expect(home.read("project/a.txt")).toBe("run-42");
  });

  it("a session's whole id names that session, also as a moment, although other ids begin with it", async () => {
    using box = new Sandbox();
    box.write("a", "0\n");
    await box.must(["init"]);
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
    const workspace = await store.open({ folder: box.project });
    for (const id of ["run-42", "run-4", "run-41"]) {
      await workspace.startSession({ id, actor: "agent" });
      box.write("a", `${id}\n`);
      await workspace.snapshot();
    }
    expect((await workspace.session("run-4")).session_id).toBe("run-4");
    await expect(workspace.endSession("run")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await workspace.endSession("run-4")).session_id).toBe("run-4");
    const states = (await workspace.sessions()).map((one) => [one.session_id, one.state]);
    expect(states).toEqual([
      ["run-42", "running"],
      ["run-4", "ended"],
      ["run-41", "running"],
    ]);
    await expect(workspace.session("run-")).rejects.toMatchObject({ code: "AMBIGUOUS" });
    await expect(workspace.session(randomUUID())).rejects.toMatchObject({ code: "NOT_FOUND" });
    // As a moment, a session is the state before it began.
    await workspace.restore("run-4");
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("run-42\n");
    await workspace.close();
    await store.close();
  });
});
