import { describe, expect, it } from "vitest";
import { claude } from "../../src/hooks/claude.ts";
import { cline } from "../../src/hooks/cline.ts";
import { codex } from "../../src/hooks/codex.ts";
import { gemini } from "../../src/hooks/gemini.ts";
import { opencode } from "../../src/hooks/opencode.ts";
import { patchPaths } from "../../src/hooks/tool-table.ts";

/** Inputs as the real programs wrote them (Claude Code 2.1, Codex 0.169, Gemini CLI 0.61), shortened. */

const CLAUDE = {
  session_id: "72a480a0-4b38-4072-b642-f84d11f97b12",
  transcript_path: "/home/u/.claude/projects/-p/72a480a0.jsonl",
  cwd: "/p",
  prompt_id: "1707c617-2482-4bbe-a0ca-c6dfbeaf2331",
  permission_mode: "acceptEdits",
};
const CODEX = {
  session_id: "01a200f8-cb06-7312-9150-296e6ca85e9b",
  turn_id: "01a200f8-cb28-7e71-9e0e-06a9316a7cb6",
  cwd: "/p",
  model: "gpt-5.5",
};
const GEMINI = { session_id: "9ce0cc40-f844-4402-ba90-0e4a351f6bcb", cwd: "/p", timestamp: "2026-11-22T01:59:21.880Z" };

const claudeTool = (event: string, tool: string, input: object, more: object = {}) =>
  claude.read({
    ...CLAUDE,
    hook_event_name: event,
    tool_name: tool,
    tool_input: input,
    tool_use_id: "toolu_01",
    ...more,
  });
const codexTool = (event: string, tool: string, input: object) =>
  codex.read({ ...CODEX, hook_event_name: event, tool_name: tool, tool_input: input, tool_use_id: "call_1" });
const geminiTool = (event: string, tool: string, input: object, more: object = {}) =>
  gemini.read({ ...GEMINI, hook_event_name: event, tool_name: tool, tool_input: input, ...more });

describe("Claude Code's hooks", () => {
  it("begin and end sessions and turns", () => {
    const kinds = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact"].map(
      (hook_event_name) => claude.read({ ...CLAUDE, hook_event_name }).kind,
    );
    expect(kinds).toEqual(["session-start", "turn-start", "turn-end", "session-end", "none"]);
  });

  it("bracket a tool call by its id, in its turn", () => {
    expect(claudeTool("PreToolUse", "Write", { file_path: "/p/hello.txt", content: "hello v1\n" })).toEqual({
      kind: "before",
      session: CLAUDE.session_id,
      turn: CLAUDE.prompt_id,
      cwd: "/p",
      lane: "",
      depth: 0,
      toolCall: "toolu_01",
      action: { type: "write_file", payload: { path: "/p/hello.txt" } },
    });
    expect(claudeTool("PostToolUse", "Write", { file_path: "/p/hello.txt" })).toMatchObject({
      kind: "after",
      toolCall: "toolu_01",
      outcome: "done",
    });
  });

  it("know edits, notebooks and the shell", () => {
    const payloads = [
      claudeTool("PreToolUse", "Edit", { file_path: "src/a.ts" }),
      claudeTool("PreToolUse", "NotebookEdit", { notebook_path: "/p/n.ipynb" }),
      claudeTool("PreToolUse", "Bash", { command: "rm -rf build", description: "x" }),
    ].map((call) => call.action);
    expect(payloads).toEqual([
      { type: "write_file", payload: { path: "/p/src/a.ts" } },
      { type: "write_file", payload: { path: "/p/n.ipynb" } },
      { type: "run_command", payload: { command: "rm -rf build", cwd: "/p" } },
    ]);
  });

  it("begin no action for a tool that only reads, nor for Chronicle's own tools", () => {
    for (const tool of ["Read", "Glob", "Grep", "TodoWrite", "WebFetch", "mcp__chronicle__undo"]) {
      expect(claudeTool("PreToolUse", tool, {}).kind, tool).toBe("none");
    }
    expect(claudeTool("PreToolUse", "mcp__plugin_chronicle_chronicle__undo", {}).kind).toBe("none");
  });

  it("treat an unknown tool as one that may change anything", () => {
    const type = "mcp__files__move";
    expect(claudeTool("PreToolUse", type, { from: "a" }).action).toEqual({ type, payload: {} });
  });

  it("say how a tool failed", () => {
    const failed = claudeTool("PostToolUseFailure", "Bash", { command: "exit 3" }, { error: "Exit code 3" });
    expect(failed).toMatchObject({ kind: "after", outcome: "failed", reason: "Exit code 3" });
  });

  it("tell a sub-agent from the main one", () => {
    const call = claudeTool("PreToolUse", "Write", { file_path: "a" }, { agent_id: "sub1" });
    expect(call).toMatchObject({ lane: "sub1", depth: 1 });
  });

  it("are answered with nothing, a message, or a denial", () => {
    expect(claude.goOn()).toBe("");
    expect(JSON.parse(claude.goOn("careful"))).toEqual({ systemMessage: "careful" });
    expect(JSON.parse(claude.block("no"))).toEqual({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: "no",
      },
    });
  });

  it("refuse an input that no agent writes", () => {
    for (const input of [
      null,
      1,
      [],
      {},
      { hook_event_name: "PreToolUse" },
      { ...CLAUDE, hook_event_name: "PreToolUse" },
    ]) {
      expect(() => claude.read(input), JSON.stringify(input)).toThrow(/this is not what an agent gives/);
    }
  });
});

