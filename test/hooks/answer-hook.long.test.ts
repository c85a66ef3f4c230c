import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { answerHook } from "../../src/hooks/answer-hook.ts";
import { claude } from "../../src/hooks/claude.ts";
import { codex } from "../../src/hooks/codex.ts";
import { gemini } from "../../src/hooks/gemini.ts";
import { Project } from "../helpers/project.ts";
import { Agent, MapNotes, quiet } from "./hooked-agent.ts";

describe("an agent whose hooks are answered", () => {
  it("has each change attributed to its tool call, turn and session, and one call undone alone", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const agent = new Agent(claude, project);
    await agent.hears("SessionStart", { source: "startup" });
    await agent.hears("UserPromptSubmit", { prompt_id: "t1", prompt: "do it" });
    await agent.writes("a.txt", "two\n", "c1");
    await agent.writes("b.txt", "b\n", "c2");
    await agent.runs("rm a.txt", () => project.remove("a.txt"), "c3");
    await agent.hears("Stop", { prompt_id: "t1" });
    await agent.hears("SessionEnd", { reason: "other" });
    const workspace = await project.open();
    const actions = await workspace.list();
    expect(actions.map((one) => [one.tool_call, one.action_type, one.state, one.changed])).toEqual([
      ["c1", "write_file", "done", 1],
      ["c2", "write_file", "done", 1],
      ["c3", "run_command", "done", 1],
    ]);
    expect(new Set(actions.map((one) => `${one.actor} ${one.session} ${one.turn}`))).toEqual(new Set(["claude s1 t1"]));
    expect((await workspace.sessions()).find((one) => one.session_id === "s1")?.state).not.toBe("running");
    await workspace.undo({ action: "c2" });
    expect(Object.keys(project.tree())).toEqual([]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it.each([claude, codex, gemini])(
    "has a turn for each prompt, although $title gives turns no ids",
    async (adapter) => {
      await using project = new Project();
      project.write("a.txt", "0\n");
      const agent = new Agent(adapter, project);
      const [prompt, before, after] =
        adapter === gemini
          ? ["BeforeAgent", "BeforeTool", "AfterTool"]
          : ["UserPromptSubmit", "PreToolUse", "PostToolUse"];
      const shell = adapter === gemini ? "run_shell_command" : "Bash";
      const command = async (text: string): Promise<void> => {
        const call = { tool_name: shell, tool_input: { command: `echo ${text}` }, tool_use_id: `c${text}` };
        await agent.hears(before, call);
        project.write("a.txt", `${text}\n`);
        await agent.hears(after, { ...call, tool_response: {} });
      };
      await agent.hears("SessionStart", { source: "startup" });
      await command("0, before any prompt");
      for (const turn of ["1", "2"]) {
        await agent.hears(prompt, { prompt: "do it" });
        await agent.hears(prompt, { prompt: "do it, please" });
        await command(`${turn}a`);
        await command(`${turn}b`);
      }
      const workspace = await project.open();
      const turns = (await workspace.list()).map(({ turn }) => turn);
      expect([turns[1] === turns[2], turns[3] === turns[4], new Set(turns).size]).toEqual([true, true, 3]);
      expect(turns).not.toContain(undefined);
      await workspace.undo({ turn: "last" });
      expect(project.read("a.txt")).toBe("1b\n");
    },
  );

  it("leaves no action open when a call is denied, or when the turn ends during a call", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    const call = { tool_name: "Bash", tool_input: { command: "rm -rf /" }, tool_use_id: "denied", prompt_id: "t1" };
    await agent.hears("PreToolUse", call);
    await agent.writes("a.txt", "x", "c2");
    await agent.hears("PreToolUse", { ...call, tool_use_id: "cut off" });
    await agent.hears("Stop", { prompt_id: "t1" });
    const actions = await (await project.open()).list();
    expect(actions.map((one) => [one.tool_call, one.state])).toEqual([
      ["denied", "denied"],
      ["c2", "done"],
      ["cut_off", "abandoned"],
    ]);
  });

  it("has a patch in a shell line recorded as done if its file changed, although Codex reports no end of it", async () => {
    await using project = new Project();
    const agent = new Agent(codex, project);
    const patched = (file: string): string =>
      `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ${file}\n+x\n*** End Patch\nEOF`;
    const pre = (command: string, id: string) =>
      agent.hears("PreToolUse", { tool_name: "Bash", tool_input: { command }, tool_use_id: id, turn_id: "t1" });
    const post = (command: string, id: string) =>
      agent.hears("PostToolUse", { tool_name: "Bash", tool_input: { command }, tool_use_id: id, turn_id: "t1" });
    quiet(await pre(patched("a.txt"), "c1"));
    project.write("a.txt", "x\n");
    // The next call owns what it changes, although nobody knows what `make` makes.
    quiet(await pre("make", "c2"));
    project.write("made", "made\n");
    quiet(await post("make", "c2"));
    quiet(await pre(patched("b.txt"), "c3"));
    project.write("b.txt", "x\n");
    quiet(await pre(patched("refused.txt"), "c4"));
    await agent.hears("Stop", { turn_id: "t1" });
    const actions = await (await project.open()).list();
    expect(actions.map((one) => [one.tool_call, one.state, one.changed])).toEqual([
      ["c1", "done", 1],
      ["c2", "done", 1],
      ["c3", "done", 1],
      ["c4", "abandoned", 0],
    ]);
  });

  it("closes a call whose end cannot be recorded, and says so", async () => {
    await using project = new Project();
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 1024 * 1024 } });
    const workspace = await store.open({ folder: project.folder });
    const agent = new Agent(claude, project, { open: async () => workspace });
    const call = { tool_name: "Write", tool_input: { file_path: "a" }, tool_use_id: "c1", prompt_id: "t1" };
    quiet(await agent.hears("PreToolUse", call));
    project.write("a", randomBytes(2 * 1024 * 1024));
    expect((await agent.hears("PostToolUse", call)).problem).toContain("max_store_bytes");
    expect((await workspace.list()).map((one) => one.state)).toEqual(["done"]);
  });

  it("has a call recorded once, although its hooks are installed twice", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    const call = { tool_name: "Write", tool_input: { file_path: "a" }, tool_use_id: "c1", prompt_id: "t1" };
    for (const event of ["PreToolUse", "PreToolUse", "PostToolUse", "PostToolUse"]) {
      expect((await agent.hears(event, call)).problem).toBeUndefined();
    }
    expect((await (await project.open()).list()).map((one) => one.state)).toEqual(["done"]);
  });

  it.each([
    ["one process", true],
    ["two processes", false],
  ])("has a call recorded once, although both installed hooks ask at the same time, in %s", async (_, isOne) => {
    await using project = new Project();
    project.write("a", "before\n");
    await (await project.init()).close();
    const first = new Agent(claude, project);
    const second = isOne ? first : new Agent(claude, project);
    const both = async (event: string, call: object): Promise<void> => {
      for (const answer of await Promise.all([first.hears(event, call), second.hears(event, call)])) quiet(answer);
    };
    const write = { tool_name: "Write", tool_input: { file_path: "a" }, tool_use_id: "c1", prompt_id: "t1" };
    const shell = { tool_name: "Bash", tool_input: { command: "make" }, tool_use_id: "c2", prompt_id: "t1" };
    for (const [call, path] of [[write, "a"] as const, [shell, "made"] as const]) {
      await both("PreToolUse", call);
      project.write(path, "after\n");
      await both("PostToolUse", call);
    }
    const workspace = await project.open();
    expect((await workspace.list()).map((one) => [one.tool_call, one.state, one.changed])).toEqual([
      ["c1", "done", 1],
      ["c2", "done", 1],
    ]);
    await workspace.undo({ action: "c1" });
    expect(project.read("a")).toBe("before\n");
  });

  it("has a call finished, although the notes of its session were lost meanwhile", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    const call = { tool_name: "Write", tool_input: { file_path: "a" }, tool_use_id: "c1", prompt_id: "t1" };
    await agent.hears("PreToolUse", call);
    agent.notes.notes.clear();
    writeFileSync(project.at("a"), "x");
    await agent.hears("PostToolUse", call);
    const [action] = await (await project.open()).list();
    expect(action).toMatchObject({ state: "done", changed: 1 });
  });

  it("has turns without ids (Gemini), and patches of several files (Codex)", async () => {
    await using project = new Project();
    const first = new Agent(gemini, project);
    await first.hears("BeforeAgent", { timestamp: "2026-11-22T01:59:21.880Z" });
    const call = { tool_name: "write_file", tool_input: { file_path: project.at("g.txt") } };
    await first.hears("BeforeTool", call);
    project.write("g.txt", "g\n");
    expect((await first.hears("AfterTool", { ...call, tool_response: {} })).stdout).toBe("{}");
    const second = new Agent(codex, project);
    const command = "*** Begin Patch\n*** Add File: x\n+x\n*** Delete File: g.txt\n*** End Patch";
    const patch = { tool_name: "apply_patch", tool_input: { command }, tool_use_id: "call_1", turn_id: "t9" };
    await second.hears("PreToolUse", patch);
    project.write("x", "x\n");
    project.remove("g.txt");
    await second.hears("PostToolUse", { ...patch, tool_response: "ok" });
    const actions = await (await project.open()).list();
    expect(actions.map((one) => [one.actor, one.turn, one.changed])).toEqual([
      ["gemini", "s1-2026-11-22T01_59_21.880Z", 1],
      ["codex", "t9", 2],
    ]);
  });
});

