import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/**
 * Makes an editor keep the ends of lines as they are in a text. By default, the editor takes every kind of line end, and
 * makes each the same. Read the text by `sliceDoc`, which puts the ends in again. What is pasted gets the same ends.
 */
export function keepingEnds(text: string): Extension {
  const end = /(^|[^\r])\n/.test(text) || !text.includes("\n") ? "\n" : "\r\n";
  return [
    EditorState.lineSeparator.of(end),
    EditorView.clipboardInputFilter.of((pasted) => pasted.replaceAll(/\r\n?|\n/g, end)),
  ];
}
