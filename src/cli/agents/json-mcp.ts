import { dropAt, isObject, malformed, putAt, readJsonc } from "./json-edit.ts";
import { ownCommand } from "./agent-config.ts";

const SERVERS = "mcpServers";
const NAME = "chronicle";

function serverIn(text: string): unknown {
  const servers = readJsonc(text)[SERVERS];
  return isObject(servers) ? servers[NAME] : undefined;
}

export function ourServer(text: string): string[] | undefined {
  return ownCommand(serverIn(text));
}

export function hasNamesake(text: string): boolean {
  return serverIn(text) !== undefined && ourServer(text) === undefined;
}

/**
 * Returns the text with Chronicle's MCP server. Another server with the same name stays unchanged, and so do the user's
 * additions to Chronicle's entry. `extra`: further fields that the agent requires in the entry. Throws `REFUSED` if
 * `mcpServers` is no object.
 */
export function putServer(text: string, command: readonly string[], extra: Readonly<Record<string, unknown>>): string {
  const servers = readJsonc(text)[SERVERS];
  if (servers !== undefined && !isObject(servers)) throw malformed(`"${SERVERS}" is no object`);
  if (hasNamesake(text)) return text;
  const [program, ...args] = command;
  const entry = { ...extra, command: program, args };
  const present = servers?.[NAME];
  if (!isObject(present)) return putAt(text, [SERVERS, NAME], entry);
  return Object.entries(entry)
    .filter(([key, value]) => JSON.stringify(present[key]) !== JSON.stringify(value))
    .reduce((result, [key, value]) => putAt(result, [SERVERS, NAME, key], value), text);
}

export function dropServer(text: string): string {
  const servers = readJsonc(text)[SERVERS];
  if (!isObject(servers) || ourServer(text) === undefined) return text;
  const isOnly = Object.keys(servers).length === 1;
  return dropAt(text, isOnly ? [SERVERS] : [SERVERS, NAME]);
}
