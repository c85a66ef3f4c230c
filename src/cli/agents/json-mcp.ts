import { dropAt, isObject, malformed, putAt, readJsonc } from "./json-edit.ts";
import { ownCommand } from "./own-server.ts";

const SERVERS = "mcpServers";
const NAME = "chronicle";

function serverIn(text: string): unknown {
  const servers = readJsonc(text)[SERVERS];
  return isObject(servers) ? servers[NAME] : undefined;
}

/** The command line of Chronicle's MCP server in a text; `undefined`: there is none. */
export function ourServer(text: string): string[] | undefined {
  return ownCommand(serverIn(text));
}

/** Does a server of the user's own have the name of Chronicle's? */
export function hasNamesake(text: string): boolean {
  return serverIn(text) !== undefined && ourServer(text) === undefined;
}

/**
 * The text with Chronicle's MCP server in it: a server of the user's own with that name stays as it is, and so does what the user
 * added to Chronicle's. `extra`: what this agent wants to have beside the command.
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

/** The text without it. */
export function dropServer(text: string): string {
  const servers = readJsonc(text)[SERVERS];
  if (!isObject(servers) || ourServer(text) === undefined) return text;
  const isOnly = Object.keys(servers).length === 1;
  return dropAt(text, isOnly ? [SERVERS] : [SERVERS, NAME]);
}
