import { styleText } from "node:util";
import { quoteCommand } from "../core/shell/quote-command.ts";
import { withVisible } from "../core/values/invisible.ts";

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\u001b": "\\e" };

function escape(char: string): string {
  return SHORT[char] ?? `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/**
 * Returns foreign text (a message, a command, a reason) on one line, without anything that could move the cursor or
 * hide text.
 */
export function printable(text: string): string {
  return withVisible(text, escape);
}

/** Does the same as `printable`, but keeps newlines and tabs, for texts of several lines. */
export function printableText(text: string): string {
  return withVisible(text, (char) => (char === "\n" || char === "\t" ? char : escape(char)));
}

/** Returns the beginning of a text, with `…` if it was cut. */
export function shortened(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** Returns a command in the form in which it could be typed, on one line. */
export function shownCommand(argv: readonly string[]): string {
  return printable(quoteCommand(argv));
}

/** A format of `styleText`. */
export type Format = Parameters<typeof styleText>[0];

/** A function that colours a text, or returns it unchanged. */
export type Paint = (format: Format, text: string) => string;

/** Returns a `Paint` for a sink that shows colours, or for one that does not. */
export function paintFor(colours: boolean): Paint {
  return colours ? (format, text) => styleText(format, text, { validateStream: false }) : (_format, text) => text;
}
