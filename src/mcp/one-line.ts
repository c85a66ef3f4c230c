import { withVisible } from "../core/values/invisible.ts";

/** Returns the first `most` characters of a text. A text that was cut ends with `…`. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/**
 * Returns text from elsewhere (a file's name, a summary) on one line, so that a name with a line break cannot pass for
 * Chronicle's own text.
 */
export function oneLine(text: string, most = 300): string {
  return withVisible(shortened(text, most), (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** `1 path`, `2,000 paths`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
