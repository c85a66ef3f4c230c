import { parse, TomlError } from "smol-toml";
import { isObject, malformed } from "./json-edit.ts";
import type { Misfit } from "./json-dialect.ts";
import { ownCommand } from "./agent-config.ts";

const BEGIN =
  "# >>> chronicle: made by `chronicle agents install codex`; `chronicle agents uninstall codex` removes it";
const END = "# <<< chronicle";
const IS_BEGIN = /^# >>> chronicle:/;
const IS_END = /^# <<< chronicle\s*$/;
const SERVER: readonly string[] = ["mcp_servers", "chronicle"];

/** Parses a text. Throws `REFUSED` for invalid TOML. */
export function readToml(text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text);
  } catch (error) {
    throw malformed(error instanceof Error ? (error.message.split("\n")[0] ?? "") : "it is no TOML");
  }
}

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

/**
 * Returns the words of the command line of the server `chronicle`, even if a person has written the server's entry.
 * Returns `undefined` if the text has no such server, or if the server does not run Chronicle.
 */
export function ourTomlServer(text: string): string[] | undefined {
  return ownCommand(serverIn(text));
}

export function hasTomlNamesake(text: string): boolean {
  return serverIn(text) !== undefined && ourTomlServer(text) === undefined;
}

/**
 * Returns the text with Chronicle's server. If the text has no server `chronicle`, a table between two marks (comments)
 * is appended. If Chronicle's table with these marks exists already, only its keys `command` and `args` are changed. A
 * server `chronicle` without marks, or one that does not run Chronicle, stays unchanged. Throws `REFUSED` if the text
 * is not valid TOML or the table cannot be written.
 */
export function putTomlServer(text: string, command: readonly string[]): string {
  const present = ourTomlServer(text);
  if (present !== undefined && isMarked(text)) return withCommand(text, present, command);
  if (serverIn(text) !== undefined) return text;
  const without = dropTomlServer(text);
  const gap = without === "" ? "" : without.endsWith("\n") ? "\n" : "\n\n";
  const [program, args] = keyLines(command);
  const result = `${without}${gap}${BEGIN}\n[${SERVER.join(".")}]\n${program}${args}${END}\n`;
  // If `mcp_servers` is an array of tables (`[[mcp_servers]]`), the appended table defines no server. If `mcp_servers`
  // is an inline table (`mcp_servers = {…}`), `serverIn` throws.
  if (serverIn(result) === undefined) throw malformed("the table mcp_servers cannot be added to");
  return result;
}

/**
 * Returns the text without the marked server. Removes only the marks and the server's tables. Other tables between the
 * marks stay, because Codex may have added them. If the server between the marks does not run Chronicle, only the marks
 * are removed. Throws `REFUSED` if the text is not valid TOML, or if the server is not written as a table.
 */
export function dropTomlServer(text: string): string {
  const isOurs = ourTomlServer(text) !== undefined;
  if (!isMarked(text)) return text;
  const lines = tomlLines(text);
  const isTaken = (line: TomlLine): boolean => isOurs && isOfServer(line);
  const isGap = (at: number): boolean => {
    const [line, next] = lines.slice(at, at + 2);
    return line?.text.trim() === "" && next !== undefined && (IS_BEGIN.test(next.text) || isTaken(next));
  };
  const left = lines.filter((line, at) => !isMark(line) && !isTaken(line) && !isGap(at));
  const result = left.map((line) => line.text).join("");
  if (isOurs && ourTomlServer(result) !== undefined) throw malformed(NO_TABLE);
  return result;
}

const NO_TABLE = "mcp_servers.chronicle is not written as a table of its own";

function isMarked(text: string): boolean {
  return tomlLines(text).some(isMark);
}

function isMark({ text, kind }: TomlLine): boolean {
  return kind === "between" && (IS_BEGIN.test(text) || IS_END.test(text));
}

/** True if a line belongs to the server's table or to a table inside it (`[mcp_servers.chronicle.env]`). */
function isOfServer({ table }: TomlLine): boolean {
  return table !== undefined && SERVER.every((key, at) => table[at] === key);
}

