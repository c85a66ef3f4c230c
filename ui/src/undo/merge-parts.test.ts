import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bothOf, type MergePart, mergeParts } from "./merge-parts.ts";

const LINE = fc.constantFrom("a\n", "b\n", "c\n", "\n");
const TEXT = fc
  .tuple(fc.array(LINE, { maxLength: 12 }), fc.constantFrom("", "a", "z"))
  .map(([lines, last]) => lines.join("") + last);

/** Puts another text into the place of each part of the current text. */
function replaced(current: string, parts: readonly MergePart[], by: (part: MergePart) => string): string {
  let text = "";
  let at = 0;
  for (const part of parts) {
    text += current.slice(at, part.currentFrom) + by(part);
    at = part.currentFrom + part.current.length;
  }
  return text + current.slice(at);
}

describe("the parts of a conflict", () => {
  it("are what an undo would change, if nothing was edited since", () => {
    const base = "1\n2\n3\n4\n5\n";
    expect(mergeParts({ base, current: base, other: "1\ntwo\n3\n4\n" })).toEqual([
      { current: "2\n", other: "two\n", currentFrom: 2, otherFrom: 2, isDisputed: false },
      { current: "5\n", other: "", currentFrom: 8, otherFrom: 10, isDisputed: false },
    ]);
  });

  it("are not what only the current state has changed, and say where both have", () => {
    const parts = mergeParts({
      base: "1\n2\n3\n4\n5\n",
      current: "one\n2\n3\nfour\n5\n",
      other: "1\n2\n3\nIV\n5\nsix",
    });
    expect(parts).toEqual([
      { current: "four\n", other: "IV\n", currentFrom: 8, otherFrom: 6, isDisputed: true },
      { current: "", other: "six", currentFrom: 15, otherFrom: 11, isDisputed: false },
    ]);
  });

  it("are none where both sides did the same", () => {
    expect(mergeParts({ base: "1\n", current: "2\n", other: "2\n" })).toEqual([]);
  });

  it("give each side back to the last byte, wherever the texts end", () => {
    fc.assert(
      fc.property(TEXT, TEXT, (current, other) => {
        const parts = mergeParts({ base: current, current, other });
        expect(replaced(current, parts, (part) => part.other)).toBe(other);
        expect(replaced(current, parts, (part) => part.current)).toBe(current);
      }),
    );
  });

  it("have the places of both sides, whatever the base is", () => {
    fc.assert(
      fc.property(TEXT, TEXT, TEXT, (base, current, other) => {
        for (const part of mergeParts({ base, current, other })) {
          expect(current.startsWith(part.current, part.currentFrom)).toBe(true);
          expect(other.startsWith(part.other, part.otherFrom)).toBe(true);
        }
      }),
    );
  });

  it("are one part in a text that is another from the first line to the last", () => {
    const [current, other] = ["a", "b"].map((word) =>
      Array.from({ length: 4_000 }, (_, i) => `${word}${i}\n`).join(""),
    );
    const parts = mergeParts({ base: current ?? "", current: current ?? "", other: other ?? "" });
    expect(parts).toMatchObject([{ current, other }]);
  });

  it.each([
    ["a\n", "b\n", "a\nb\n"],
    ["a", "b", "a\nb"],
    ["", "b", "b"],
    ["a", "", "a"],
  ])("both sides of %j and %j are %j", (current, other, both) => {
    expect(bothOf({ current, other })).toBe(both);
  });
});
