import { expect, it } from "vitest";
import { addAll, greatestOf, leastOf } from "./long-lists.ts";

/** More items than a function call takes as arguments. */
const MANY = 300_000;

it("appends more items than a function call takes as arguments, and finds the least and the greatest of them", () => {
  const numbers = Array.from({ length: MANY }, (_, i) => i);
  expect(() => Math.max(...numbers)).toThrow(RangeError);
  const list = [-1];
  addAll(list, numbers);
  expect([list.length, list[1], list.at(-1)]).toEqual([MANY + 1, 0, MANY - 1]);
  expect([leastOf(list), greatestOf(list)]).toEqual([-1, MANY - 1]);
});

it("gives the least and the greatest of no items as Math does", () => {
  expect([leastOf([]), greatestOf([])]).toEqual([Math.min(), Math.max()]);
});
