import type { HookAdapter, HookCall, HookKind } from "./hook-call.ts";
import { asObject, type HookInput, neededText, objectAt, promptIn, safeId, textAt } from "./hook-input.ts";
import { hashedCallId, readToolCall, looks, runs, type ToolReader, writes } from "./tool-table.ts";

/** Maps the tools of Gemini CLI, by their names in its hooks (as seen in version 0.61), to `ToolReader`s. */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  write_file: writes("file_path"),
  replace: writes("file_path"),
  edit: writes("file_path"),
  run_shell_command: runs("command", "dir_path"),
  ...Object.fromEntries(
    [
      "read_file read_many_files list_directory glob grep_search search_file_content google_web_search web_fetch",
      "write_todos ask_user enter_plan_mode exit_plan_mode activate_skill get_internal_docs codebase_investigator",
      "cli_help complete_task",
    ]
      .join(" ")
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

const KINDS: Readonly<Record<string, HookKind>> = {
  SessionStart: "session-start",
  SessionEnd: "session-end",
  BeforeAgent: "turn-start",
  AfterAgent: "turn-end",
  BeforeTool: "before",
  AfterTool: "after",
};

/**
 * Returns the reason of the failure, or `undefined` if the call did not fail. If a shell command failed, only the text
 * of the response has the exit code. If another tool failed, the response has an `error`.
 */
function failureOf(response: HookInput): string | undefined {
  const { message } = objectAt(response, "error");
  if (typeof message === "string") return message;
  const exit = /^(?:Exit Code: |Command exited with code: )([1-9]\d*)$/m;
  const code = exit.exec(textAt(response, "llmContent") ?? "") ?? exit.exec(textAt(response, "returnDisplay") ?? "");
  return code === null ? undefined : `exit code ${code[1]}`;
}

function read(value: unknown): HookCall {
  const input = asObject(value);
  const kind = KINDS[neededText(input, "hook_event_name")] ?? "none";
  const cwd = neededText(input, "cwd");
  const base = { session: safeId(neededText(input, "session_id")), cwd, lane: "", depth: 0 };
  if (kind === "turn-start") return { ...base, kind, ...turnAt(base.session, input), ...promptIn(input) };
  const isOwn = textAt(objectAt(input, "mcp_context"), "server_name") === "chronicle";
  if (isOwn && (kind === "before" || kind === "after")) return { ...base, kind: "none" };
  const failure = (): { reason: string } | undefined => {
    const reason = failureOf(objectAt(input, "tool_response"));
    return reason === undefined ? undefined : { reason };
  };
  return readToolCall(base, kind, { input, style: { tools: TOOLS, callId: hashedCallId, failure } });
}

/** Makes an id for the turn that begins, because Gemini CLI gives no ids of turns. */
function turnAt(session: string, input: HookInput): Pick<HookCall, "startsTurn"> {
  const began = textAt(input, "timestamp");
  return began === undefined ? {} : { startsTurn: safeId(`${session.slice(0, 8)}-${began}`) };
}

/** The adapter for Gemini CLI, which expects only JSON on the stdout of a hook. */
export const gemini: HookAdapter = {
  name: "gemini",
  title: "Gemini CLI",
  sequential: true,
  read,
  goOn: (message) => JSON.stringify(message === undefined ? {} : { systemMessage: message }),
  block: (reason) => JSON.stringify({ decision: "deny", reason }),
};
