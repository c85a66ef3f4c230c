import { agentPath } from "./agent-path.ts";
import type { HookAction } from "./hook-call.ts";
import { type HookInput, textAt } from "./hook-input.ts";
import { patchPaths } from "./patch-paths.ts";

/** Turns a tool's input into an action; `undefined` if the tool changes nothing. */
export type ToolReader = (input: HookInput, cwd: string) => HookAction | undefined;

/** A tool that only reads, or changes nothing on disk. */
export const looks: ToolReader = () => undefined;

/** A tool that writes the file in `key`. */
export function writes(key: string): ToolReader {
  return (input, cwd) => {
    const path = textAt(input, key);
    return path === undefined ? undefined : { type: "write_file", payload: { path: agentPath(cwd, path) } };
  };
}

/** A tool that runs the shell command in `key`; `folder` is the key of its working folder. */
export function runs(key: string, folder = "workdir"): ToolReader {
  return (input, cwd) => {
    const given = input[key];
    const command = Array.isArray(given) ? shellWords(given) : textAt(input, key);
    const payload = { command: command ?? "", cwd: agentPath(cwd, textAt(input, folder) ?? ".") };
    return { type: "run_command", payload };
  };
}

/** `["bash", "-lc", "rm x"]` is the line `rm x`; other lists are joined. */
function shellWords(words: readonly unknown[]): string {
  const texts = words.filter((word) => typeof word === "string");
  const [shell = "", flag = "", line] = texts;
  const isShell = /(^|\/)(ba|z|da|k)?sh$/.test(shell) && /^-[a-z]*c$/.test(flag);
  return isShell && line !== undefined ? line : texts.join(" ");
}

/** A tool that applies the patch in `key`. */
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

/** Tools of Chronicle's own MCP server record what they do by themselves. */
const OWN_TOOL = /^mcp__(plugin_chronicle_)?chronicle__|^mcp_chronicle_|^chronicle__/;

/**
 * Returns the action that a tool is about to do. For an unknown tool, the state is captured before and after.
 * `undefined`: nothing to keep.
 */
export function actionOf(
  table: Readonly<Record<string, ToolReader>>,
  tool: string,
  { input, cwd }: { readonly input: HookInput; readonly cwd: string },
): HookAction | undefined {
  if (OWN_TOOL.test(tool)) return undefined;
  const reader = Object.hasOwn(table, tool) ? table[tool] : undefined;
  if (reader === undefined) return { type: tool, payload: {} };
  return reader(input, cwd);
}
