import {
  createScanner,
  findNodeAtLocation,
  type Node,
  parse,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { ChronicleError } from "../../core/values/errors.ts";
import { lineAt } from "./json-dialect.ts";

/** The path of a value in a JSON text: the names and indexes that lead to the value. */
export type JsonPath = (string | number)[];

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Parses a text as one JSON object. Comments and trailing commas are accepted. Throws `REFUSED` for any other text, so
 * that a file with such a text is not overwritten.
 */
export function readJsonc(text: string): JsonObject {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    throw malformed(`${printParseErrorCode(error.error)} in line ${lineAt(text, error.offset)}`);
  }
  if (!isObject(value)) throw malformed("it holds no object");
  return value;
}

export function malformed(why: string): ChronicleError {
  return new ChronicleError("REFUSED", `this configuration file cannot be read: ${why}`, {
    hint: "mend this file first; nothing was written",
  });
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface Style {
  readonly step: string;
  readonly eol: string;
}

function styleOf(text: string): Style {
  return { step: /^([ \t]+)"/m.exec(text)?.[1] ?? "  ", eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function written(value: unknown, { step, eol }: Style, indent: string): string {
  return JSON.stringify(value, null, step).replaceAll("\n", eol + indent);
}

function treeOf(text: string): Node {
  const tree = parseTree(text, [], { allowTrailingComma: true });
  if (tree === undefined) throw malformed("it is empty");
  return tree;
}

/**
 * Throws `REFUSED` if a name on the path occurs twice in its object. Clients use the last occurrence, but an edit would
 * change the first.
 */
function refuseTwice(text: string, tree: Node, path: JsonPath): void {
  path.forEach((key, depth) => {
    const object = findNodeAtLocation(tree, path.slice(0, depth));
    if (object?.type !== "object") return;
    const named = (object.children ?? []).filter((property) => property.children?.[0]?.value === key);
    if (named.length < 2) return;
    const lines = named.map(({ offset }) => lineAt(text, offset)).join(" and ");
    throw malformed(`${JSON.stringify(key)} occurs more than once in one object, in lines ${lines}`);
  });
}

/**
 * Returns the offset of the first comma between `from` and `to`, not counting commas in comments. Returns `undefined`
 * if there is no such comma.
 */
function commaAfter(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text);
  scanner.setPosition(from);
  for (;;) {
    scanner.scan();
    const at = scanner.getTokenOffset();
    // The scanner returns the end of the text as a token, so the loop ends.
    if (at >= to) return undefined;
    if (text[at] === ",") return at;
  }
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

function spliced(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}

/**
 * Returns the text with a value at a path. If the path has a value already, the new value replaces it. Otherwise, the
 * new value is appended to the object or list around it, and missing objects on the path are added. Comments and the
 * formatting of other entries do not change. Throws `REFUSED` if a name on the path occurs twice.
 */
export function putAt(text: string, path: JsonPath, value: unknown): string {
  const tree = treeOf(text);
  refuseTwice(text, tree, path);
  const present = findNodeAtLocation(tree, path);
  const style = styleOf(text);
  if (present !== undefined) {
    const indent = indentAt(text, present.offset);
    return spliced(text, present.offset, endOf(present), written(value, style, indent));
  }
  let depth = path.length - 1;
  let into = findNodeAtLocation(tree, path.slice(0, depth));
  while (into === undefined && depth > 0) into = findNodeAtLocation(tree, path.slice(0, (depth -= 1)));
  const nested = path.slice(depth + 1).reduceRight((inner, key) => ({ [key]: inner }), value);
  return insertInto(text, into ?? tree, { key: path[depth], value: nested });
}

function insertInto(
  text: string,
  into: Node,
  { key, value }: { readonly key: string | number | undefined; readonly value: unknown },
): string {
  const style = styleOf(text);
  const outer = indentAt(text, into.offset);
  const indent = outer + style.step;
  const name = typeof key === "string" ? `${JSON.stringify(key)}: ` : "";
  const item = `${style.eol}${indent}${name}${written(value, style, indent)}`;
  const close = endOf(into) - 1;
  const last = into.children?.at(-1);
  // The item is inserted after any comment that follows the last entry, and the bracket is put on its own line.
  const at = text.slice(0, close).trimEnd().length;
  const result = spliced(text, at, close, `${item}${style.eol}${outer}`);
  if (last === undefined || commaAfter(text, endOf(last), close) !== undefined) return result;
  return spliced(result, endOf(last), endOf(last), ",");
}

/**
 * Returns the text without the value at a path. If the removal leaves an empty line, the line is removed as well.
 * Throws `REFUSED` if a name on the path occurs twice.
 */
export function dropAt(text: string, path: JsonPath): string {
  const tree = treeOf(text);
  refuseTwice(text, tree, path);
  const found = findNodeAtLocation(tree, path);
  if (found === undefined) return text;
  const node = found.parent?.type === "property" ? found.parent : found;
  const siblings = node.parent?.children ?? [];
  const before = siblings[siblings.indexOf(node) - 1];
  const close = node.parent === undefined ? text.length : endOf(node.parent) - 1;
  const following = commaAfter(text, endOf(node), close);
  const end = following === undefined ? endOf(node) : following + 1;
  const result = withoutLine(text, node.offset, end);
  const comma =
    following === undefined && before !== undefined ? commaAfter(text, endOf(before), node.offset) : undefined;
  return comma === undefined ? result : spliced(result, comma, comma + 1, "");
}

function withoutLine(text: string, from: number, to: number): string {
  const start = text.slice(0, from).replace(/[ \t]+$/, "").length;
  const rest = /^[ \t]*\r?\n/.exec(text.slice(to));
  const isOwnLine = start === 0 || text[start - 1] === "\n";
  if (isOwnLine && rest !== null) return spliced(text, start, to + rest[0].length, "");
  return spliced(text, start, to, "");
}
