import { EditorState, Text } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepingEnds, lineEndsOf, plainSides } from "./line-ends.ts";

/** The editor of the result of a conflict whose sides are these texts. */
function editor(current: string, other = current): EditorState {
  const sides = plainSides(current, current, other);
  return EditorState.create({ doc: Text.of(sides.current.split("\n")), extensions: keepingEnds(sides.end) });
}

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

  it("gives every text back, whatever the other side is", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "\r\n", "\uFEFF", "\u2028") });
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(editor(one, other).sliceDoc()).toBe(one);
      }),
    );
  });

  it("ends a new line as the others, or as the other side if it has no line ends", () => {
    for (const [current, other] of [
      ["a\r\nb", "x\n"],
      ["ab", "x\r\n"],
    ] as const) {
      const state = editor(current, other);
      expect(state.update(state.replaceSelection(`x${state.lineBreak}`)).state.sliceDoc()).toBe(`x\r\n${current}`);
    }
  });
});

describe("the ends of lines", () => {
  it.each([
    ["", "none"],
    ["a\n", "LF"],
    ["\n", "LF"],
    ["a\r\nb\r\n", "CRLF"],
    ["a\r\n\n", "mixed"],
  ])("of %j are %s", (text, ends) => {
    expect(lineEndsOf(text)).toBe(ends);
  });

  it("are not compared, unless those of one text are mixed", () => {
    expect(plainSides("a\n", "a\r\n", "a\n")).toEqual({ base: "a\n", current: "a\n", other: "a\n", end: "\r\n" });
    const mixed = { base: "a\r\n", current: "a\r\n", other: "a\r\nb\n" };
    expect(plainSides(mixed.base, mixed.current, mixed.other)).toEqual({ ...mixed, end: "\n" });
  });
});
