/**
 * Whole sessions of agents, from the inputs in `test/agents/payloads`. Each file has the source of its inputs. Between
 * the beginning and the end of a call, this test does what the call is about.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claude } from "../../src/hooks/claude.ts";
import { copilot } from "../../src/hooks/copilot.ts";
import { cursor } from "../../src/hooks/cursor.ts";
import type { HookAdapter } from "../../src/hooks/hook-call.ts";
import { answerHook } from "../../src/hooks/answer-hook.ts";
import { Project } from "../helpers/project.ts";
import { MapNotes } from "./hooked-agent.ts";

type Input = Readonly<Record<string, unknown>>;

interface Payloads {
  readonly source: string;
  readonly date: string;
  readonly inputs: readonly Input[];
}

/** Returns the recorded inputs, with the folder of a project in place of `/p`. */
function inputsOf(agent: string, folder: string): readonly Input[] {
  const text = readFileSync(join(import.meta.dirname, "../agents/payloads", `${agent}.json`), "utf8");
  const { source, date, inputs } = JSON.parse(text) as Payloads;
  expect(source, agent).toMatch(/\w/);
  expect(date, agent).toMatch(/^\d{4}-\d\d-\d\d$/);
  const placed = JSON.stringify(inputs).replaceAll(/"\/p(?=["/])/g, `"${folder}`);
  return JSON.parse(placed) as readonly Input[];
}

