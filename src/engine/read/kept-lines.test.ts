import { expect, it } from "vitest";
import { type ContentMatches, memoryOf } from "../../core/text/line-search.ts";
import { SearchBudget } from "../../core/text/search-budget.ts";
import type { Hash } from "../../core/values/hash.ts";
import { sha256 } from "../../core/values/hash.ts";
import { KeptLines, type Outcomes } from "./kept-lines.ts";

const LINE = { line: 1, text: "x".repeat(100), spans: [0, 1], isCut: false };
const found = (lines: number): ContentMatches => ({
  ...{ isBinary: false, total: lines },
  lines: Array.from({ length: lines }, () => LINE),
});

function keep(most: number | undefined) {
  const order = ["a", "b", "c"].map((one): Hash => sha256(one));
  const outcomes: Outcomes = new Map();
  const budget = SearchBudget.of({ slow: 1, bytes: 30 * memoryOf(LINE) });
  const kept = new KeptLines({ outcomes, order, most, budget, dropAt: 8 * memoryOf(LINE) });
  const add = (at: number): void => {
    for (let i = 0; i < 9; i += 1) budget.take(memoryOf(LINE));
    kept.add(order[at] ?? sha256(""), found(9));
  };
  const counts = (): unknown[] =>
    order.map((hash) => {
      const outcome = outcomes.get(hash);
      return typeof outcome === "object" ? [outcome.lines.length, outcome.total] : outcome;
    });
  return { add, counts, budget };
}

it("keeps the lines that the answer shows first, whenever they come, and counts all", () => {
  const { add, counts, budget } = keep(12);
  add(2);
  add(1);
  add(0);
  expect(counts()).toEqual([
    [9, 9],
    [3, 9],
    [0, 9],
  ]);
  // The memory of 12 lines is in use.
  budget.take(18 * memoryOf(LINE));
  expect(() => budget.take(1)).toThrow("more lines match");
});

it("keeps all lines if all are needed", () => {
  const { add, counts } = keep(undefined);
  for (const at of [2, 1, 0]) add(at);
  expect(counts()).toEqual([
    [9, 9],
    [9, 9],
    [9, 9],
  ]);
  expect(() => add(0)).toThrow("more lines match");
});
