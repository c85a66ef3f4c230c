import { expect, test } from "vitest";
import { parsePath } from "../../core/values/path.ts";
import { rowsOf } from "../../testing/index-rows.ts";
import { LastRows } from "./iteration-table.ts";

const A = parsePath("a");

test("gives the last row of a path up to a seq, if that row is known", () => {
  const rows = new LastRows();
  const [first, other, second, third] = rowsOf([
    ["a", "file:1"],
    ["b", "file:1"],
    ["a", "deleted"],
    ["a", "file:3"],
  ]);
  for (const row of [first, other, second]) if (row !== undefined) rows.put(row);
  expect([rows.at(A, 9), rows.at(A, 3), rows.at(A, 2), rows.at(A, 0)]).toEqual([second, second, first, undefined]);
  if (third !== undefined) rows.put(third);
  expect([rows.at(A, 4), rows.at(A, 3), rows.at(A, 2)]).toEqual([third, second, undefined]);
  rows.forget();
  expect(rows.at(A, 9)).toBeUndefined();
});

test("knows no row of a path whose rows come out of order", () => {
  const rows = new LastRows();
  for (const row of rowsOf([
    ["a", "file:1"],
    ["a", "file:2"],
  ]).toReversed())
    rows.put(row);
  expect(rows.at(A, 9)).toBeUndefined();
});

test("knows only a bounded number of paths, the ones that were recorded last", () => {
  const rows = new LastRows();
  const all = rowsOf(Array.from({ length: 40_000 }, (_, i) => [`f${i}`, "file:x"] as const));
  for (const row of all) rows.put(row);
  const known = all.filter(({ path }) => rows.at(path, 40_000) !== undefined);
  expect(known).toEqual(all.slice(-known.length));
  expect(known.length).toBeLessThan(40_000);
});
