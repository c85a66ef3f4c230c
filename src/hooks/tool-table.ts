import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { HookAction, HookCall, HookKind } from "./hook-call.ts";
import { type HookInput, textAt, neededText, objectAt, safeId } from "./hook-input.ts";

/** Turns a tool's input into an action. Returns `undefined` if nothing is to be recorded. */
export type ToolReader = (input: HookInput, cwd: string) => HookAction | undefined;

/** The `ToolReader` of a tool that changes nothing. */
export const looks: ToolReader = () => undefined;

/**
 * Returns the `ToolReader` of a tool that writes the file named by the input's `key`. For an input without this key,
 * the reader returns `undefined`.
 */
export function writes(key: string): ToolReader {
  return (input, cwd) => {
    const path = textAt(input, key);
    return path === undefined ? undefined : { type: "write_file", payload: { path: agentPath(cwd, path) } };
  };
}

/**
 * Returns the `ToolReader` of a tool that runs the shell command in the input's `key`. `folder` is the key of the
 * command's working folder. If the input has no such key, the command runs in the agent's working folder.
 */
export function runs(key: string, folder = "workdir"): ToolReader {
  return (input, cwd) => {
    const given = input[key];
    const command = Array.isArray(given) ? shellWords(given) : textAt(input, key);
    const payload = { command: command ?? "", cwd: agentPath(cwd, textAt(input, folder) ?? ".") };
    return { type: "run_command", payload };
  };
}

/** Returns a list of words as a shell line: `["bash", "-lc", "rm x"]` → `rm x`, `["rm", "x"]` → `rm x`. */
function shellWords(words: readonly unknown[]): string {
  const texts = words.filter((word) => typeof word === "string");
  const [shell = "", flag = "", line] = texts;
  const isShell = /(^|\/)(ba|z|da|k)?sh$/.test(shell) && /^-[a-z]*c$/.test(flag);
  return isShell && line !== undefined ? line : texts.join(" ");
}

/**
 * Returns the `ToolReader` of a tool that applies the patch in the input's `key`. If no path is found in the patch, the
 * action has no paths.
 */
export function patches(key: string): ToolReader {
  return (input, cwd) => {
    const named = patchPaths(textAt(input, key) ?? "");
    const paths = named.map((path) => agentPath(cwd, path));
    const [only] = paths;
    if (only === undefined) return { type: "apply_patch", payload: {} };
    const summary = `apply_patch: ${named.join(", ")}`;
    if (paths.length === 1) return { type: "write_file", payload: { path: only }, summary };
    return { type: "write_file", payload: { path: only, paths }, summary };
  };
}

/** Matches the tools of Chronicle's own MCP server. These tools record their changes themselves. */
const OWN_TOOL = /^mcp__(plugin_chronicle_)?chronicle__|^mcp_chronicle_|^chronicle__/;

/**
 * Returns the action of a tool call. Returns `undefined` if the tool changes nothing, records its changes itself, or
 * names no file to write. An unknown tool gets an action without paths, so that the state is captured before and after
 * the call.
 */
function actionOf(
  table: Readonly<Record<string, ToolReader>>,
  tool: string,
  { input, cwd }: { readonly input: HookInput; readonly cwd: string },
): HookAction | undefined {
  if (OWN_TOOL.test(tool)) return undefined;
  const reader = Object.hasOwn(table, tool) ? table[tool] : undefined;
  if (reader === undefined) return { type: tool, payload: {} };
  return reader(input, cwd);
}

/**
 * Matches `/proc/self/cwd` and `/proc/self/root`: the working folder and the root of the process that opens the path.
 */
const OWN = /^\/+(?:\.\/+)*proc\/+(?:\.\/+)*(?:self|thread-self)\/+(?:\.\/+)*(cwd|root)(?=\/|$)/;

/**
 * Makes the path of an agent's tool absolute. `/proc/self/cwd` becomes the agent's folder, and `/proc/self/root`
 * becomes `/`, because in this process, the two links can lead to other folders. Other paths in `/proc` stay unchanged.
 */
