import { agentPath, patchInLine, patchPaths, looks, patches, runs, type ToolReader } from "./tool-table.ts";
import { claude, readClaudeStyle } from "./claude.ts";
import type { HookAdapter } from "./hook-call.ts";

/**
 * Returns the `ToolReader` of a tool that runs a shell line. If a line only passes a patch to `apply_patch`, Codex
 * applies the patch itself, and never reports the end of the call. The paths of the patch are uncertain, because the
 * hook's input lacks the command's `workdir`.
 */
function runsOrPatches(key: string): ToolReader {
  const reader = runs(key);
  return (input, cwd) => {
    const action = reader(input, cwd);
    const found = patchInLine(action?.payload.command ?? "");
    if (action === undefined || found === undefined) return action;
    const folder = agentPath(action.payload.cwd ?? cwd, found.folder);
    const paths = patchPaths(found.patch).map((path) => agentPath(folder, path));
    return { ...action, payload: { ...action.payload, paths }, unsaid: true };
  };
}

/**
 * Maps the tools of Codex, by their names in its hooks, to `ToolReader`s. In version 0.169, every shell tool is named
 * `Bash`, and `apply_patch` has the patch under the key `command`.
 */
const TOOLS: Readonly<Record<string, ToolReader>> = {
  Bash: runsOrPatches("command"),
  exec_command: runsOrPatches("cmd"),
  shell: runsOrPatches("command"),
  local_shell: runsOrPatches("command"),
  apply_patch: patches("command"),
  ...Object.fromEntries(
    "view_image update_plan web_search request_user_input get_goal create_goal update_goal tool_search read_file list_dir"
      .split(" ")
      .map((name) => [name, looks]),
  ),
};

/**
 * The adapter for Codex. The hooks of Codex have the same form as those of Claude Code. If a call fails before the tool
 * runs, Codex does not report the end of the call.
 */
export const codex: HookAdapter = {
  name: "codex",
  title: "Codex",
  sequential: false,
  read: (input) => readClaudeStyle(input, TOOLS),
  goOn: (message) => claude.goOn(message),
  block: (reason) => claude.block(reason),
};