describe("Codex's hooks", () => {
  it("recognise its shell commands and its patches", () => {
    expect(codexTool("PreToolUse", "Bash", { command: "echo hi > cx.txt" }).action).toEqual({
      type: "run_command",
      payload: { command: "echo hi > cx.txt", cwd: "/p" },
    });
    const command = "*** Begin Patch\n*** Add File: p.txt\n+patched\n*** End Patch";
    const line = `apply_patch <<'EOF'\n${command}\nEOF\n`;
    expect(codexTool("PreToolUse", "Bash", { command: line }).action).toMatchObject({
      type: "run_command",
      unsaid: true,
    });
    expect(codexTool("PreToolUse", "Bash", { command: `${line}rm -rf x` }).action?.unsaid).toBeUndefined();
    expect(codexTool("PreToolUse", "apply_patch", { command })).toMatchObject({
      turn: CODEX.turn_id,
      toolCall: "call_1",
      action: { type: "write_file", payload: { path: "/p/p.txt" }, summary: "apply_patch: p.txt" },
    });
  });

  it("recognise a patch in a shell line as Codex does: under both names, and in another folder", () => {
    const patch = "*** Begin Patch\n*** Add File: p.txt\n+x\n*** Update File: /abs\n*** End Patch";
    const of = (line: string): unknown => {
      const { unsaid, payload } = codexTool("PreToolUse", "Bash", { command: line }).action ?? { payload: {} };
      return unsaid === true ? payload.paths : undefined;
    };
    const here = (before: string): unknown => of(`${before}<<'EOF'\n${patch}\nEOF\n`);
    expect(here("applypatch ")).toEqual(["/p/p.txt", "/abs"]);
    for (const folder of ["sub", "./sub/", '"sub"', "'sub'", "/p/sub"])
      expect(here(`cd ${folder} && apply_patch `), folder).toEqual(["/p/sub/p.txt", "/abs"]);
    expect(here("cd 'a b' &&apply_patch ")).toEqual(["/p/a b/p.txt", "/abs"]);
    for (const before of [
      "cd sub; ",
      "cd sub || ",
      "cd a b && ",
      "cd $HOME && ",
      "cd ~ && ",
      "cd a && cd b && ",
      "x && ",
    ])
      expect(here(`${before}apply_patch `), before).toBeUndefined();
    expect(of(`cd sub && apply_patch <<'EOF'\n${patch}\nEOF\nrm -rf x`)).toBeUndefined();
  });

  it("find every path of a patch", () => {
    const command = [
      "*** Begin Patch",
      "*** Update File: src/a.ts",
      "*** Move to: src/b.ts",
      "@@",
      "-*** Add File: not-a-header",
      "+x",
      "*** Delete File: old.txt",
      "*** Add File: name with spaces",
      "+y",
      "*** End Patch",
    ].join("\n");
    expect(patchPaths(command)).toEqual(["src/a.ts", "src/b.ts", "old.txt", "name with spaces"]);
    expect(codexTool("PreToolUse", "apply_patch", { command }).action?.payload.paths).toEqual([
      "/p/src/a.ts",
      "/p/src/b.ts",
      "/p/old.txt",
      "/p/name with spaces",
    ]);
  });

  it("capture everything for a patch that names no path", () => {
    expect(codexTool("PreToolUse", "apply_patch", { command: "nonsense" }).action).toEqual({
      type: "apply_patch",
      payload: {},
    });
  });

  it("take the command line out of a list of words", () => {
    const given = codexTool("PreToolUse", "shell", { command: ["bash", "-lc", "rm x"], workdir: "sub" });
    expect(given.action?.payload).toEqual({ command: "rm x", cwd: "/p/sub" });
    expect(codexTool("PreToolUse", "shell", { command: ["rm", "x"] }).action?.payload.command).toBe("rm x");
  });
});

