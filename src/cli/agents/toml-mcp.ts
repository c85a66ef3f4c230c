import { parse, TomlError } from "smol-toml";
import type { Misfit } from "./json-dialect.ts";
import { isObject, malformed } from "./json-edit.ts";
import { ownCommand } from "./own-server.ts";

const BEGIN =
  "# >>> chronicle: made by `chronicle agents install codex`; `chronicle agents uninstall codex` removes it";
const END = "# <<< chronicle";
/** The block, with the empty line before it. */
const BLOCK = /(?:^|\n?\n)# >>> chronicle:[^\n]*\n[\s\S]*?# <<< chronicle\n?/;

/** The tables of a text. Throws `REFUSED`. */
export function readToml(text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text);
  } catch (error) {
    throw malformed(error instanceof Error ? (error.message.split("\n")[0] ?? "") : "it is no TOML");
  }
}

/** Why a text is no TOML; `undefined`: it is. */
export function tomlMisfit(text: string): Misfit | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const what = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    return { what, line: error.line, hint: "make it valid TOML" };
  }
}

function serverIn(text: string): unknown {
  const servers = readToml(text)["mcp_servers"];
  return isObject(servers) ? servers["chronicle"] : undefined;
}

/** The command line of Chronicle's MCP server in a text, whoever wrote it; `undefined`: there is none. */
export function ourTomlServer(text: string): string[] | undefined {
  return ownCommand(serverIn(text));
}

/** Does a server of the user's own have the name of Chronicle's? */
export function hasTomlNamesake(text: string): boolean {
  return serverIn(text) !== undefined && ourTomlServer(text) === undefined;
}

/** The text with a marked block at its end; a server of that name that the user wrote stays as it is. */
export function putTomlServer(text: string, command: readonly string[]): string {
  const without = dropTomlServer(text);
  if (serverIn(without) !== undefined) return text;
  const [program = "", ...args] = command;
  const values = args.map((arg) => JSON.stringify(arg)).join(", ");
  const lines = [BEGIN, "[mcp_servers.chronicle]", `command = ${JSON.stringify(program)}`, `args = [${values}]`, END];
  const gap = without === "" ? "" : without.endsWith("\n") ? "\n" : "\n\n";
  const result = `${without}${gap}${lines.join("\n")}\n`;
  // What cannot hold another table (an inline `mcp_servers = {…}`) is said before anything is written.
  if (serverIn(result) === undefined) throw malformed("the table mcp_servers cannot be added to");
  return result;
}

/** The text without the block. */
export function dropTomlServer(text: string): string {
  readToml(text);
  const block = BLOCK.exec(text);
  if (block === null) return text;
  const before = text.slice(0, block.index);
  const after = text.slice(block.index + block[0].length);
  return before === "" || before.endsWith("\n") ? `${before}${after}` : `${before}\n${after}`;
}
