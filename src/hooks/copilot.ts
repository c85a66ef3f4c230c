import type { HookAdapter, HookCall, HookKind } from "./hook-call.ts";
import { asObject, type HookInput, neededText, promptIn, safeId, textAt, objectAt } from "./hook-input.ts";
import { hashedCallId, looks, patches, readToolCall, runs, type ToolReader, writes } from "./tool-table.ts";

/**
 * The `ToolReader` of two tools that both have the name `Edit` in the hooks. The input of `edit` names a path. The
 * input of `apply_patch` is a patch, which `withObject` puts under the key `patch`.
 */
const edits: ToolReader = (input, cwd) =>
  textAt(input, "patch") === undefined
    ? (writes("path")(input, cwd) ?? { type: "edit", payload: {} })
    : patches("patch")(input, cwd);

/**
 * Maps the tools of Copilot CLI to `ToolReader`s. The tools have these names in the hooks whose events have names such
 * as `PreToolUse` (as seen in version 1.0.102).
 */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  Write: writes("path"),
  Edit: edits,
  Bash: runs("command"),
  ...Object.fromEntries(
    [
      "Read Grep Glob WebFetch WebSearch AskUserQuestion TodoWrite Agent read_bash stop_bash list_bash",
      "read_powershell stop_powershell list_powershell read_agent list_agents write_agent skill sql session_store_sql",
      "fetch_copilot_cli_documentation report_intent store_memory exit_plan_mode",
    ]
      .join(" ")
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

/** Matches the tools of Chronicle's own MCP server. Copilot CLI puts the name of the server before the name of a tool. */
const OWN_TOOL = /^chronicle-/;

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
 * Returns the input with an object in `tool_input`. For `apply_patch`, Copilot CLI gives only the text of the patch in
 * `tool_input`.
 */
function withObject(input: HookInput): HookInput {
  const patch = textAt(input, "tool_input");
  return patch === undefined ? input : { ...input, tool_input: { patch } };
}

/**
 * Returns the failure of a call; `undefined` if the call did not fail. Copilot CLI reports a failed shell command as a
 * success, so the exit code is read from the text of the result.
 */
function failureOf(input: HookInput): { readonly reason?: string } | undefined {
  if (input["hook_event_name"] === "PostToolUseFailure") {
    const reason = textAt(input, "error");
    return reason === undefined ? {} : { reason };
  }
  const result = textAt(objectAt(input, "tool_result"), "text_result_for_llm") ?? "";
  const code = /^<(?:[^<>]* )?exit code ([1-9]\d*)>$/m.exec(result)?.[1];
  return code === undefined ? undefined : { reason: `exit code ${code}` };
}

function read(value: unknown): HookCall {
  const input = withObject(asObject(value));
  const kind = KINDS[neededText(input, "hook_event_name")] ?? "none";
  const session = safeId(textAt(input, "parent_agent_id") ?? neededText(input, "session_id"));
  const lane = textAt(input, "agent_id") ?? "";
  const base = { session, cwd: neededText(input, "cwd"), lane, depth: lane === "" ? 0 : 1 };
  if (kind === "turn-start") {
    // The prompt of a sub-agent comes from another agent, so it begins no turn.
    if (lane !== "") return { ...base, kind: "none" };
    // Copilot CLI gives no ids of turns, so an id is made from the time of the prompt.
    const began = textAt(input, "timestamp");
    const startsTurn = began === undefined ? {} : { startsTurn: safeId(`${session.slice(0, 8)}-${began}`) };
    return { ...base, kind, ...startsTurn, ...promptIn(input) };
  }
  if (OWN_TOOL.test(textAt(input, "tool_name") ?? "")) return { ...base, kind: "none" };
  const style = { tools: TOOLS, callId: hashedCallId, failure: () => failureOf(input) };
  return readToolCall(base, kind, { input, style });
}

/**
 * The adapter for GitHub Copilot CLI. The hooks use the names of events and fields that Copilot CLI shares with the
 * extension for VS Code. Copilot CLI runs the tool calls of one message of the model in parallel. For a sub-agent,
 * `session_id` is the id of the sub-agent, and `parent_agent_id` is the id of the session. If a hook before a tool
 * exits with any code but 0, Copilot CLI does not run the tool. An output of the type `progress` is only shown to the
 * user: it neither allows nor refuses the tool.
 */
export const copilot: HookAdapter = {
  name: "copilot",
  title: "Copilot CLI",
  sequential: false,
  read,
  goOn: (message) => (message === undefined ? "" : JSON.stringify({ type: "progress", message })),
  block: (reason) => JSON.stringify({ permissionDecision: "deny", permissionDecisionReason: reason }),
};

/**
 * True if Copilot CLI gave the input to a hook of Claude Code. Copilot CLI also calls the hooks in a project's
 * `.claude/settings.json`. Claude Code's inputs have no `timestamp`.
 */
export function isOfCopilot(value: unknown): boolean {
  const input = asObject(value);
  return textAt(input, "timestamp") !== undefined && textAt(input, "tool_use_id") === undefined;
}
