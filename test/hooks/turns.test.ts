import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claude } from "../../src/hooks/claude.ts";
import { exportArchive } from "../../src/open.ts";
import { cline } from "../../src/hooks/cline.ts";
import { copilot } from "../../src/hooks/copilot.ts";
import { codex } from "../../src/hooks/codex.ts";
import { gemini } from "../../src/hooks/gemini.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { Project } from "../helpers/project.ts";
import { Agent, quiet } from "./hooked-agent.ts";

const DAY_MINUTES = 24 * 60;

/** Returns the bytes of all lines of the log below a folder. */
function logText(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".wal"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}

interface QueuedCall {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

describe("what a person asks an agent", () => {
  it("is kept with its turn, for persons only, and stands in no line of the log", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    const asked = { prompt_id: "t1", prompt: "\nrefactor the parser\nand its tests", transcript_path: "/t/s1.jsonl" };
    quiet(await agent.hears("UserPromptSubmit", asked));
    await agent.writes("a.txt", "two\n", "c1");
    const workspace = await project.open();
    const [turn, ...others] = await workspace.turns();
    expect(others).toEqual([]);
    expect(turn).toMatchObject({
      ...{ turn: "t1", session: "s1", actor: "claude", actions: 1, changed: 1, paths: ["a.txt"], undone: "no" },
      ...{ prompt: asked.prompt, prompt_state: "kept", transcript: "/t/s1.jsonl", message: "t1", short_id: "t1" },
    });
    const [hidden] = await workspace.as({ role: "agent", actor: "claude" }).turns();
    expect(hidden).toMatchObject({ turn: "t1", prompt: null, prompt_state: "hidden", transcript: null, message: null });
    const log = logText(project.home);
    expect(log).toContain("turn:s1:t1");
    expect(log).not.toMatch(/refactor|jsonl/);
    const [event] = await workspace.log({ prefix: "turn:" });
    const record: unknown = event?.record;
    const { prompt } = record as { readonly prompt: { readonly content: string } };
    await expect(workspace.blob(prompt.content)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("is masked where it holds a secret, and cut after 16 KiB between two characters", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const prompt = `push with ${secret}\n${"é".repeat(9_000)}`;
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1", prompt }));
    const [turn] = await (await project.open()).turns();
    expect(turn).toMatchObject({ prompt_cut: true, prompt_state: "kept" });
    expect(turn?.prompt?.startsWith("push with ***\né")).toBe(true);
    expect(turn?.prompt?.endsWith("é")).toBe(true);
    expect(16 * 1024 - Buffer.byteLength(turn?.prompt ?? "")).toBeLessThan(2);
  });

  it("is read from Cline's conversation at the first call that answers it", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const messages: object[] = [];
    const conversation = (): string => JSON.stringify({ messages });
    const agent = new Agent(cline, project, { conversation });
    const asks = (id: string, text: string): void => {
      const said = { type: "text", text: `<user_input mode="act">${text}</user_input>` };
      messages.push({ id, role: "user", content: [said] }, { role: "user", content: [{ type: "tool_result" }] });
    };
    const calls = async (id: string, content: string): Promise<void> => {
      const more = { sessionContext: { rootSessionId: "s1" }, sessions: "/h/.cline/data/sessions" };
      const call = { id, name: "editor", input: { path: project.at("a.txt") } };
      // The hooks may be installed twice: for the user, and in the project.
      for (const _ of [1, 2])
        expect((await agent.hears("PreToolUse", { ...more, tool_call: call })).stdout).toBe('{"cancel":false}');
      project.write("a.txt", content);
      for (const _ of [1, 2])
        expect((await agent.hears("PostToolUse", { ...more, tool_result: call })).stdout).toBe('{"cancel":false}');
    };
    asks("m1", "make it two");
    await calls("c1", "two\n");
    await calls("c2", "2\n");
    // Cline does not tell the end of a session, so that the session ends here and goes on.
    await agent.hears("TaskComplete", { sessionContext: { rootSessionId: "s1" } });
    asks("m2", "make it three");
    await calls("c3", "three\n");
    const transcript = "/h/.cline/data/sessions/s1/s1.messages.json";
    expect(await (await project.open()).turns()).toMatchObject([
      { turn: "m2", session: "s1", actor: "cline", actions: 1, prompt: "make it three", transcript, message: "m2" },
      { turn: "m1", session: "s1", actor: "cline", actions: 2, prompt: "make it two", transcript, message: "m1" },
    ]);
    expect((await (await project.open()).list()).map(({ state }) => state)).toEqual(["done", "done", "done"]);
  });

  it("is answered by calls in a queue, if Cline calls all hooks before the tools of a message first", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const agent = new Agent(cline, project);
    const hears = async (event: string, call: QueuedCall, iteration = 1): Promise<void> => {
      const more = { sessionContext: { rootSessionId: "s1" }, iteration, tool_call: call, tool_result: call };
      expect((await agent.hears(event, more)).stdout).toBe('{"cancel":false}');
    };
    const run = (id: string): QueuedCall => ({ id, name: "run_commands", input: { commands: [`make ${id}`] } });
    const edit = (id: string): QueuedCall => ({ id, name: "editor", input: { path: project.at("a.txt") } });
    const works = [edit("c1"), run("c2"), run("c3"), edit("c4")];
    for (const call of works) await hears("PreToolUse", call);
    for (const call of works) {
      project.write(call.name === "editor" ? "a.txt" : `${call.id}.txt`, `${call.id}\n`);
      await hears("PostToolUse", call);
    }
    // The ends of the first call of the next message, and of a later one, are not reported.
    for (const id of ["d1", "d2", "d3", "d4", "d5"]) await hears("PreToolUse", run(id), 2);
    for (const call of [run("d2"), run("d5")]) {
      project.write(`${call.id}.txt`, "x\n");
      await hears("PostToolUse", call, 2);
    }
    await hears("PreToolUse", run("e1"), 3);
    const workspace = await project.open();
    const actions = await workspace.list();
    const changed = await Promise.all(actions.map(({ id }) => workspace.diffAction(id)));
    expect(
      actions.map(({ tool_call, state }, n) => [tool_call, state, changed[n]?.changes.map(({ path }) => path)]),
    ).toEqual([
      ["c1", "done", ["a.txt"]],
      ["c2", "done", ["c2.txt"]],
      ["c3", "done", ["c3.txt"]],
      ["c4", "done", ["a.txt"]],
      ["d1", "failed", ["d2.txt"]],
      ["d2", "done", []],
      ["d3", "failed", ["d5.txt"]],
      ["d4", "denied", []],
      ["d5", "done", []],
      ["e1", "open", []],
    ]);
    await workspace.undo({ action: actions[3]?.id ?? "" });
    expect(project.read("a.txt")).toBe("c1\n");
  });

  it("has no call without a snapshot right before it, if Cline's hook is strict", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const agent = new Agent(cline, project, { strict: true });
    const lenient = new Agent(cline, project, { open: () => project.open({ create: true, role: "agent" }) });
    lenient.answering = agent.notes;
    const told = (call: QueuedCall, iteration: number): object => {
      return { sessionContext: { rootSessionId: "s1" }, iteration, tool_call: call, tool_result: call };
    };
    const edit = (id: string): QueuedCall => ({ id, name: "editor", input: { path: project.at("a.txt") } });
    const run = (id: string): QueuedCall => ({ id, name: "run_commands", input: { commands: ["make"] } });
    const [first, second, third] = [edit("c1"), run("c2"), edit("c3")].map((call) => told(call, 1));
    expect((await agent.hears("PreToolUse", first)).blocked).toBe(false);
    const refused = await agent.hears("PreToolUse", second);
    expect([refused.blocked, refused.problem]).toEqual([true, expect.stringContaining("call it again, alone")]);
    expect(JSON.parse(refused.stdout)).toHaveProperty("overrideInput.commands");
    // The hooks of the project are not strict, and those of the user are.
    expect((await lenient.hears("PreToolUse", third)).blocked).toBe(false);
    expect((await agent.hears("PreToolUse", third)).blocked).toBe(true);
    // The end of the first call is not reported, and those of the refused ones are.
    project.write("a.txt", "two\n");
    quiet({ ...(await agent.hears("PostToolUse", second)), stdout: "" });
    quiet({ ...(await agent.hears("PostToolUse", third)), stdout: "" });
    expect((await agent.hears("PreToolUse", told(run("c4"), 2))).blocked).toBe(false);
    project.write("a.txt", "three\n");
    quiet({ ...(await agent.hears("PostToolUse", told(run("c4"), 2))), stdout: "" });
    const workspace = await project.open();
    const actions = await workspace.list();
    expect(actions.map(({ tool_call: call }) => call)).toEqual(["c1", "c4"]);
    await workspace.undo({ action: actions[1]?.id ?? "" });
    expect(project.read("a.txt")).toBe("two\n");
  });

