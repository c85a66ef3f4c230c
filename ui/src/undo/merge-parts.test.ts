import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bothOf, foldedLines, type MergePart, mergeSides, type Sides } from "./merge-parts.ts";

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

const mergeParts = (sides: Sides) => mergeSides(sides).parts;

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

describe("the equal lines of a conflict", () => {
  const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}\n`);

  it("are folded, but for three lines beside each difference, and short pieces", () => {
    const base = numbered(60);
    const sides = {
      base: base.join(""),
      // The lines 30 and 31 are edited by both sides, line 40 by the current one only, and line 45 by the other one.
      current: base.with(30, "mine\n").with(31, "mine\nmore\n").with(40, "mine\n").join(""),
      other: base.with(30, "theirs\n").with(31, "").with(45, "theirs\n").join(""),
    };
    const folded = foldedLines(sides, mergeSides(sides));
    expect(folded.map(({ text, lines }) => [text.split("\n")[0], text.split("\n").at(-1), lines])).toEqual([
      ["0", "26", 27],
      ["49", "59", 11],
    ]);
  });

  it("are the same lines at the same places of both sides, and leave no line out that differs", () => {
    const word = fc.constantFrom("a\n", "b\n", "c\n");
    const change = fc.tuple(fc.nat(39), word, fc.boolean());
    fc.assert(
      fc.property(fc.array(change, { maxLength: 5 }), (changes) => {
        const side = (isOther: boolean): string =>
          changes
            .reduce((lines, [at, text, of]) => (of === isOther ? lines.with(at, text) : lines), numbered(40))
            .join("");
        const sides = { base: numbered(40).join(""), current: side(false), other: side(true) };
        const merged = mergeSides(sides);
        for (const { currentFrom, otherFrom, text } of [...merged.equal, ...foldedLines(sides, merged)]) {
          expect(sides.current.slice(currentFrom).startsWith(text)).toBe(true);
          expect(sides.other.slice(otherFrom).startsWith(text)).toBe(true);
        }
        const length = merged.equal.reduce((sum, { text }) => sum + text.length, 0);
        const parts = merged.parts.reduce((sum, part) => sum + part.other.length, 0);
        const own = changes.filter(([, , of]) => !of).length * 3;
        expect(length + parts).toBeGreaterThanOrEqual(sides.other.length - own);
      }),
    );
  });

  it("are not folded where nothing differs", () => {
    const text = numbered(60).join("");
    const sides = { base: text, current: text, other: text };
    expect(foldedLines(sides, mergeSides(sides))).toEqual([]);
  });
});
