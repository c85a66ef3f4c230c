import { styleText } from "node:util";
import { quoteCommand } from "../core/shell/quote-command.ts";
import { withVisible } from "../core/values/invisible.ts";

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\u001b": "\\e" };

function escape(char: string): string {
  return SHORT[char] ?? `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Makes foreign text one line, without anything that could move the cursor or hide text. */
export function printable(text: string): string {
  return withVisible(text, escape);
}

/** Like `printable`, but keeps newlines and tabs. */
export function printableText(text: string): string {
  return withVisible(text, (char) => (char === "\n" || char === "\t" ? char : escape(char)));
}

/** Returns a text of at most `most` characters. If the text is longer, `…` replaces its end. */
export function shortened(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

export function shownCommand(argv: readonly string[]): string {
  return printable(quoteCommand(argv));
}

export type Format = Parameters<typeof styleText>[0];

export type Paint = (format: Format, text: string) => string;

export function paintFor(colours: boolean): Paint {
  return colours ? (format, text) => styleText(format, text, { validateStream: false }) : (_format, text) => text;
}
