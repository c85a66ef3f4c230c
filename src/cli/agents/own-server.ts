import { isObject } from "./json-edit.ts";

/** Chronicle's program, or its package. */
const PROGRAM = /^(?:@chronicle-dev\/chronicle(?:@.*)?|(?:.*[/\\])?chronicle(?:\.(?:[cm]?js|cmd|exe))?)$/;
/** The path that `install` writes, whichever program runs it. */
const LAUNCHER = /[/\\]bin[/\\]chronicle\.js$/;
/** Programs that may run it. */
const RUNNER = /^(?:.*[/\\])?(?:node|nodejs|npx|npm|pnpx|pnpm|yarn|bunx|bun|deno)(?:\.(?:exe|cmd))?$/;

/**
 * Returns the command line of an entry among MCP servers if it is Chronicle's own. Another server may have the same
 * name.
 */
export function ownCommand(entry: unknown): string[] | undefined {
  if (!isObject(entry) || typeof entry["command"] !== "string") return undefined;
  const args: unknown[] = Array.isArray(entry["args"]) ? entry["args"] : [];
  const words = [entry["command"], ...args.map(String)];
  const at = words.findIndex((word) => PROGRAM.test(word));
  const program = words[at] ?? "";
  const runs = at === 0 || RUNNER.test(entry["command"]) || LAUNCHER.test(program);
  return at >= 0 && runs && words.includes("mcp", at + 1) ? words : undefined;
}