describe("Gemini CLI's hooks", () => {
  it("pair before and after by the tool and the input of the call", () => {
    const input = { file_path: "/p/g.txt", content: "hi\n" };
    const before = geminiTool("BeforeTool", "write_file", input);
    const after = geminiTool("AfterTool", "write_file", input, { tool_response: { llmContent: "ok" } });
    expect(before.action).toEqual({ type: "write_file", payload: { path: "/p/g.txt" } });
    expect(after).toMatchObject({ kind: "after", outcome: "done", toolCall: before.toolCall });
    expect(geminiTool("BeforeTool", "write_file", { ...input, content: "ho" }).toolCall).not.toBe(before.toolCall);
  });

  it("make an id for each turn, because Gemini CLI gives none", () => {
    const turn = gemini.read({ ...GEMINI, hook_event_name: "BeforeAgent", prompt: "do it" });
    expect(turn).toMatchObject({ kind: "turn-start", startsTurn: "9ce0cc40-2026-11-22T01_59_21.880Z" });
    expect(gemini.read({ ...GEMINI, hook_event_name: "AfterAgent" }).kind).toBe("turn-end");
  });

  it("recognise a failure by the text of the answer", () => {
    const shell = { llmContent: "<untrusted_context>\nOutput: (empty)\nExit Code: 4\n</untrusted_context>" };
    const edit = { error: { message: "no match", type: "edit_no_occurrence_found" } };
    const outcomes = [shell, edit, { llmContent: "Exit Code: 0" }].map((tool_response) => {
      const { outcome, reason } = geminiTool("AfterTool", "run_shell_command", { command: "x" }, { tool_response });
      return [outcome, reason];
    });
    expect(outcomes).toEqual([
      ["failed", "exit code 4"],
      ["failed", "no match"],
      ["done", undefined],
    ]);
  });

  it("print JSON whatever happens", () => {
    expect(JSON.parse(gemini.goOn())).toEqual({});
    expect(JSON.parse(gemini.block("no"))).toEqual({ decision: "deny", reason: "no" });
    expect(geminiTool("BeforeTool", "read_file", {}).kind).toBe("none");
    const own = geminiTool("BeforeTool", "undo", {}, { mcp_context: { server_name: "chronicle" } });
    expect(own.kind).toBe("none");
  });
});

