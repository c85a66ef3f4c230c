import { expect, test } from "vitest";
import { RecentMap } from "./recent-map.ts";

test("the keys that were put last are there, each with its latest value", () => {
  const map = new RecentMap<number, string>(3);
  for (const key of [1, 2, 1, 3, 1, 4]) map.put(key, `${key}`);
  map.put(2, "new");
  expect([1, 2, 3, 4].map((key) => map.get(key))).toEqual(["1", "new", "3", "4"]);
  map.delete(2);
  expect([1, 2].map((key) => map.get(key))).toEqual(["1", undefined]);
  map.clear();
  expect([1, 3, 4].map((key) => map.get(key))).toEqual([undefined, undefined, undefined]);
});

test("it holds at least as many of the latest keys as its size, and at most twice as many", () => {
  const map = new RecentMap<number, true>(100);
  for (let last = 0; last < 1_000; last += 1) {
    map.put(last, true);
    const known = Array.from({ length: last + 1 }, (_, key) => key).filter((key) => map.get(key) === true);
    expect(known.length).toBeGreaterThanOrEqual(Math.min(100, last + 1));
    expect(known.length).toBeLessThanOrEqual(200);
    expect(known).toEqual(Array.from(known, (_, at) => last - known.length + 1 + at));
  }
});
