import { createScanner, parse, type ParseError, printParseErrorCode, stripComments } from "jsonc-parser";

export interface JsonDialect {
  /** True if comments as in JavaScript are accepted. */
  readonly comments: boolean;
  /** True if a comma before a closing bracket is accepted. Default: false. */
  readonly trailingComma?: boolean;
  /** True if U+FEFF before the first character is accepted. */
  readonly byteOrderMark: boolean;
}

/** The first reason why a client does not accept a file. */
export interface Misfit {
  /** The reason as a text that can follow "line 3: ". */
  readonly what: string;
  readonly line: number;
  /** The next step for the person. */
  readonly hint: string;
}

/** Returns the number of the line at an offset. The first line is 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/**
 * Returns the reason why a client does not accept a text as a JSON object; `undefined` if the client accepts the text.
 */
export function jsonMisfit(
  text: string,
  { comments, trailingComma = false, byteOrderMark }: JsonDialect,
): Misfit | undefined {
  const isMarked = text.startsWith("\uFEFF");
  if (isMarked && !byteOrderMark) {
    const hint = "save the file as UTF-8 without a byte order mark";
    return { what: "a byte order mark stands before the first character", line: 1, hint };
  }
  const plain = isMarked ? text.slice(1) : text;
  if (plain.trim() === "") return { what: "the file is empty", line: 1, hint: "put {} into it, or remove it" };
  const errors: ParseError[] = [];
  const value: unknown = parse(plain, errors, { disallowComments: !comments, allowTrailingComma: trailingComma });
  const [error] = errors;
  if (error !== undefined) return { ...inWords(plain, error), line: lineAt(plain, error.offset) };
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    // A client that accepts trailing commas parses with `jsonc-parser` itself.
    return trailingComma ? undefined : otherMisfit(comments ? stripComments(plain, " ") : plain);
  return { what: "the file holds no object", line: 1, hint: "put its settings between { and }" };
}

function inWords(text: string, { error, offset }: ParseError): Omit<Misfit, "line"> {
  const name = printParseErrorCode(error);
  if (name === "InvalidCommentToken") {
    return { what: "a comment, and only plain JSON is taken", hint: "remove every comment from the file" };
  }
  const isClosing = text[offset] === "}" || text[offset] === "]";
  if (isClosing && text[lastTokenBefore(text, offset)] === ",") {
    return { what: "a comma before a closing bracket", hint: "remove that comma" };
  }
  return { what: WORDS[name] ?? "no JSON", hint: "make it valid JSON" };
}

const WORDS: Readonly<Record<string, string>> = {
  InvalidSymbol: "a word that JSON does not have (names and texts stand in double quotes)",
  InvalidNumberFormat: "an invalid number",
  PropertyNameExpected: "a name in double quotes is missing",
  ValueExpected: "a value is missing",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  CloseBraceExpected: "a closing } is missing",
  CloseBracketExpected: "a closing ] is missing",
  EndOfFileExpected: "text behind the end of the settings",
  UnexpectedEndOfString: "a text without its closing quote",
  InvalidEscapeCharacter: "a backslash before a character that JSON does not escape",
  InvalidUnicode: "a \\u without four hexadecimal digits",
  InvalidCharacter: "a control character within a text",
};

/** Returns the offset of the last token before `offset`. A comment does not count as a token. */
function lastTokenBefore(text: string, offset: number): number {
  const scanner = createScanner(text, true);
  let last = 0;
  for (scanner.scan(); scanner.getTokenOffset() < offset; scanner.scan()) last = scanner.getTokenOffset();
  return last;
}

/**
 * Returns an error that only `JSON.parse` detects; `undefined` if there is no such error. The clients use `JSON.parse`,
 * which accepts slightly less than `jsonc-parser`.
 */
function otherMisfit(text: string): Misfit | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const what = error instanceof Error ? error.message : "no JSON";
    const offset = Number(/at position (\d+)/.exec(what)?.[1] ?? 0);
    return { what, line: lineAt(text, offset), hint: "make it valid JSON" };
  }
}
