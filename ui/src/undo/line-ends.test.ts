import { EditorState } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepingEnds } from "./line-ends.ts";

const editor = (doc: string): EditorState => EditorState.create({ doc, extensions: keepingEnds(doc) });

describe("an editor that keeps the ends of lines", () => {
  it.each([
    ["Unix", "a\nb\n", 3],
    ["Windows", "a\r\nb\r\n", 3],
    ["mixed", "a\r\nb\nc", 3],
    ["old Mac", "a\rb\r", 1],
    ["with a mark of the byte order", "\uFEFFa\r\n", 2],
    ["empty", "", 1],
  ])("gives the same text back: %s", (_name, text, lines) => {
    expect(editor(text).sliceDoc()).toBe(text);
    expect(editor(text).doc.lines).toBe(lines);
  });

  it("gives every text back", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "\r\n", "\uFEFF", "\u2028") });
    fc.assert(
      fc.property(text, (one) => {
        expect(editor(one).sliceDoc()).toBe(one);
      }),
    );
  });

  it("ends a new line as the others", () => {
    const state = editor("a\r\nb");
    expect(state.update(state.replaceSelection(`x${state.lineBreak}`)).state.sliceDoc()).toBe("x\r\na\r\nb");
  });
});
