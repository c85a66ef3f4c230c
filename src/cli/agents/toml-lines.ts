import { parse } from "smol-toml";
import { isObject } from "./json-edit.ts";

/** A line of a TOML text. A value over several rows is one line. */
export interface TomlLine {
  /** The line, with its line break. */
  readonly text: string;
  /** `between`: a comment, or an empty line. */
  readonly kind: "header" | "key" | "between";
  /**
   * The name of the line's table, key by key; empty at the beginning of a text. `undefined` for a comment or an empty
   * line behind the last key of a table: it introduces the next table, or closes the text.
   */
  readonly table: readonly string[] | undefined;
}

/** Matches strings and comments, whose content says nothing about the structure. */
const OPAQUE = /"""(?:\\[\s\S]|[^\\])*?"""+|'''[\s\S]*?'''+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*/g;

/** Returns the lines of a valid TOML text. Joined, they are the text. */
export function tomlLines(text: string): TomlLine[] {
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

/** Returns the length and kind of each line, from the text without its strings and comments. */
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

/** Returns the keys that a header names: `[a."b.c"]` and `[[a."b.c"]]` name `a` and `b.c`. */
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
