import type { HookAdapter, HookCall, HookKind } from "./hook-call.ts";
import { asObject, neededText, objectAt, safeId, textAt } from "./hook-input.ts";
import { actionOf, looks, runs, type ToolReader, writes } from "./tool-table.ts";

/** The tools of Claude Code 2, as its hooks name them. What is not here is captured before and after. */
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

/** What Claude Code gives to a hook, and what it takes from it (its hooks reference; inputs recorded from 2.1). */
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
  if (kind !== "before" && kind !== "after") return { ...base, kind };
  const tool = neededText(input, "tool_name");
  const action = actionOf(tools, tool, { input: objectAt(input, "tool_input"), cwd });
  if (action === undefined) return { ...base, kind: "none" };
  const call = { ...base, toolCall: safeId(neededText(input, "tool_use_id")) };
  if (kind === "before") return { ...call, kind, action };
  if (event !== "PostToolUseFailure") return { ...call, kind, outcome: "done" };
  const reason = textAt(input, "error");
  return { ...call, kind, outcome: "failed", ...(reason === undefined ? {} : { reason }) };
}

/** Claude Code. */
export const claude: HookAdapter = {
  name: "claude",
  title: "Claude Code",
  sequential: true,
  read: (input) => readClaudeStyle(input, TOOLS),
  // What is printed at a session's start or with a prompt would be read by the model: nothing, unless there is a message.
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
