import { claude, readClaudeStyle } from "./claude.ts";
import type { HookAdapter } from "./hook-call.ts";
import { looks, patches, runs, type ToolReader } from "./tool-table.ts";

/** The tools of Codex, as its hooks name them (recorded from 0.169: every shell is `Bash`, patches are `command` too). */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  Bash: runs("command"),
  exec_command: runs("cmd"),
  shell: runs("command"),
  local_shell: runs("command"),
  apply_patch: patches("command"),
  ...Object.fromEntries(
    "view_image update_plan web_search request_user_input get_goal create_goal update_goal tool_search read_file list_dir"
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

/** Codex: hooks of the same shape as Claude Code's. A call that fails before it begins has no end. */
export const codex: HookAdapter = {
  name: "codex",
  title: "Codex",
  sequential: false,
  read: (input) => readClaudeStyle(input, TOOLS),
  goOn: (message) => claude.goOn(message),
  block: (reason) => claude.block(reason),
};