  it("runs each call that is alone, if Cline's hook is strict and installed twice", async () => {
    await using project = new Project();
    const agent = new Agent(cline, project, { strict: true });
    const input = { commands: ["make"] };
    const [first, second, third] = ["c1", "c2", "c3"].map((id, n) => {
      const call = { id, name: "run_commands", input };
      return { sessionContext: { rootSessionId: "s1" }, iteration: n < 2 ? 1 : 2, tool_call: call, tool_result: call };
    });
    const hear = async (name: string, call: object | undefined): Promise<boolean[]> => {
      const blocked: boolean[] = [];
      for (const _hook of ["user's", "project's"]) blocked.push((await agent.hears(name, call)).blocked);
      return blocked;
    };
    expect(await hear("PreToolUse", first)).toEqual([false, false]);
    expect(await hear("PreToolUse", second)).toEqual([true, true]);
    project.write("a.txt", "one\n");
    for (const call of [first, second]) await hear("PostToolUse", call);
    expect(await hear("PreToolUse", third)).toEqual([false, false]);
    await hear("PostToolUse", third);
    const actions = await (await project.open()).list();
    expect(actions.map(({ tool_call: call, state }) => [call, state])).toEqual([
      ["c1", "done"],
      ["c3", "done"],
    ]);
  });

