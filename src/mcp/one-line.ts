import { withVisible } from "../core/values/invisible.ts";

/** Returns the beginning of a text, with `…` if something was cut off. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/**
 * Returns text from elsewhere (a file's name, a summary) on one line, so that a name with a line break cannot look like
 * text of Chronicle's.
 */
export function oneLine(text: string, most = 300): string {
  return withVisible(shortened(text, most), (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns a number with its noun: `1 path`, `2,000 paths`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
