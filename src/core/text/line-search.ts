import { isAscii } from "node:buffer";
import { ChronicleError } from "../values/errors.ts";
import { isBinary } from "./text-diff.ts";

/** A pattern for the lines of contents, as data that can be sent to a worker thread. */
export interface LinePattern {
  /** A JavaScript regular expression. If `isFixed` is true, the exact text to find. */
  readonly text: string;
  readonly isFixed: boolean;
  readonly ignoresCase: boolean;
}

/** A line that matches. */
export interface FoundLine {
  /** The number of the line, from 1. */
  readonly line: number;
  /** The line without its line break. If `isCut` is true, only the part of the line around the first match. */
  readonly text: string;
  /**
   * The positions of the first matches in `text`, in UTF-16 code units. For each match, the start and the end
   * (exclusive) follow each other in this array. An array of pairs would need four times the memory. Empty matches are
   * left out.
   */
  readonly spans: readonly number[];
  readonly isCut: boolean;
}

/** Estimates the memory that a found line needs, in bytes. */
export function memoryOf({ text, spans }: Pick<FoundLine, "text" | "spans">): number {
  return 160 + 2 * text.length + 8 * spans.length;
}

/** The matches of one content. For a binary content, `lines` is empty and `total` is 1. */
export interface ContentMatches {
  readonly isBinary: boolean;
  /** The first lines that match. */
  readonly lines: readonly FoundLine[];
  /** The number of all lines that match, including those that `lines` leaves out; at least 1. */
  readonly total: number;
}

/** The maximum length of a pattern, in characters. */
const MOST_PATTERN = 10_000;

/** The maximum length of the text of a found line, in UTF-16 code units. */
const MOST_TEXT = 4_000;

/**
 * The length, in UTF-16 code units, of the text before the first match in a cut line. The text is longer if the match
 * is near the end of the line.
 */
const TEXT_BEFORE = 200;

/** The maximum number of matches of one line that are reported. */
const MOST_SPANS = 100;

/**
 * Searches contents line by line. A line ends with LF or CRLF, and this line break is not searched. A byte order mark
 * at the beginning is not searched either. Bytes that are not UTF-8 are searched as U+FFFD.
 */
export class LineSearch {
  /** The pattern for a search within one line. */
  readonly #line: RegExp;
  /**
   * The pattern for a search in a whole content, for the next line that may match. The search misses no line that
   * `#line` matches: the pattern cannot look beyond the end of a line, and `^` and `$` match at the ends of every line.
   * `undefined` if the pattern may look beyond the end of a line, or may match long runs of lines. Then each line is
   * searched separately.
   */
  readonly #whole: RegExp | undefined;
  /**
   * The bytes of the pattern, which every matching content contains; `undefined` if the pattern is not plain text, or
   * ignores case.
   */
  readonly #literal: Buffer | undefined;

  /** Throws `USAGE` for an invalid pattern. */
  constructor({ text, isFixed, ignoresCase }: LinePattern) {
    refuseLength(text);
    if (isFixed && /[\r\n]/.test(text))
      throw new ChronicleError("USAGE", "the text has a line break", {
        hint: "each line is searched by itself: give the text of one line",
      });
    const source = isFixed ? text.replaceAll(SPECIAL, String.raw`\$&`) : text;
    const flags = (ignoresCase ? "gi" : "g") + (OF_CODE_POINTS.test(source) ? "u" : "");
    this.#line = compiled(text, source, flags);
    const isPlain = isFixed || PLAIN.test(text);
    this.#whole = isPlain || staysInLine(text) ? new RegExp(source, `${flags}m`) : undefined;
    this.#literal = isPlain && !ignoresCase ? Buffer.from(text) : undefined;
  }

  /**
   * Returns the matches, with at most `most` lines; `undefined` if no line matches. For each of these lines, calls
   * `take` with the memory that the line needs, in bytes, before the line is kept.
   */
  search(content: Uint8Array, most: number, take?: (bytes: number) => void): ContentMatches | undefined {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    if (this.#literal !== undefined && !bytes.includes(this.#literal)) return undefined;
    const isOfBytes = isBinary(bytes);
    const text = textOf(bytes);
    const lines: FoundLine[] = [];
    let [total, at, line, counted] = [0, 0, 1, 0];
    while (at < text.length) {
      const start = this.#candidate(text, at);
      if (start === undefined || start >= text.length) break;
      const end = endOf(text, start);
      const found = this.#foundIn(text.slice(start, isCarriage(text, start, end) ? end - 1 : end));
      if (found !== undefined) {
        if (isOfBytes) return { isBinary: true, lines: [], total: 1 };
        total += 1;
        if (lines.length < most) {
          line += newlines(text, counted, start);
          counted = start;
          take?.(memoryOf(found));
          lines.push({ line, ...found });
        }
      }
      at = end + 1;
    }
    return total === 0 ? undefined : { isBinary: false, lines, total };
  }

  /**
   * Returns the start of the first line that may match, among the line that begins at `at` and all later lines;
   * `undefined` if no line may match.
   */
  #candidate(text: string, at: number): number | undefined {
    if (this.#whole === undefined) return at;
    this.#whole.lastIndex = at;
    const found = this.#whole.exec(text);
    if (found === null) return undefined;
    return found.index === 0 ? 0 : text.lastIndexOf("\n", found.index - 1) + 1;
  }

  #foundIn(line: string): Omit<FoundLine, "line"> | undefined {
    this.#line.lastIndex = 0;
    const first = this.#line.exec(line);
    if (first === null) return undefined;
    const isCut = line.length > MOST_TEXT;
    const from = isCut ? Math.max(0, Math.min(first.index - TEXT_BEFORE, line.length - MOST_TEXT)) : 0;
    const text = isCut ? line.slice(from, from + MOST_TEXT).toWellFormed() : line;
    const spans: number[] = [];
    for (let match: RegExpExecArray | null = first; match !== null; match = this.#line.exec(line)) {
      const isEmpty = match[0] === "";
      const [start, end] = isEmpty ? [match.index, match.index] : wholeCharacters(line, match);
      if (start - from >= text.length || spans.length >= 2 * MOST_SPANS) break;
      if (!isEmpty) spans.push(Math.max(0, start - from), Math.min(end - from, text.length));
      // Continues behind the whole match. Otherwise, an empty match would be found endlessly, and a character that is
      // only partly matched would be found twice.
      this.#line.lastIndex = isEmpty ? start + lengthAt(line, start) : end;
    }
    return { text, spans, isCut };
  }
}

