import { join } from "node:path";
import { quoteCommand } from "../core/shell/quote-command.ts";
import { optional } from "../util/optional.ts";
import type { HookAdapter, HookCall, HookKind, HookPrompt } from "./hook-call.ts";
import { asObject, type HookInput, neededText, notUnderstood, objectAt, safeId, textAt } from "./hook-input.ts";
import { looks, patches, readToolCall, runs, type ToolReader, writes } from "./tool-table.ts";

/**
 * Maps the tools of Cline, by their names in its hooks (as seen in version 3.0), to `ToolReader`s. A reader gets an
 * input in the form that `toolInput` returns.
 */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  editor: writes("path"),
  apply_patch: patches("input"),
  run_commands: runs("command"),
  ...Object.fromEntries(
    [
      "read_files search_codebase fetch_web_content web_search skills ask_question submit_and_exit spawn_agent",
      "team_spawn_teammate team_shutdown_teammate team_status team_task team_run_task team_cancel_run team_list_runs",
      "team_await_runs team_send_message team_broadcast team_read_mailbox team_mission_log team_cleanup",
      "team_create_outcome team_attach_outcome_fragment team_review_outcome_fragment team_finalize_outcome",
      "team_list_outcomes",
    ]
      .join(" ")
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

/**
 * Maps the events of Cline to kinds of calls. An event has the name of its hook file. Cline waits only for the hooks
 * before and after a tool.
 */
const KINDS: Readonly<Record<string, HookKind>> = {
  PreToolUse: "before",
  PostToolUse: "after",
  TaskComplete: "session-end",
  TaskError: "session-end",
  TaskCancel: "session-end",
  SessionShutdown: "session-end",
};

/**
 * Returns the kind of an event. Cline does not report the end of a session. The end of each turn of the main agent
 * therefore also ends the session, and the next call begins the session again.
 */
function kindOf(event: string, lane: string): HookKind {
  const kind = KINDS[event] ?? "none";
  return kind === "session-end" && lane !== "" ? "turn-end" : kind;
}

function read(value: unknown, prompt?: HookPrompt): HookCall {
  const input = asObject(value);
  const lane = textAt(input, "parent_agent_id") === undefined ? "" : neededText(input, "agent_id");
  const kind = kindOf(neededText(input, "hook_event_name"), lane);
  const base = {
    session: sessionIn(input),
    ...(prompt?.message === undefined ? {} : { turn: safeId(prompt.message) }),
    cwd: folderIn(input),
    lane,
    depth: lane === "" ? 0 : 1,
  };
  const call = objectAt(input, kind === "after" ? "tool_result" : "tool_call");
  const tool = { tool_name: textAt(call, "name"), tool_input: toolInput(call["input"]) };
  const failure = (): { reason: string } | undefined => failureOf(call);
  const callId = (): string => safeId(neededText(call, "id"));
  const told = readToolCall(base, kind, { input: tool, style: { tools: TOOLS, callId, failure } });
  if (told.kind !== "before") return told;
  // If a message of the model has several tool calls, Cline calls the hooks for all of them before the first tool runs.
  const queued = { ...told, queue: `${prompt?.message ?? ""} ${String(input["iteration"])}` };
  if (prompt === undefined) return queued;
  return { ...queued, prompt: { ...prompt, ...optional({ transcript: conversationPath(input) }) } };
}

/** Returns the id of the session. A sub-agent has its own `taskId`, so `rootSessionId` takes precedence. */
function sessionIn(input: HookInput): string {
  const root = textAt(objectAt(input, "sessionContext"), "rootSessionId");
  return safeId(root ?? neededText(input, "taskId"));
}

/**
 * Returns the session's working folder. Only the hook files that Chronicle installs put `cwd` into the input. Without
 * `cwd`, the folder is the first of `workspaceRoots`.
 */
function folderIn(input: HookInput): string {
  const roots = input["workspaceRoots"];
  const [root]: readonly unknown[] = Array.isArray(roots) ? roots : [];
  const folder = textAt(input, "cwd") ?? root;
  if (typeof folder === "string" && folder !== "") return folder;
  throw notUnderstood("there is no working folder");
}

/**
 * Returns a tool's input as an object. If a call has several commands, they become the lines of `command`. Some models
 * give a single command or a patch as a plain string, without an object around it.
 */
function toolInput(given: unknown): HookInput {
  if (typeof given === "string") return { command: given, input: given };
  if (Array.isArray(given)) return { command: linesOf(given) };
  if (typeof given !== "object" || given === null) return {};
  const input = asObject(given);
  const commands = input["commands"] ?? input["cmd"];
  if (commands !== undefined) return { ...input, command: linesOf(commands) };
  return Array.isArray(input["args"]) ? { ...input, command: linesOf(input) } : input;
}

/** Returns commands as the lines of a shell script. A command is a line, or a program with its arguments. */
function linesOf(commands: unknown): string {
  if (typeof commands === "string") return commands;
  if (Array.isArray(commands)) return commands.map(linesOf).join("\n");
  if (typeof commands !== "object" || commands === null) return "";
  const { command, args } = asObject(commands);
  const words: readonly unknown[] = Array.isArray(args) ? args : [];
  if (words.length === 0) return typeof command === "string" ? command : "";
  return `${String(command)} ${quoteCommand(["", ...words.map(String)]).replace(/^'' ?/, "")}`;
}

/**
 * Returns the reason of a failed call; `undefined` if the call did not fail. `error` is set only if the tool itself
 * failed. Most failures are in `output`, which can be a list with one part for each command.
 */
function failureOf(call: HookInput): { reason: string } | undefined {
  const error = textAt(call, "error");
  const output = call["output"];
  const parts: readonly unknown[] = Array.isArray(output) ? output : [output];
  const failed = parts.find((part) => isFailed(part));
  if (error === undefined && failed === undefined) return undefined;
  const said = failed === undefined ? undefined : textAt(asObject(failed), "error");
  return { reason: said ?? error ?? "it failed" };
}

function isFailed(part: unknown): boolean {
  return typeof part === "object" && part !== null && "success" in part && part.success === false;
}

/**
 * Returns the path of the file with the conversation. Returns `undefined` if the input does not name the folder
 * (`sessions`). Also returns `undefined` for any hook except the hook before a tool, because no other hook needs the
 * conversation.
 */
function conversationPath(value: unknown): string | undefined {
  const input = asObject(value);
  const folder = textAt(input, "sessions");
  if (folder === undefined || KINDS[textAt(input, "hook_event_name") ?? ""] !== "before") return undefined;
  const session = sessionIn(input);
  return join(folder, session, `${session}.messages.json`);
}

/** Matches a message of a person in the conversation. */
const SAID = /^<user_input\b[^>]*>\n?([^]*?)\n?(?:<\/user_input>\s*)?$/;

/**
 * Returns the person's last message in a conversation; `undefined` if there is none, or if the text has another form.
 */
function lastPrompt(conversation: string): HookPrompt | undefined {
  const { messages } = parsed(conversation);
  if (!Array.isArray(messages)) return undefined;
  for (const message of messages.toReversed()) {
    if (typeof message !== "object" || message === null || !("role" in message) || message.role !== "user") continue;
    const { id, content } = asObject(message);
    const text = SAID.exec(textOf(content))?.[1];
    if (text !== undefined && typeof id === "string" && id !== "") return { text, message: id };
  }
  return undefined;
}

function parsed(conversation: string): HookInput {
  try {
    return asObject(JSON.parse(conversation));
  } catch {
    // The text is incomplete while Cline writes the file. Without a prompt, the call belongs to the latest known turn.
    return {};
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (isTextPart(part) ? part.text : "")).join("");
}

function isTextPart(part: unknown): part is { readonly text: string } {
  return typeof part === "object" && part !== null && "text" in part && typeof part.text === "string";
}

/** Returns an input with which a tool fails and changes nothing; `undefined` for a tool without such an input. */
function harmlessInput(reason: string, type: string | undefined): unknown {
  if (type === "run_command") return { commands: [`${quoteCommand(["printf", "%s\\n", reason])} >&2; exit 1`] };
  return type === "write_file" || type === "apply_patch" ? {} : undefined;
}

/**
 * The adapter for Cline. A hook of Cline can stop a tool in two ways. `cancel` ends the whole turn, without showing the
 * reason to anybody. `overrideInput` replaces the tool's input, so that only this tool fails. Cline adds
 * `contextModification` to the conversation. A hook has no other way to show a message.
 */
export const cline: HookAdapter = {
  name: "cline",
  title: "Cline",
  sequential: false,
  conversation: { pathFor: conversationPath, lastPrompt },
  read,
  goOn: (message) => JSON.stringify({ cancel: false, ...optional({ contextModification: message }) }),
  block: (reason, call) => {
    const overrideInput = harmlessInput(reason, call?.action?.type);
    if (overrideInput === undefined) return JSON.stringify({ cancel: true, errorMessage: reason });
    return JSON.stringify({ cancel: false, contextModification: reason, overrideInput });
  },
};
