import { claude, readClaudeStyle } from "./claude.ts";
import type { HookAdapter, HookCall } from "./hook-call.ts";
import { asObject, textAt } from "./hook-input.ts";
import { looks, patches, runs, type ToolReader, writes } from "./tool-table.ts";

/** Maps the tools of opencode, by their names in its plugins (as seen in version 1.18), to `ToolReader`s. */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  write: writes("filePath"),
  edit: writes("filePath"),
  multiedit: writes("filePath"),
  apply_patch: patches("patchText"),
  bash: runs("command"),
  ...Object.fromEntries(
    [
      "read glob grep list lsp webfetch websearch codesearch task todowrite todoread question skill invalid",
      "plan_enter plan_exit",
    ]
      .join(" ")
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

/** Matches the tools of Chronicle's own MCP server. opencode puts the name of the server before the name of a tool. */
const OWN_TOOL = /^chronicle_/;

function read(value: unknown): HookCall {
  const call = readClaudeStyle(value, TOOLS);
  return OWN_TOOL.test(textAt(asObject(value), "tool_name") ?? "") ? { ...call, kind: "none" } : call;
}

/**
 * The adapter for opencode. opencode has no hooks that run a command. Chronicle's plugin for opencode therefore runs
 * the command of the hook, with inputs and answers in the form of Claude Code's hooks. opencode runs the tool calls of
 * one message of the model in parallel.
 */
export const opencode: HookAdapter = {
  name: "opencode",
  title: "opencode",
  sequential: false,
  read,
  goOn: (message) => claude.goOn(message),
  block: (reason) => claude.block(reason),
};
