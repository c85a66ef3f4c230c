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

/**
 * The `ToolReader` of the shell tool. The folder of a command is in `working_directory` in the documented examples, and
 * in `cwd` in recorded inputs.
 */
const shell: ToolReader = (input, cwd) =>
  runs("command", textAt(input, "working_directory") === undefined ? "cwd" : "working_directory")(input, cwd);

/**
 * Maps the tools of Cursor's agent, by their names in its hooks, to `ToolReader`s. The tool that edits a file also has
 * the name `Write`.
 */
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
 * Matches every MCP tool with `chronicle` in its name, and the listed tools of Chronicle's own MCP server. A tool of
 * another server that has a listed name also counts as Chronicle's tool. This does no harm, because such a tool changes
 * no files of the folder.
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

/** The fields of an input that can name the server of an MCP tool. Cursor documents the last two for another hook. */
const SERVER_FIELDS = ["server", "server_name", "command", "url"];

/**
 * True if the tool belongs to Chronicle's own MCP server. Cursor's documentation does not say that the name of a tool
 * contains the name of its server. A tool with a name like `undo` can belong to another server and change files. Such a
 * tool is therefore recorded as an action, unless the input names Chronicle's server. If the tool is Chronicle's own
 * `undo` after all, the recorded action does not affect the tool.
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

/** Returns the agent's working folder: `cwd`, or else the first folder of the workspace in Cursor. */
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

/**
 * Returns the input with the name of the tool. According to reports, Cursor leaves out the name of a tool that writes a
 * file.
 */
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
 * The adapter for Cursor. It follows Cursor's documentation, and was not tried with Cursor itself, which requires an
 * account. A hook before a tool must print JSON. If the JSON has no `permission`, Cursor asks its user as usual.
 */
export const cursor: HookAdapter = {
  name: "cursor",
  title: "Cursor",
  sequential: false,
  read,
  // Cursor shows `user_message` only if a tool is refused. Any other message is only in Cursor's log of its hooks.
  goOn: (message) => JSON.stringify({ continue: true, ...(message === undefined ? {} : { user_message: message }) }),
  block: (reason) => JSON.stringify({ permission: "deny", user_message: reason, agent_message: reason }),
};

/**
 * True if Cursor gave the input to a hook of Claude Code. Cursor can also call the hooks in the settings of Claude
 * Code.
 */
export function isOfCursor(value: unknown): boolean {
  return textAt(asObject(value), "cursor_version") !== undefined;
}