  it("is told by Codex and Gemini CLI as well", async () => {
    await using project = new Project();
    const open = () => project.open({ create: true, role: "agent" });
    const [one, other] = [new Agent(codex, project, { open }), new Agent(gemini, project, { open })];
    quiet(await one.hears("UserPromptSubmit", { session_id: "x1", turn_id: "u1", prompt: "from Codex" }));
    const told = { session_id: "g1", timestamp: "2030-01-01T00:00:00.000Z", prompt: "from Gemini" };
    await other.hears("BeforeAgent", told);
    const turns = await (await project.open()).turns();
    expect(turns.map(({ actor, prompt, turn }) => [actor, prompt, turn])).toEqual([
      ["gemini", "from Gemini", "g1-2030-01-01T00_00_00.000Z"],
      ["codex", "from Codex", "u1"],
    ]);
  });

  it("is one turn if two installed hooks report it, with and without an id of the turn", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    for (const asked of [{ prompt_id: "t1", prompt: "first" }, { prompt: "second" }]) {
      for (const _hook of ["user's", "project's"]) quiet(await agent.hears("UserPromptSubmit", asked));
      project.write("a.txt", `${asked.prompt}\n`);
    }
    const turns = await (await project.open()).turns();
    expect(turns.map(({ prompt }) => prompt)).toEqual(["second", "first"]);
  });

  it("is one turn if Copilot CLI tells it to its own hooks and to those of Claude Code, at different times", async () => {
    await using project = new Project();
    const open = () => project.open({ create: true, role: "agent" });
    const [own, other] = [new Agent(copilot, project, { open }), new Agent(claude, project, { open })];
    other.answering = own.notes;
    const tell = async (prompt: string, seconds: string): Promise<void> => {
      quiet(await own.hears("UserPromptSubmit", { prompt, timestamp: `2030-01-01T00:00:${seconds}.001Z` }));
      quiet(await other.hears("UserPromptSubmit", { prompt, timestamp: `2030-01-01T00:00:${seconds}.002Z` }));
    };
    await tell("go on", "01");
    quiet(await own.hears("Stop", { timestamp: "2030-01-01T00:00:02.000Z" }));
    await tell("go on", "03");
    await tell("more", "04");
    const turns = await (await project.open()).turns();
    expect(turns.map(({ prompt, turn }) => [prompt, turn])).toEqual([
      ["more", "s1-2030-01-01T00_00_04.001Z"],
      ["go on", "s1-2030-01-01T00_00_03.001Z"],
      ["go on", "s1-2030-01-01T00_00_01.001Z"],
    ]);
  });

  it("begins a turn that stays, although the call of a sub-agent ends at the same time", async () => {
    await using project = new Project();
    project.write("a.txt", "0\n");
    const workspace = project.open({ create: true, role: "agent" });
    // The hook after the sub-agent's call reads the note, and opens the workspace only after the next turn has begun.
    let late: Promise<void> | undefined;
    const open = async () => {
      await late;
      return workspace;
    };
    const agent = new Agent(copilot, project, { open });
    const asks = (prompt: string) => agent.hears("UserPromptSubmit", { prompt, timestamp: prompt });
    const edit = { tool_name: "Write", tool_input: { path: project.at("a.txt") } };
    const ofSubAgent = { ...edit, agent_id: "sub", parent_agent_id: "s1" };
    quiet(await asks("1"));
    quiet(await agent.hears("PreToolUse", ofSubAgent));
    quiet(await agent.hears("Stop"));
    project.write("a.txt", "1\n");
    const begun = Promise.withResolvers<void>();
    late = begun.promise;
    const ends = agent.hears("PostToolUse", ofSubAgent);
    late = undefined;
    quiet(await asks("2"));
    begun.resolve();
    quiet(await ends);
    quiet(await agent.hears("PreToolUse", edit));
    project.write("a.txt", "2\n");
    quiet(await agent.hears("PostToolUse", edit));
    expect((await (await workspace).list()).map(({ turn, state }) => [turn, state])).toEqual([
      ["s1-1", "done"],
      ["s1-2", "done"],
    ]);
  });

  it("begins a turn of its own without an id, also if nothing was recorded since the message before", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    quiet(await agent.hears("UserPromptSubmit", { prompt: "first" }));
    project.write("hand.txt", "by a person\n");
    quiet(await agent.hears("UserPromptSubmit", { prompt: "second" }));
    quiet(await agent.hears("Stop"));
    quiet(await agent.hears("UserPromptSubmit", { prompt: "second" }));
    const turns = await (await project.open()).turns();
    expect(turns.map(({ prompt }) => prompt)).toEqual(["second", "second", "first"]);
  });

  it("does not stop the agent if it cannot be recorded, and the agent tells why", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const open = () =>
      Promise.resolve(
        new Proxy(workspace, {
          get: (target, key): unknown => {
            if (key === "startTurn") return () => workspace.startTurn({ session: "s1", turn: "no id" });
            const value: unknown = Reflect.get(target, key, target);
            return typeof value === "function" ? (value.bind(target) as unknown) : value;
          },
        }),
      );
    const agent = new Agent(claude, project, { open, strict: true });
    const { blocked, stdout } = await agent.hears("UserPromptSubmit", { prompt_id: "t1", prompt: "go" });
    expect(blocked).toBe(false);
    expect(stdout).toContain("the beginning of this turn is not recorded");
  });
});

