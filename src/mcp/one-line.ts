import { withVisible } from "../core/values/invisible.ts";
import { groupedDigits } from "../util/grouped-digits.ts";

/** Returns a text of at most `most` UTF-16 code units. If the text is longer, `…` replaces its end. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/**
 * Returns text from elsewhere (a file's name, a summary) on one line. The text is cut to `most` UTF-16 code units
 * first. After the cut, line breaks and other invisible characters become `\u{…}`, so that a name cannot pass for
 * Chronicle's own text. The result can therefore be longer than `most`.
 */
export function oneLine(text: string, most = 300): string {
  return withVisible(shortened(text, most), (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns a count with its noun: `1 path`, `2,000 paths`. */
export function counted(count: number, noun: string): string {
  return `${groupedDigits(count)} ${noun}${count === 1 ? "" : "s"}`;
}
