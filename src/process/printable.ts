import { stripVTControlCharacters, styleText } from "node:util";
import { quoteCommand } from "../core/shell/quote-command.ts";
import { withVisible } from "../core/values/invisible.ts";

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\u001b": "\\e" };

function escape(char: string): string {
  return SHORT[char] ?? `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Returns a text on one line. Escapes newlines, and every character that could move the cursor or hide text. */
export function printable(text: string): string {
  return withVisible(text, escape);
}

/** Like `printable`, but keeps newlines and tabs. */
export function printableText(text: string): string {
  return withVisible(text, (char) => (char === "\n" || char === "\t" ? char : escape(char)));
}

const ASCII = /^[\x20-\x7e]*$/;
const ZERO_WIDTH = /[\p{Mn}\p{Me}\u1160-\u11ff\u200b-\u200f\u2060]/u;
/** Characters that take two columns: those of East Asian scripts, full-width forms, and emoji. */
const DOUBLE_WIDTH =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
const EMOJI_VARIANT = "\ufe0f";

/**
 * Returns the number of terminal columns that a text takes, without its colours. Terminals differ in the width of an
 * emoji that is joined from several emoji. The result is the width in terminals that show the parts side by side.
 */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  let last = 0;
  for (const char of stripVTControlCharacters(text)) {
    // The emoji form of a narrow character takes two columns.
    const isWidened = char === EMOJI_VARIANT && last === 1;
    last = isWidened || !(char === EMOJI_VARIANT || ZERO_WIDTH.test(char)) ? (DOUBLE_WIDTH.test(char) ? 2 : 1) : 0;
    width += last;
  }
  return width;
}

/** Returns a text that takes at most `most` columns of a terminal. If the text is wider, `…` replaces its end. */
export function shortened(text: string, most: number): string {
  if (text.length <= most && ASCII.test(text)) return text;
  let width = 0;
  let kept = "";
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) {
    width += widthOf(segment);
    if (width > most) return most < 1 ? "" : `${kept}…`;
    if (width < most) kept += segment;
  }
  return text;
}

export function shownCommand(argv: readonly string[]): string {
  return printable(quoteCommand(argv));
}

export type Format = Parameters<typeof styleText>[0];

export type Paint = (format: Format, text: string) => string;

export function paintFor(colours: boolean): Paint {
  return colours ? (format, text) => styleText(format, text, { validateStream: false }) : (_format, text) => text;
}