describe("a session whose start is reported again", () => {
  /** Opens the workspace of a folder, and closes the one that was open before, as the installed hooks do. */
  async function opening(project: Project) {
    const store = await project.store({ role: "agent" });
    let last: WorkspaceApi | undefined;
    const open = async (folder: string, create: boolean) => {
      const opened = await store.open({ folder, create });
      await last?.close();
      return (last = opened);
    };
    return { open, close: async () => await last?.close() };
  }
  const shell = { tool_name: "Bash", tool_input: { command: "make" } };

  it("stays in its workspace, with its turn and its open calls, although its agent is elsewhere", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project, await opening(project));
    const elsewhere = join(project.base, "elsewhere");
    mkdirSync(elsewhere);
    quiet(await agent.hears("SessionStart", { source: "startup" }));
    quiet(await agent.hears("UserPromptSubmit", { prompt: "do it" }));
    quiet(await agent.hears("PreToolUse", { ...shell, tool_use_id: "c1" }));
    for (const source of ["compact", "resume"]) quiet(await agent.hears("SessionStart", { source, cwd: elsewhere }));
    project.write("made", "made\n");
    quiet(await agent.hears("PostToolUse", { ...shell, tool_use_id: "c1", cwd: elsewhere }));
    quiet(await agent.hears("PreToolUse", { ...shell, tool_use_id: "c2", cwd: elsewhere }));
    project.write("more", "more\n");
    quiet(await agent.hears("PostToolUse", { ...shell, tool_use_id: "c2", cwd: elsewhere }));
    quiet(await agent.hears("SessionEnd", { reason: "other", cwd: elsewhere }));
    expect((await (await project.store()).workspaces()).map(({ path }) => path)).toEqual([project.folder]);
    const workspace = await project.open();
    const actions = await workspace.list();
    expect(actions.map((one) => [one.tool_call, one.state, one.changed])).toEqual([
      ["c1", "done", 1],
      ["c2", "done", 1],
    ]);
    expect(new Set(actions.map(({ turn }) => turn)).size).toBe(1);
    expect((await workspace.sessions()).filter((one) => one.session_id === "s1")).toMatchObject([{ state: "ended" }]);
  });

  it.each([
    ["SessionStart", "forgotten"],
    ["SessionStart", "gone"],
    ["UserPromptSubmit", "forgotten"],
    ["PreToolUse", "forgotten"],
    ["PostToolUse", "forgotten"],
  ])("begins anew in the folder of its agent, by %s, once its workspace is %s", async (event, how) => {
    await using project = new Project();
    const { open, close } = await opening(project);
    const agent = new Agent(claude, project, { open });
    quiet(await agent.hears("SessionStart", { source: "startup" }));
    await close();
    const elsewhere = join(project.base, "elsewhere");
    mkdirSync(elsewhere);
    const store = await project.store();
    const [first] = await store.workspaces();
    if (how === "forgotten") await store.forget(first?.id ?? "");
    else project.remove(".");
    quiet(await agent.hears(event, { ...shell, tool_use_id: "c1", cwd: elsewhere }));
    expect(agent.notes.get("s1")?.workspace).toBe(elsewhere);
    const sessions = await (await store.open({ folder: elsewhere })).sessions();
    expect(sessions).toMatchObject([{ session_id: "s1", state: "running" }]);
  });
});