describe("the calls of the plugin for opencode", () => {
  const tool = (event: string, name: string, input: object, more: object = {}) =>
    opencode.read({
      session_id: "ses_dd7c4053bffeO0RcIKa15AmGIx",
      prompt_id: "msg_2283bfd74001eHn7Bj0gJNIpO0",
      cwd: "/p",
      hook_event_name: event,
      tool_name: name,
      tool_input: input,
      tool_use_id: "call_0",
      ...more,
    });

  it("have the paths and commands of its tools", () => {
    const read = (name: string, input: object) => tool("PreToolUse", name, input).action;
    for (const name of ["write", "edit"]) {
      expect(read(name, { filePath: "/p/a.txt" })).toEqual({ type: "write_file", payload: { path: "/p/a.txt" } });
    }
    expect(read("bash", { command: "make", description: "builds", workdir: "sub" })?.payload).toEqual({
      command: "make",
      cwd: "/p/sub",
    });
    const patchText = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.txt\n*** End Patch";
    expect(read("apply_patch", { patchText })?.payload).toEqual({ path: "/p/a.txt", paths: ["/p/a.txt", "/p/b.txt"] });
    expect(read("my-server_deploy", {})).toEqual({ type: "my-server_deploy", payload: {} });
  });

  it("say nothing of tools that change nothing, and of Chronicle's own", () => {
    for (const name of ["read", "grep", "task", "todowrite", "chronicle_undo"])
      expect(tool("PreToolUse", name, {}).kind, name).toBe("none");
  });

  it("name the sub-agent, and the reason of a failed call", () => {
    const more = { agent_id: "ses_dd7c3c9e7ffel1xgbrcOmm3eP7", error: "exit code 3" };
    expect(tool("PostToolUseFailure", "bash", { command: "false" }, more)).toMatchObject({
      kind: "after",
      lane: "ses_dd7c3c9e7ffel1xgbrcOmm3eP7",
      depth: 1,
      toolCall: "call_0",
      outcome: "failed",
      reason: "exit code 3",
    });
  });
});