export function agentPath(cwd: string, path: string): string {
  const [own = "", which] = OWN.exec(path) ?? [];
  if (which === undefined) return resolve(cwd, path);
  return resolve(which === "cwd" ? cwd : "/", `./${path.slice(own.length)}`);
}

/** Matches a header in a patch for `apply_patch` (codex-rs/apply-patch), such as `*** Update File: src/a.ts`. */
const HEADER = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\r?$/gm;

/**
 * Matches a command line that consists only of `apply_patch` with a here-document. Codex applies such a patch itself.
 */
const HEREDOC = /^\s*apply_?patch\s+<<-?\s*(['"]?)(\w+)\1[ \t]*\n(?<patch>[^]*?)\n\2\s*$/;

/**
 * Matches `cd DIR &&` before a command line of the form `HEREDOC`. `DIR` is a single literal word. Codex also applies a
 * patch in this form itself.
 */
const FOLDER = /^\s*cd\s+(?:'([^'\n]+)'|"([^"\n$`\\]+)"|([^\s'"$`\\;&|<>()*?~{}[\]]+))\s*&&/;

interface PatchInLine {
  readonly patch: string;
  /** The folder in which the patch is applied, absolute or relative to the folder in which the line runs. */
  readonly folder: string;
}

/** Returns the patch that a line passes to `apply_patch`; `undefined` if the line does anything else. */
export function patchInLine(line: string): PatchInLine | undefined {
  const [prefix = "", ...folders] = FOLDER.exec(line) ?? [];
  const patch = HEREDOC.exec(line.slice(prefix.length))?.groups?.["patch"];
  return patch === undefined ? undefined : { patch, folder: folders.find((one) => one !== undefined) ?? "." };
}

/** Returns the paths in a patch, each once, in their order. A move has two paths. */
export function patchPaths(patch: string): string[] {
  const found = new Set<string>();
  for (const [, path] of patch.matchAll(HEADER)) if (path !== undefined) found.add(path.trim());
  return [...found];
}

/**
 * Makes an id for a tool call of an agent that gives no ids of calls. The id depends on the tool and its input, because
 * both are the same at the beginning and at the end of the call.
 */
export function hashedCallId(tool: string, input: HookInput): string {
  const digest = createHash("sha256").update(JSON.stringify(input)).digest("hex");
  return safeId(`${tool}-${digest.slice(0, 16)}`);
}

interface ToolCallStyle {
  readonly tools: Readonly<Record<string, ToolReader>>;
  /** Returns the agent's own id of a call, or an id made from data that identifies the call. */
  readonly callId: (tool: string, toolInput: HookInput) => string;
  /** Returns the failure of the call, with its reason if the agent gives one; `undefined` if the call did not fail. */
  readonly failure: () => { readonly reason?: string } | undefined;
}

/**
 * Returns the hook call that an input describes. If the kind is `before` or `after`, reads the tool from `tool_name`
 * and `tool_input`. The kind becomes `none` if the tool has no action to record. Throws `USAGE` if the tool's name is
 * missing.
 */
export function readToolCall(
  base: Omit<HookCall, "kind">,
  kind: HookKind,
  { input, style }: { readonly input: HookInput; readonly style: ToolCallStyle },
): HookCall {
  if (kind !== "before" && kind !== "after") return { ...base, kind };
  const tool = neededText(input, "tool_name");
  const toolInput = objectAt(input, "tool_input");
  const action = actionOf(style.tools, tool, { input: toolInput, cwd: base.cwd });
  if (action === undefined) return { ...base, kind: "none" };
  const call = { ...base, toolCall: style.callId(tool, toolInput) };
  if (kind === "before") return { ...call, kind, action };
  const failure = style.failure();
  return failure === undefined ? { ...call, kind, outcome: "done" } : { ...call, kind, outcome: "failed", ...failure };
}
