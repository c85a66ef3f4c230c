import { expect, it } from "vitest";
import { addAll, greatestOf, leastOf } from "./long-lists.ts";

/** More than a call takes as arguments. */
const MANY = 300_000;

it("appends, and finds the least and the greatest of, more items than a call takes arguments", () => {
  const numbers = Array.from({ length: MANY }, (_, i) => i);
  expect(() => Math.max(...numbers)).toThrow(RangeError);
  const list = [-1];
  addAll(list, numbers);
  expect([list.length, list[1], list.at(-1)]).toEqual([MANY + 1, 0, MANY - 1]);
  expect([leastOf(list), greatestOf(list)]).toEqual([-1, MANY - 1]);
});

it("says of nothing what Math says of it", () => {
  expect([leastOf([]), greatestOf([])]).toEqual([Math.min(), Math.max()]);
});
