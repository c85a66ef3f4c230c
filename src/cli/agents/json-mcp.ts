import { dropAt, isObject, malformed, putAt, readJsonc } from "./json-edit.ts";

const SERVERS = "mcpServers";
const NAME = "chronicle";

/** The command line of Chronicle's MCP server in a text; `undefined`: there is none. */
export function ourServer(text: string): string[] | undefined {
  const servers = readJsonc(text)[SERVERS];
  const own = isObject(servers) ? servers[NAME] : undefined;
  if (!isObject(own)) return undefined;
  const args: unknown[] = Array.isArray(own["args"]) ? own["args"] : [];
  return [String(own["command"]), ...args.map(String)];
}

/** The text with Chronicle's MCP server in it. `extra`: what this agent wants to have beside the command. */
export function putServer(text: string, command: readonly string[], extra: Readonly<Record<string, unknown>>): string {
  const servers = readJsonc(text)[SERVERS];
  if (servers !== undefined && !isObject(servers)) throw malformed(`"${SERVERS}" is no object`);
  const [program, ...args] = command;
  const entry = { ...extra, command: program, args };
  const present = servers?.[NAME];
  if (isObject(present) && JSON.stringify(present) === JSON.stringify(entry)) return text;
  return putAt(text, [SERVERS, NAME], entry);
}

/** The text without it. */
export function dropServer(text: string): string {
  const servers = readJsonc(text)[SERVERS];
  if (!isObject(servers) || servers[NAME] === undefined) return text;
  const isOnly = Object.keys(servers).length === 1;
  return dropAt(text, isOnly ? [SERVERS] : [SERVERS, NAME]);
}
