import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DiffBudget } from "./text-diff.ts";
import { LineTables, type PassedLines } from "./line-tables.ts";

function passedOf(now: string, old: string): PassedLines {
  const tables = new LineTables(new DiffBudget());
  const [table, before] = [tables.of(Buffer.from(now, "latin1")), Buffer.from(old, "latin1")];
  const at = [...table.ids.keys()];
  const compared = tables.compare(table, before);
  expect(compared.old).toEqual(tables.of(before));
  return compared.pass({ at, lines: at });
}

const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

describe("LineTables", () => {
  it("passes the lines that the earlier content has, at their places in it", () => {
    const { passed, kept } = passedOf("a\nnew\nb\nc\n", "a\nb\nlost\nc\n");
    expect(passed).toEqual({ lines: [0, 2, 3], at: [0, 1, 3] });
    expect(kept).toEqual({ lines: [1], at: [1] });
  });

  it("regards a line with another end as another line", () => {
    expect(passedOf("a\nb", "a\nb\n").kept.lines).toEqual([1]);
    expect(passedOf("a\r\nb\r\n", "a\nb\r\n").kept.lines).toEqual([0]);
    expect(passedOf("a\nb\n", "a").kept.lines).toEqual([0, 1]);
    expect(passedOf("\u00ff\u00fe\n\u0080\n", "\u0080\n").kept.lines).toEqual([0]);
    expect(passedOf("a", "a").kept.lines).toEqual([]);
  });

  it("passes every line to an equal content, and none to an empty one", () => {
    expect(passedOf("a\na\na\n", "a\na\na\n").passed.at).toEqual([0, 1, 2]);
    expect(passedOf("a\na\n", "").kept.lines).toEqual([0, 1]);
    expect(passedOf("", "a\n")).toEqual({ passed: { at: [], lines: [] }, kept: { at: [], lines: [] } });
  });

  it("never passes a line to other bytes, and passes at least all lines of a content to which lines were added", () => {
    const text = fc.array(fc.constantFrom("a\n", "b\n", "c\r\n", "\n", "long line\n"), { maxLength: 40 });
    fc.assert(
      fc.property(text, text, fc.constantFrom("", "end"), (before, inserted, end) => {
        const old = before.join("") + end;
        const now = before.slice(0, 5).join("") + inserted.join("") + before.slice(5).join("") + end;
        const { passed, kept } = passedOf(now, old);
        const [nowLines, oldLines] = [linesOf(now), linesOf(old)];
        for (const [i, at] of passed.at.entries()) expect(oldLines[at]).toBe(nowLines[passed.lines[i] ?? 0]);
        expect(passed.lines.length + kept.lines.length).toBe(nowLines.length);
        expect(kept.lines.length).toBeLessThanOrEqual(inserted.length);
        expect(passed.at).toEqual(passed.at.toSorted((a, b) => a - b));
      }),
    );
  });

  it("finds the difference wherever it lies in a large content", () => {
    const lines = Array.from({ length: 3_000 }, (_, i) => `line ${i}\n`);
    for (const at of [0, 1, 777, 1_500, 2_999]) {
      const now = lines.toSpliced(at, 1, "changed\n").join("");
      expect(passedOf(now, lines.join("")).kept.lines).toEqual([at]);
    }
  });
});
