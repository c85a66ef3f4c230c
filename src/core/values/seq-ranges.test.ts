import fc from "fast-check";
import { expect, it } from "vitest";
import type { Json } from "./event.ts";
import { decodeRanges, holdsSeq, rangesOf } from "./seq-ranges.ts";

it("ranges hold exactly the given numbers, and no two ranges are adjacent", () => {
  const numbers = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 60 });
  fc.assert(
    fc.property(numbers, (given) => {
      const ranges = rangesOf(given);
      const set = new Set(given);
      for (let seq = 0; seq <= 61; seq += 1) expect(holdsSeq(ranges, seq)).toBe(set.has(seq));
      for (const [first, last] of ranges) expect([set.has(first - 1), set.has(last + 1)]).toEqual([false, false]);
      expect(decodeRanges(JSON.parse(JSON.stringify(ranges)) as Json)).toEqual(ranges);
    }),
  );
});

it.each<[string, Json]>([
  ["no list", {}],
  ["a list of numbers", [3]],
  ["a range that ends before it begins", [[3, 2]]],
  [
    "ranges out of order",
    [
      [3, 4],
      [1, 2],
    ],
  ],
  ["a range of a fraction", [[1.5, 2]]],
])("%s is refused", (_name, value) => {
  expect(() => decodeRanges(value)).toThrow(/not/);
});