describe("Cline's hooks", () => {
  const input = (event: string, more: object): object => ({
    clineVersion: "",
    taskId: "conv_1795983915590_r2ixnuf",
    sessionContext: { rootSessionId: "1795983915484_bl680" },
    workspaceRoots: ["/p"],
    agent_id: "agent_1795983915569_2xbkkl",
    parent_agent_id: null,
    iteration: 2,
    hook_event_name: event,
    ...more,
  });
  const before = (name: string, given: unknown, more: object = {}) =>
    cline.read(input("PreToolUse", { tool_call: { id: "call_0", name, input: given }, ...more }));
  const after = (output: unknown, more: object = {}) => {
    const call = { id: "call_0", name: "run_commands", input: { commands: ["x"] }, output, ...more };
    return cline.read(input("PostToolUse", { tool_result: call }));
  };

  it("have the session, the folder and the id of the call", () => {
    expect(before("editor", { path: "src/a.txt", new_text: "x" }, { cwd: "/p/sub" })).toEqual({
      ...{
        queue: " 2",
        kind: "before",
        session: "1795983915484_bl680",
        cwd: "/p/sub",
        lane: "",
        depth: 0,
        toolCall: "call_0",
      },
      action: { type: "write_file", payload: { path: "/p/sub/src/a.txt" } },
    });
  });

  it("end a session with each turn of the main agent, because Cline does not tell its end", () => {
    for (const event of ["TaskComplete", "TaskError", "TaskCancel", "SessionShutdown"]) {
      expect(cline.read(input(event, {}))).toMatchObject({ kind: "session-end", cwd: "/p" });
      expect(cline.read(input(event, { parent_agent_id: "agent_1" })).kind).toBe("turn-end");
    }
  });

  it("have commands in several forms", () => {
    const line = (given: unknown) => before("run_commands", given).action?.payload.command;
    expect(line({ commands: ["make", "make test"] })).toBe("make\nmake test");
    expect(line({ commands: [{ command: "git", args: ["commit", "-m", "a b"] }] })).toBe("git commit -m 'a b'");
    for (const one of [{ commands: "make" }, { command: "make" }, { cmd: "make" }, ["make"], "make"])
      expect(line(one), JSON.stringify(one)).toBe("make");
    expect(line({ command: "rm", args: ["-r", "x"] })).toBe("rm -r x");
    expect(before("run_commands", { commands: ["make"] }).action?.payload.cwd).toBe("/p");
  });

  it("have the paths of a patch, and nothing of tools that change nothing or are Chronicle's", () => {
    const patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch";
    for (const given of [{ input: patch }, patch])
      expect(before("apply_patch", given).action?.payload).toEqual({ path: "/p/a.txt" });
    for (const name of ["read_files", "spawn_agent", "team_task", "chronicle__undo"])
      expect(before(name, {}).kind, name).toBe("none");
    expect(before("other__deploy", {}).action).toEqual({ type: "other__deploy", payload: {} });
  });

  it("tell a failed call by its output, of one command or of several", () => {
    expect(after([{ success: true }])).toMatchObject({ kind: "after", outcome: "done" });
    const failed = { success: false, error: "Command exited with code 3" };
    expect(after([{ success: true }, failed])).toMatchObject({ outcome: "failed", reason: failed.error });
    expect(after({ success: false, result: "" })).toMatchObject({ outcome: "failed", reason: "it failed" });
    expect(after({ error: "x" }, { error: "[object Object]" })).toMatchObject({ outcome: "failed" });
  });

  it("name the sub-agent", () => {
    const more = { agent_id: "agent_2", parent_agent_id: "agent_1" };
    expect(before("editor", { path: "a" }, more)).toMatchObject({ lane: "agent_2", depth: 1 });
  });

  it("lead to the conversation before a tool, and take the last message of the person from it", () => {
    const hook = input("PreToolUse", {
      sessions: "/h/sessions",
      tool_call: { id: "c", name: "editor", input: { path: "a" } },
    });
    const path = "/h/sessions/1795983915484_bl680/1795983915484_bl680.messages.json";
    expect(cline.conversation?.pathFor(hook)).toBe(path);
    expect(cline.conversation?.pathFor(input("PostToolUse", { sessions: "/h/sessions" }))).toBeUndefined();
    const message = (id: string, role: string, text: string) => ({ id, role, content: [{ type: "text", text }] });
    const messages = [
      message("m1", "user", '<user_input mode="act">one</user_input>'),
      message("m2", "user", '<user_input mode="act">two\nlines</user_input>'),
      message("m3", "user", '<hook_context source="PreToolUse">x</hook_context>'),
      message("m4", "assistant", '<user_input mode="act">three</user_input>'),
      {
        id: "m5",
        role: "user",
        content: [{ type: "tool_result", content: '<user_input mode="act">four</user_input>' }],
      },
    ];
    expect(cline.read(hook, cline.conversation?.lastPrompt(JSON.stringify({ messages })))).toMatchObject({
      ...{ turn: "m2", prompt: { text: "two\nlines", message: "m2", transcript: path } },
    });
    for (const text of ["", "[]", "{}", '{"messages":[null,{"role":"user"}]}'])
      expect(cline.conversation?.lastPrompt(text), text).toBeUndefined();
  });

  it("stop one tool by an input that does nothing, or else the whole turn", () => {
    const answer = (name: string): unknown => JSON.parse(cline.block("it's gone", before(name, { path: "a" })));
    expect(answer("run_commands")).toEqual({
      ...{ cancel: false, contextModification: "it's gone" },
      overrideInput: { commands: [String.raw`printf '%s\n' 'it'\''s gone' >&2; exit 1`] },
    });
    expect(answer("editor")).toEqual({ cancel: false, contextModification: "it's gone", overrideInput: {} });
    expect(answer("other__deploy")).toEqual({ cancel: true, errorMessage: "it's gone" });
    expect(JSON.parse(cline.block("no"))).toEqual({ cancel: true, errorMessage: "no" });
  });
});