/** Does what a call is about, as the tool would. */
function work(project: Project, input: Input): void {
  const tool = JSON.stringify(input["tool_input"]);
  if (tool.includes("+four")) project.write("a.txt", "four\n");
  else if (tool.includes("sub.txt")) project.write("sub.txt", "sub\n");
  else if (tool.includes("c.txt")) project.write("c.txt", "three\n");
  else if (tool.includes("hello")) project.write("b.txt", "hello\n");
  else if (/"new_str":"two"|"content":"two/.test(tool)) project.write("a.txt", "two\n");
}

/** Answers all inputs of a session, and returns the answers of the hook. */
async function replay(project: Project, inputs: readonly Input[], adapter: HookAdapter): Promise<string[]> {
  const workspace = await project.open({ create: true, role: "agent" });
  const notes = new MapNotes();
  const answers: string[] = [];
  for (const input of inputs) {
    const request = { adapter, notes, owner: null, open: () => Promise.resolve(workspace), strict: true };
    const more = { guarded: { folders: [], variables: {} }, lastPrompt: () => undefined };
    const { stdout, problem } = await answerHook({ ...request, ...more, input: JSON.stringify(input) });
    expect(problem, JSON.stringify(input)).toBeUndefined();
    answers.push(stdout);
    if (/^pre/i.test(String(input["hook_event_name"]))) work(project, input);
  }
  return answers;
}

async function recorded(project: Project) {
  const workspace = await project.open();
  const [actions, turns] = [await workspace.list(), await workspace.turns()];
  const shown = actions.map(({ action_summary, state, actor, changed }) => [action_summary, state, actor, changed]);
  return { workspace, actions, turns, shown };
}

it("a command that only a person may give is refused, in the form of each agent", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const parts = { notes: new MapNotes(), owner: null, open: () => Promise.resolve(workspace), strict: false };
  for (const [adapter, agent, refusal] of [
    [
      copilot,
      "copilot",
      /^\{"permissionDecision":"deny","permissionDecisionReason":"Chronicle: an agent may not do this/,
    ],
    [cursor, "cursor", /^\{"permission":"deny","user_message":"Chronicle: an agent may not do this/],
  ] as const) {
    const [call] = inputsOf(agent, project.folder).filter((one) => /^(Bash|Shell)$/.test(String(one["tool_name"])));
    const input = JSON.stringify({ ...call, tool_input: { command: "chronicle gc" } });
    const answer = await answerHook({
      ...parts,
      adapter,
      guarded: { folders: [], variables: {} },
      lastPrompt: () => undefined,

      input,
    });
    expect(answer).toMatchObject({ blocked: true, stdout: expect.stringMatching(refusal) as string });
  }
});

describe("a session of Copilot CLI, from recorded inputs", () => {
  it.each([copilot, claude])("is recorded call by call, with its prompts, by the hooks of $title", async (adapter) => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const answers = await replay(project, inputsOf("copilot", project.folder), adapter);
    expect(new Set(answers)).toEqual(new Set([""]));
    const { workspace, actions, turns, shown } = await recorded(project);
    expect(shown).toEqual([
      ["write_file: b.txt", "done", "copilot", 1],
      ["write_file: a.txt", "done", "copilot", 1],
      ["run_command: echo three > c.txt; exit 3", "failed", "copilot", 1],
      ["write_file: a.txt", "failed", "copilot", 0],
      ["apply_patch: a.txt", "done", "copilot", 1],
      ["run_command: echo sub > sub.txt", "done", "copilot", 1],
    ]);
    expect(new Set(actions.map(({ session }) => session)).size).toBe(3);
    // A sub-agent has run the last one, in the session and the turn of the agent that has started it.
    expect(actions.map((action) => action.recursion_depth)).toEqual([0, 0, 0, 0, 0, 1]);
    expect(actions.at(-1)).toMatchObject({ session: turns[0]?.session, turn: turns[0]?.turn });
    expect(turns.map(({ prompt, actor, transcript }) => [prompt, actor, transcript])).toEqual([
      ["ask another agent", "copilot", null],
      ["and a patch", "copilot", null],
      ["make it two", "copilot", null],
    ]);
    await workspace.undo({ turn: turns[2]?.turn ?? "" });
    expect([project.read("a.txt"), Object.keys(project.tree())]).toEqual(["four\n", ["a.txt", "sub.txt"]]);
  });

  it("tells its user a message by a line of progress, and refuses a tool with a decision", () => {
    expect([copilot.goOn(), copilot.goOn("careful"), copilot.block("no")]).toEqual([
      "",
      '{"type":"progress","message":"careful"}',
      '{"permissionDecision":"deny","permissionDecisionReason":"no"}',
    ]);
  });
});

describe("a session of Cursor, from documented inputs", () => {
  it.each([cursor, claude])("is recorded call by call, with its prompt, by the hooks of $title", async (adapter) => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const answers = await replay(project, inputsOf("cursor", project.folder), adapter);
    // Cursor refuses a tool whose hook prints nothing, if the hook must not fail.
    expect(new Set(answers)).toEqual(new Set(['{"continue":true}']));
    const { workspace, actions, turns, shown } = await recorded(project);
    expect(shown).toEqual([
      ["write_file: b.txt", "done", "cursor", 1],
      ["write_file: a.txt", "done", "cursor", 1],
      ["run_command: echo three > c.txt; exit 3", "failed", "cursor", 1],
      ["write_file: none.txt", "failed", "cursor", 0],
    ]);
    expect(actions.map(({ tool_call }) => tool_call)).toEqual(["tool_57cc", "tool_dde3", "09dca0a5", "tool_11aa"]);
    expect(turns).toMatchObject([{ prompt: "make it two", turn: actions[0]?.turn, session: actions[0]?.session }]);
    expect(turns[0]?.transcript).toContain("agent-transcripts");
    await workspace.undo({ session: actions[0]?.session ?? "" });
    expect([project.read("a.txt"), Object.keys(project.tree())]).toEqual(["one\n", ["a.txt"]]);
  });

  it("takes a tool without a name by its input, and leaves Chronicle's own tools alone", () => {
    const base = { conversation_id: "c", workspace_roots: ["/p"], hook_event_name: "preToolUse", tool_use_id: "t" };
    expect(cursor.read({ ...base, tool_input: { file_path: "a.txt" } }).action?.payload).toEqual({ path: "/p/a.txt" });
    expect(cursor.read({ ...base, tool_input: { other: 1 } }).action).toEqual({ type: "tool", payload: {} });
    for (const tool_name of ["MCP:status", "MCP:chronicle_undo", "Task"])
      expect(cursor.read({ ...base, tool_name, tool_input: {} }).kind, tool_name).toBe("none");
    for (const tool_name of ["MCP:deploy", "MCP:undo", "MCP:restore", "MCP:redo", "MCP:rollback"])
      expect(cursor.read({ ...base, tool_name, tool_input: {} }).kind, tool_name).toBe("before");
    const kindOf = (more: object) => cursor.read({ ...base, tool_name: "MCP:undo", tool_input: {}, ...more }).kind;
    expect([{ server: "chronicle" }, { command: "/opt/chronicle mcp" }, { server: "db" }].map(kindOf)).toEqual([
      ...["none", "none", "before"],
    ]);
    expect(() => cursor.read({ ...base, workspace_roots: [] })).toThrow("there is no workspace_roots");
  });

  it("is refused a tool in words for its user and for its model", () => {
    expect(JSON.parse(cursor.block("no"))).toEqual({ permission: "deny", user_message: "no", agent_message: "no" });
    expect(JSON.parse(cursor.goOn("careful"))).toEqual({ continue: true, user_message: "careful" });
  });
});