const WRITE = { tool_name: "Write", tool_input: { file_path: "a" }, tool_use_id: "c1", prompt_id: "t1" };

describe("a hook that cannot do its work", () => {
  const locked = (): Promise<WorkspaceApi> =>
    Promise.reject(new ChronicleError("LOCKED", "it is so", { hint: "do this" }));

  it("lets the tool run, with a message, unless it is strict", async () => {
    await using project = new Project();
    const open = locked;
    const answer = await new Agent(claude, project, { open }).hears("PreToolUse", WRITE);
    expect(answer).toMatchObject({ blocked: false, problem: "it is so (do this)" });
    expect(JSON.parse(answer.stdout)).toEqual({
      systemMessage: "Chronicle: this step is not recorded: it is so (do this)",
    });
    const strict = await new Agent(claude, project, { open, strict: true }).hears("PreToolUse", WRITE);
    expect(strict.blocked).toBe(true);
    expect(JSON.parse(strict.stdout)).toEqual(JSON.parse(claude.block("Chronicle: it is so (do this)")));
  });

  it("stops the tool even if it is not strict, when what the tool would change could not be kept", async () => {
    await using project = new Project();
    project.write("a", "precious");
    await (await project.init()).close();
    project.write("a", "more precious");
    const full = await project.store({ retention: { max_store_bytes: 1 } });
    const open = () => full.open({ folder: project.folder });
    const answer = await new Agent(claude, project, { open }).hears("PreToolUse", WRITE);
    expect(answer.blocked).toBe(true);
    expect(answer.problem).toMatch(/^the files that this step would change could not be kept: .*bytes/);
    expect(JSON.parse(answer.stdout)).toHaveProperty("hookSpecificOutput.permissionDecision", "deny");
  });

  it("never blocks an event that has happened already", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project, { open: locked, strict: true });
    for (const event of ["SessionStart", "PostToolUse", "Stop", "SessionEnd"]) {
      expect((await agent.hears(event, WRITE)).blocked, event).toBe(false);
    }
  });

  it("says that its input is no JSON", async () => {
    await using project = new Project();
    const notes = new MapNotes();
    const open = () => project.open();
    const answer = await answerHook({
      adapter: gemini,
      notes,
      owner: null,
      open,
      strict: false,
      guarded: { folders: [], variables: {} },
      lastPrompt: () => undefined,
      input: "{",
    });
    expect(answer.problem).toMatch(/it is no JSON/);
    expect(JSON.parse(answer.stdout)).toHaveProperty("systemMessage");
  });
});
