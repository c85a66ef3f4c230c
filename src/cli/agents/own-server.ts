import { isObject } from "./json-edit.ts";

/** Chronicle's program, or its package. */
const PROGRAM = /^(?:@chronicle-dev\/chronicle(?:@.*)?|(?:.*[/\\])?chronicle(?:\.(?:[cm]?js|cmd|exe))?)$/;
/** As installing names it, whatever runs it. */
const LAUNCHER = /[/\\]bin[/\\]chronicle\.js$/;
/** The programs that may run it. */
const RUNNER = /^(?:.*[/\\])?(?:node|nodejs|npx|npm|pnpx|pnpm|yarn|bunx|bun|deno)(?:\.(?:exe|cmd))?$/;

/** The command line of an entry among MCP servers, where it is Chronicle's own; another may have the same name. */
export function ownCommand(entry: unknown): string[] | undefined {
  if (!isObject(entry) || typeof entry["command"] !== "string") return undefined;
  const args: unknown[] = Array.isArray(entry["args"]) ? entry["args"] : [];
  const words = [entry["command"], ...args.map(String)];
  const at = words.findIndex((word) => PROGRAM.test(word));
  const program = words[at] ?? "";
  const runs = at === 0 || RUNNER.test(entry["command"]) || LAUNCHER.test(program);
  return at >= 0 && runs && words.includes("mcp", at + 1) ? words : undefined;
}
