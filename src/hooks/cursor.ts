import { isAbsolute } from "node:path";
import type { HookAdapter, HookCall, HookKind } from "./hook-call.ts";
import {
  asObject,
  type HookInput,
  neededText,
  notUnderstood,
  promptIn,
  safeId,
  textAt,
  objectAt,
} from "./hook-input.ts";
import { looks, readToolCall, runs, type ToolReader, writes } from "./tool-table.ts";

/** The documented examples name the folder of a command `working_directory`, recorded inputs name it `cwd`. */
const shell: ToolReader = (input, cwd) =>
  runs("command", textAt(input, "working_directory") === undefined ? "cwd" : "working_directory")(input, cwd);

/** The tools of Cursor's agent, by their names in its hooks. An edit of a file has the name `Write`, too. */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  Shell: shell,
  Write: writes("file_path"),
  Delete: writes("file_path"),
  ...Object.fromEntries(
    [
      "Read Grep Glob List SemanticSearch ReadLints Fetch WebFetch WebSearch Task TodoWrite RecordScreen",
      "ListMcpResources FetchMcpResource",
    ]
      .join(" ")
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

/**
 * Matches the tools of Chronicle's own MCP server that change no files, and every tool that is named after Chronicle.
 * The tools of other servers with these names change no files of the folder either.
 */
const OWN_TOOL = new RegExp(
  `^MCP:(?:.*chronicle.*|${[
    "begin_transaction blame commit_transaction diff file_history find_file grep list_actions list_conflicts",
    "list_history list_transactions read_version resolve_conflict rollback_transaction show_action status",
    "take_snapshot verify what_changed",
  ]
    .join(" ")
    .replaceAll(" ", "|")})$`,
);

/** The fields in which an input may name the server of an MCP tool. Cursor documents the last two for another hook. */
const SERVER_FIELDS = ["server", "server_name", "command", "url"];

/**
 * True for a tool of Chronicle's own MCP server. The name of a tool is not documented to name its server. A tool with a
 * name like `undo` may be that of another server, which changes files. So it is an action, unless the input names
 * Chronicle's server. During an action, Chronicle's own `undo` does what it does otherwise.
 */
function isOwnTool(input: HookInput): boolean {
  const name = textAt(input, "tool_name") ?? "";
  if (!name.startsWith("MCP:")) return false;
  const servers = SERVER_FIELDS.flatMap((field) => textAt(input, field) ?? []);
  return servers.length === 0 ? OWN_TOOL.test(name) : servers.some((one) => /chronicle/i.test(one));
}

const KINDS: Readonly<Record<string, HookKind>> = {
  sessionStart: "session-start",
  sessionEnd: "session-end",
  beforeSubmitPrompt: "turn-start",
  stop: "turn-end",
  preToolUse: "before",
  postToolUse: "after",
  postToolUseFailure: "after",
};

/** Returns the agent's folder: the first folder of the workspace, where the input names no other. */
function folderOf(input: HookInput): string {
  const roots: readonly unknown[] = Array.isArray(input["workspace_roots"]) ? input["workspace_roots"] : [];
  const folder = [input["cwd"], roots[0]].find((one) => typeof one === "string" && isAbsolute(one));
  if (typeof folder !== "string") throw notUnderstood("there is no workspace_roots");
  return folder;
}

function failureOf(input: HookInput): { readonly reason?: string } | undefined {
  if (input["hook_event_name"] === "postToolUseFailure") {
    const reason = textAt(input, "error_message");
    return reason === undefined ? {} : { reason };
  }
  const code = /"exitCode"\s*:\s*([1-9]\d*)\s*[,}]/.exec(textAt(input, "tool_output") ?? "")?.[1];
  return input["tool_name"] !== "Shell" || code === undefined ? undefined : { reason: `exit code ${code}` };
}

/** Returns the input with the name of the tool. Cursor was reported to leave it out for tools that write a file. */
function withToolName(input: HookInput): HookInput {
  if (textAt(input, "tool_name") !== undefined) return input;
  const isWrite = textAt(objectAt(input, "tool_input"), "file_path") !== undefined;
  return { ...input, tool_name: isWrite ? "Write" : "tool" };
}

function read(value: unknown): HookCall {
  const input = withToolName(asObject(value));
  const kind = KINDS[neededText(input, "hook_event_name")] ?? "none";
  const turn = textAt(input, "generation_id");
  const base = {
    session: safeId(neededText(input, "conversation_id")),
    ...(turn === undefined ? {} : { turn: safeId(turn) }),
    cwd: folderOf(input),
    lane: "",
    depth: 0,
  };
  if (kind === "turn-start") return { ...base, kind, ...promptIn(input, turn) };
  if (isOwnTool(input)) return { ...base, kind: "none" };
  const callId = (): string => safeId(neededText(input, "tool_use_id"));
  return readToolCall(base, kind, { input, style: { tools: TOOLS, callId, failure: () => failureOf(input) } });
}

/**
 * The hooks of Cursor, as its documentation describes them. They were not run with Cursor, which needs an account. A
 * hook before a tool must print JSON. Without a `permission`, Cursor asks its user as usual.
 */
export const cursor: HookAdapter = {
  name: "cursor",
  title: "Cursor",
  sequential: false,
  read,
  // Cursor shows this message only if a tool is refused. Otherwise, it stands in the log of its hooks.
  goOn: (message) => JSON.stringify({ continue: true, ...(message === undefined ? {} : { user_message: message }) }),
  block: (reason) => JSON.stringify({ permission: "deny", user_message: reason, agent_message: reason }),
};

/** Returns true for an input that Cursor gave to a hook of Claude Code, whose settings it can read. */
export function isOfCursor(value: unknown): boolean {
  return textAt(asObject(value), "cursor_version") !== undefined;
}
