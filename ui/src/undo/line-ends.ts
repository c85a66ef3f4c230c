import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/**
 * The line ends of a text: `LF` or `CRLF` if all are the same, `mixed` if they differ, `none` if no line has an end.
 */
export type LineEnds = "LF" | "CRLF" | "mixed" | "none";

export function lineEndsOf(text: string): LineEnds {
  if (!text.includes("\n")) return "none";
  if (!/(^|[^\r])\n/.test(text)) return "CRLF";
  return text.includes("\r\n") ? "mixed" : "LF";
}

export interface PlainSides {
  /** The texts. If no text has mixed line ends, the lines of all texts end with line feeds only. */
  readonly base: string;
  readonly current: string;
  readonly other: string;
  /** The line end that each line of the result gets. */
  readonly end: "\n" | "\r\n";
}

/**
 * Returns the texts of a conflict in the form in which they are compared. If no text has mixed line ends, line ends are
 * not compared, and the result has the line ends of the current state. If the line ends of any text are mixed, carriage
 * returns count as characters of the lines, so that each of them stays where it is.
 */
export function plainSides(base: string, current: string, other: string): PlainSides {
  const ends = [base, current, other].map(lineEndsOf);
  if (ends.includes("mixed")) return { base, current, other, end: "\n" };
  const end = (ends[1] === "none" ? ends[2] : ends[1]) === "CRLF" ? "\r\n" : "\n";
  return { base: withPlainEnds(base), current: withPlainEnds(current), other: withPlainEnds(other), end };
}

/** Returns a text in which every line ends with a line feed alone. */
export function withPlainEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/**
 * Returns an extension that makes an editor keep the given line end. By default, the editor accepts every kind of line
 * end, and replaces all of them with `\n`. Read the text with `sliceDoc`, which inserts the given line end again.
 * Pasted text also gets this line end.
 */
export function keepingEnds(end: "\n" | "\r\n"): Extension {
  return [
    EditorState.lineSeparator.of(end),
    EditorView.clipboardInputFilter.of((pasted) => pasted.replaceAll(/\r\n?|\n/g, end)),
  ];
}