function keyLines(command: readonly string[]): [program: string, args: string] {
  const [program = "", ...args] = command;
  const values = args.map((arg) => JSON.stringify(arg)).join(", ");
  return [`command = ${JSON.stringify(program)}\n`, `args = [${values}]\n`];
}

function withCommand(text: string, present: readonly string[], command: readonly string[]): string {
  if (present.length === command.length && present.every((word, at) => word === command[at])) return text;
  const [program, args] = keyLines(command);
  const lines = tomlLines(text);
  const isKey = (line: TomlLine, key: RegExp): boolean =>
    line.kind === "key" && line.table?.length === SERVER.length && isOfServer(line) && key.test(line.text);
  const hasArgs = lines.some((line) => isKey(line, ARGS_KEY));
  const result = lines.map((line) => {
    if (isKey(line, COMMAND_KEY)) return hasArgs ? program : program + args;
    return isKey(line, ARGS_KEY) ? args : line.text;
  });
  const edited = result.join("");
  if (edited === text) throw malformed(NO_TABLE);
  return edited;
}

const COMMAND_KEY = /^\s*["']?command["']?\s*=/;
const ARGS_KEY = /^\s*["']?args["']?\s*=/;

/** A logical line of a TOML text. A value that extends over several rows belongs to one logical line. */
interface TomlLine {
  /** The text of the line, including its line breaks. */
  readonly text: string;
  /** The kind of the line. `between`: a comment or an empty line. */
  readonly kind: "header" | "key" | "between";
  /**
   * The name of the table to which the line belongs, as a list of keys; empty for lines before the first table.
   * `undefined` for a comment or an empty line after the last key of a table, because it may belong to the next table.
   */
  readonly table: readonly string[] | undefined;
}

/** Matches strings and comments. Brackets in them are not part of the structure. */
const OPAQUE = /"""(?:\\[\s\S]|[^\\])*?"""+|'''[\s\S]*?'''+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*/g;

/** Splits a text into logical lines. Joining the texts of these lines gives the whole text again. */
function tomlLines(text: string): TomlLine[] {
  const lines: TomlLine[] = [];
  let table: readonly string[] = [];
  let at = 0;
  for (const { length, kind } of shapes(text)) {
    const line = text.slice(at, at + length);
    at += length;
    if (kind === "header") table = keysOf(line);
    lines.push({ text: line, kind, table });
  }
  return lines.map((line, index) => (isBehindTable(lines, index) ? { ...line, table: undefined } : line));
}

function shapes(text: string): { readonly length: number; readonly kind: TomlLine["kind"] }[] {
  const masked = text.replace(OPAQUE, (found) => (found.startsWith("#") ? " " : "_").repeat(found.length));
  const rows = masked.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const shaped: { length: number; kind: TomlLine["kind"] }[] = [];
  let depth = 0;
  for (const row of rows) {
    const last = shaped.at(-1);
    if (depth > 0 && last !== undefined) last.length += row.length;
    else
      shaped.push({ length: row.length, kind: /^\s*\[/.test(row) ? "header" : row.trim() === "" ? "between" : "key" });
    depth += count(row, /[[{]/g) - count(row, /[\]}]/g);
  }
  return shaped;
}

function count(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}

function isBehindTable(lines: readonly TomlLine[], index: number): boolean {
  const next = lines.slice(index).find(({ kind }) => kind !== "between");
  return lines[index]?.kind === "between" && next?.kind !== "key";
}

/** Returns the keys in the header of a table: `a` and `b.c` for `[a."b.c"]` and for `[[a."b.c"]]`. */
function keysOf(header: string): string[] {
  const keys: string[] = [];
  for (let inner: unknown = parse(header); ;) {
    const table: unknown = Array.isArray(inner) ? inner[0] : inner;
    const [entry] = isObject(table) ? Object.entries(table) : [];
    if (entry === undefined) return keys;
    keys.push(entry[0]);
    inner = entry[1];
  }
}
