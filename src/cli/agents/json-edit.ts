import { applyEdits, type FormattingOptions, modify, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { ChronicleError } from "../../core/errors.ts";

/** A place in a JSON text. */
export type JsonPath = (string | number)[];

type JsonObject = Readonly<Record<string, unknown>>;

/** The object in a text of JSON with comments. Throws `REFUSED` for anything else: it is not written over. */
export function readJsonc(text: string): JsonObject {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw malformed(`${printParseErrorCode(error.error)} in line ${line}`);
  }
  if (!isObject(value)) throw malformed("it holds no object");
  return value;
}

/** The error for a file that must not be touched. */
export function malformed(why: string): ChronicleError {
  return new ChronicleError("REFUSED", `this configuration file cannot be read: ${why}`, {
    hint: "mend it first; nothing was written",
  });
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** As the text is indented already. */
function formatting(text: string): FormattingOptions {
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? "  ";
  const insertSpaces = !indent.startsWith("\t");
  return { insertSpaces, tabSize: insertSpaces ? indent.length : 1, eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

/** The text with one value set (`undefined`: removed; `insert`: put into an array); everything else stays as it is. */
export function editJsonc(text: string, path: JsonPath, value: unknown, insert = false): string {
  const options = { formattingOptions: formatting(text), isArrayInsertion: insert };
  return applyEdits(text, modify(text, path, value, options));
}
