import { dropAt, isObject, malformed, putAt, readJsonc } from "./json-edit.ts";
import { ownCommand } from "./agent-config.ts";

const NAME = "chronicle";

/** The form of an MCP server's entry in an agent's JSON file. */
export interface ServerStyle {
  /** The name of the object that has the servers. */
  readonly key: string;
  /** Returns the entry for a program and its arguments. */
  entry(command: readonly string[]): Readonly<Record<string, unknown>>;
  /** Returns the words of the command line of an entry; `undefined` if the entry does not run Chronicle's `mcp`. */
  words(entry: unknown): string[] | undefined;
}

/**
 * The style that most agents have: `mcpServers`, with the program in `command` and its arguments in `args`. `extra`:
 * further fields that the agent requires in the entry.
 */
export function serversWithArgs(extra: Readonly<Record<string, unknown>> = {}): ServerStyle {
  return {
    key: "mcpServers",
    entry: ([command, ...args]) => ({ ...extra, command, args }),
    words: ownCommand,
  };
}

/** The style of opencode: `mcp`, with the program and its arguments in one list. */
export const OPENCODE_SERVERS: ServerStyle = {
  key: "mcp",
  entry: (command) => ({ type: "local", command }),
  words: (entry) => {
    const command: readonly unknown[] = isObject(entry) && Array.isArray(entry["command"]) ? entry["command"] : [];
    return ownCommand({ command: command[0], args: command.slice(1) });
  },
};

function serverIn(text: string, { key }: ServerStyle): unknown {
  const servers = readJsonc(text)[key];
  return isObject(servers) ? servers[NAME] : undefined;
}

export function ourServer(text: string, style: ServerStyle): string[] | undefined {
  return style.words(serverIn(text, style));
}

export function hasNamesake(text: string, style: ServerStyle): boolean {
  return serverIn(text, style) !== undefined && ourServer(text, style) === undefined;
}

/**
 * Returns the text with Chronicle's MCP server. Another server with the name of Chronicle's server stays unchanged. In
 * Chronicle's entry, the user's additions stay unchanged. Throws `REFUSED` if the value with the servers is no object.
 */
export function putServer(text: string, command: readonly string[], style: ServerStyle): string {
  const servers = readJsonc(text)[style.key];
  if (servers !== undefined && !isObject(servers)) throw malformed(`"${style.key}" is no object`);
  if (hasNamesake(text, style)) return text;
  const entry = style.entry(command);
  const present = servers?.[NAME];
  if (!isObject(present)) return putAt(text, [style.key, NAME], entry);
  return Object.entries(entry)
    .filter(([key, value]) => JSON.stringify(present[key]) !== JSON.stringify(value))
    .reduce((result, [key, value]) => putAt(result, [style.key, NAME, key], value), text);
}

export function dropServer(text: string, style: ServerStyle): string {
  const servers = readJsonc(text)[style.key];
  if (!isObject(servers) || ourServer(text, style) === undefined) return text;
  const isOnly = Object.keys(servers).length === 1;
  return dropAt(text, isOnly ? [style.key] : [style.key, NAME]);
}