/**
 * Matches a pattern that has another meaning without the flag `u`: a pattern with `\p{`, `\P{` or `\u{`, or with a
 * character of two UTF-16 code units.
 */
const OF_CODE_POINTS = /(?<!\\)(?:\\\\)*\\[pPu]\{|[\u{10000}-\u{10FFFF}]/u;

/** Matches a text of one line in which no character has a special meaning in a regular expression. */
const PLAIN = /^[^\\^$.*+?()[\]{}|\r\n]+$/;

const SPECIAL = /[\\^$.*+?()[\]{}|/]/g;

/**
 * Matches the escapes that never match a line break, and also `\s`. `\s` can match line breaks, but white space is
 * short in nearly every text. `\1` to `\9` must not be followed by another digit, because two digits can be the octal
 * code of a line break.
 */
const SAFE_ESCAPES = /\\(?:[bBdwsSt.*+?^$|()[\]{}/\\-]|[1-9](?!\d))/g;

/** Matches an escape or a character class. */
const ESCAPES_AND_CLASSES = /\\.|\[(?:[^\\\]]|\\.)*\]/gs;

/**
 * Returns true if the pattern cannot look beyond the end of a line, and cannot match long runs of lines. Such a pattern
 * has no look-around, no inline flags, no negated class, no control characters, and only the escapes of `SAFE_ESCAPES`.
 * Returns false if in doubt.
 */
function staysInLine(source: string): boolean {
  const rest = source.replaceAll(SAFE_ESCAPES, "x");
  return !/\\|\[\^|\(\?(?!:|<[A-Za-z_$])/.test(rest) && !/\p{Cc}/u.test(rest) && !mayRunOverLines(source);
}

/**
 * Returns true if a character class may include line breaks, such as `[\s\S]` or `[\t-z]`. Also returns true if white
 * space may be repeated together with other text, as in `(a|\s)*`.
 */
function mayRunOverLines(source: string): boolean {
  const parts = Array.from(source.matchAll(ESCAPES_AND_CLASSES), ([part]) => part);
  if (parts.some((part) => part.startsWith("[") && /\\(?:s|[bt1-9]-)/.test(part))) return true;
  return parts.includes(String.raw`\s`) && /\)[*+{]/.test(source);
}

function refuseLength(text: string): void {
  if (text !== "" && text.length <= MOST_PATTERN) return;
  throw new ChronicleError("USAGE", text === "" ? "the pattern is empty" : "the pattern is too long", {
    hint: `give a pattern of 1 to ${MOST_PATTERN} characters`,
  });
}

function compiled(text: string, source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const reason = error.message.split(": ").at(-1) ?? error.message;
    throw new ChronicleError("USAGE", `${JSON.stringify(text)} is no valid pattern: ${reason.toLowerCase()}`, {
      hint: "a pattern is a JavaScript regular expression; with -F (fixed), the text is searched as it is",
    });
  }
}

function textOf(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString("latin1");
  const text = bytes.toString("utf8");
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/**
 * Returns the start and the end (exclusive) of a match, extended to whole characters. Without the flag `u`, a match can
 * begin or end between the two code units of a character.
 */
function wholeCharacters(line: string, { index, 0: { length } }: RegExpExecArray): [number, number] {
  const last = index + length - 1;
  return [index > 0 && lengthAt(line, index - 1) === 2 ? index - 1 : index, last + lengthAt(line, last)];
}

/** Returns the number of code units of the character that begins at `at`. */
function lengthAt(line: string, at: number): 1 | 2 {
  return (line.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function endOf(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end < 0 ? text.length : end;
}

/** Returns true if the line ends with CRLF. */
function isCarriage(text: string, start: number, end: number): boolean {
  return end > start && end < text.length && text.codePointAt(end - 1) === 0x0d;
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