describe("a person's edit that a hook is the first to see", () => {
  it("is the person's, before a prompt and before a tool, and an undo of the agent's work leaves it", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    project.write("before-prompt.txt", "by a person\n");
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1", prompt: "go" }));
    project.write("before-tool.txt", "by a person\n");
    await agent.runs("make", () => project.write("agents.txt", "by the agent\n"), "c1");
    const workspace = await project.open();
    const actors = async (path: string) => (await workspace.history(path)).map(({ actor }) => actor);
    expect(await actors("before-prompt.txt")).toEqual(["human"]);
    expect(await actors("before-tool.txt")).toEqual(["human"]);
    expect(await actors("agents.txt")).toEqual(["claude"]);
    const { items } = await workspace.recent();
    expect(items.filter(({ kind }) => kind === "edit").map(({ who }) => who)).toEqual(["person"]);
    for (const actor of ["agent", "claude"]) await workspace.undo({ actor }).catch(() => undefined);
    expect([project.read("before-prompt.txt"), project.read("before-tool.txt")]).toEqual([
      "by a person\n",
      "by a person\n",
    ]);
  });
});

describe("a recorded prompt", () => {
  const start = { session: "s1", turn: "t1", prompt: "keep it short" };

  it("is gone after thirty days: gc frees it, and verify does not miss it", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    await workspace.startTurn(start);
    project.pass(29 * DAY_MINUTES);
    await workspace.gc();
    expect((await workspace.turns())[0]).toMatchObject({ prompt: "keep it short" });
    project.pass(2 * DAY_MINUTES);
    expect((await workspace.turns())[0]).toMatchObject({ prompt: null, prompt_state: "gone" });
    expect((await workspace.gc()).freed_blobs).toBeGreaterThan(0);
    expect((await workspace.verify()).ok).toBe(true);
  });

  it("that was freed is no damage after recordPrompts is on again, and an export leaves it out", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    await workspace.startTurn(start);
    await workspace.configure({ recordPrompts: false });
    project.pass(2 * DAY_MINUTES);
    await workspace.gc();
    await workspace.configure({ recordPrompts: true });
    await workspace.startTurn({ ...start, turn: "t2", prompt: "kept again" });
    expect((await workspace.verify()).problems).toEqual([]);
    const file = join(project.base, "history.chronicle");
    await exportArchive(await project.store(), workspace.id, { file, withPrivate: true });
    expect((await workspace.turns()).map((one) => one.prompt_state)).toEqual(["kept", "gone"]);
    await workspace.gc();
    expect((await workspace.turns())[0]).toMatchObject({ prompt: "kept again" });
  });

  it("is not kept at all with recordPrompts off, and what was kept before is freed", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    await workspace.startTurn(start);
    await workspace.configure({ recordPrompts: false });
    await workspace.startTurn({ ...start, turn: "t2", prompt: "not this" });
    expect((await workspace.turns()).map((one) => one.prompt_state)).toEqual(["none", "gone"]);
    expect((await workspace.config()).recordPrompts).toBe(false);
  });
});
