import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/** How the lines of a text end: all the same, `mixed`, or no line has an end. */
export type LineEnds = "LF" | "CRLF" | "mixed" | "none";

export function lineEndsOf(text: string): LineEnds {
  if (!text.includes("\n")) return "none";
  if (!/(^|[^\r])\n/.test(text)) return "CRLF";
  return text.includes("\r\n") ? "mixed" : "LF";
}

export interface PlainSides {
  /** The texts with line feeds only. */
  readonly base: string;
  readonly current: string;
  readonly other: string;
  /** The end of each line of the result. */
  readonly end: "\n" | "\r\n";
}

/**
 * Returns the texts of a conflict as they are compared. If all lines of a text end the same, its ends are not compared:
 * the result has those of the current state. If the ends of one text are mixed, carriage returns are characters of the
 * lines, so that each stays where it is.
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
 * Makes an editor keep the ends of lines. By default, the editor takes every kind of line end, and makes each the same.
 * Read the text by `sliceDoc`, which puts the ends in again. What is pasted gets the same ends.
 */
export function keepingEnds(end: "\n" | "\r\n"): Extension {
  return [
    EditorState.lineSeparator.of(end),
    EditorView.clipboardInputFilter.of((pasted) => pasted.replaceAll(/\r\n?|\n/g, end)),
  ];
}
