import { quoteCommand } from "../core/shell/quote-command.ts";
import { withVisible } from "../core/values/invisible.ts";

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\u001b": "\\e" };

function escape(char: string): string {
  return SHORT[char] ?? `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/**
 * Foreign text (a message, a command, a reason) on one line, without anything that could move the cursor or hide text.
 */
export function printable(text: string): string {
  return withVisible(text, escape);
}

/** Like `printable`, but keeps lines and tabs: for texts of several lines. */
export function printableText(text: string): string {
  return withVisible(text, (char) => (char === "\n" || char === "\t" ? char : escape(char)));
}

/** The beginning of a text, with `…` if it was cut. */
export function shortened(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** A command as one could type it, on one line. */
export function shownCommand(argv: readonly string[]): string {
  return printable(quoteCommand(argv));
}
