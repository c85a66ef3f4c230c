import type { HookAdapter, HookCall, HookKind } from "./hook-call.ts";
import { asObject, neededText, promptIn, safeId, textAt } from "./hook-input.ts";
import { readToolCall, looks, runs, type ToolReader, writes } from "./tool-table.ts";

/**
 * Maps the tools of Claude Code 2, by their names in its hooks, to `ToolReader`s. If a tool is neither in this map nor
 * one of Chronicle's own tools, the whole workspace is captured before and after each call.
 */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  Write: writes("file_path"),
  Edit: writes("file_path"),
  MultiEdit: writes("file_path"),
  NotebookEdit: writes("notebook_path"),
  Bash: runs("command"),
  ...Object.fromEntries(
    [
      "Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite TodoRead Task Agent TaskOutput BashOutput KillShell",
      "KillBash TaskStop AskUserQuestion EnterPlanMode ExitPlanMode ListMcpResources ReadMcpResource ToolSearch",
      "ListMcpResourcesTool ReadMcpResourceTool TaskCreate TaskGet TaskList TaskUpdate SendMessage",
    ]
      .join(" ")
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

const KINDS: Readonly<Record<string, HookKind>> = {
  SessionStart: "session-start",
  SessionEnd: "session-end",
  UserPromptSubmit: "turn-start",
  Stop: "turn-end",
  PreToolUse: "before",
  PostToolUse: "after",
  PostToolUseFailure: "after",
};

/**
 * Reads the input of a hook that has the form of Claude Code's hooks. The form is known from Claude Code's hooks
 * reference and from recorded inputs of version 2.1.
 */
export function readClaudeStyle(value: unknown, tools: Readonly<Record<string, ToolReader>>): HookCall {
  const input = asObject(value);
  const event = neededText(input, "hook_event_name");
  const cwd = neededText(input, "cwd");
  const lane = textAt(input, "agent_id") ?? "";
  const turn = textAt(input, "prompt_id") ?? textAt(input, "turn_id");
  const base = {
    session: safeId(neededText(input, "session_id")),
    ...(turn === undefined ? {} : { turn: safeId(turn) }),
    cwd,
    lane,
    depth: lane === "" ? 0 : 1,
  };
  const kind = KINDS[event] ?? "none";
  if (kind === "turn-start") return { ...base, kind, ...promptIn(input, turn) };
  const reason = textAt(input, "error");
  const failure = (): { reason?: string } | undefined => {
    if (event !== "PostToolUseFailure") return undefined;
    return reason === undefined ? {} : { reason };
  };
  const callId = (): string => safeId(neededText(input, "tool_use_id"));
  return readToolCall(base, kind, { input, style: { tools, callId, failure } });
}

export const claude: HookAdapter = {
  name: "claude",
  title: "Claude Code",
  sequential: true,
  read: (input) => readClaudeStyle(input, TOOLS),
  // Without a message, the output is empty. At the start of a session or a turn, the model would read any output of the
  // hook.
  goOn: (message) => (message === undefined ? "" : JSON.stringify({ systemMessage: message })),
  block: (reason) =>
    JSON.stringify({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: reason,
      },
    }),
};
