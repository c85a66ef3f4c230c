import { inSlices } from "./yield-to-event-loop.ts";
import { expect, it } from "vitest";

it("gives all items in order, with a turn between one slice and the next", async () => {
  let turns = 0;
  let isOver = false;
  const tick = (): void => {
    turns += 1;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  const slices = await Array.fromAsync(inSlices([1, 2, 3, 4, 5, 6, 7], 2));
  isOver = true;
  expect(slices).toEqual([[1, 2], [3, 4], [5, 6], [7]]);
  expect(turns).toBeGreaterThanOrEqual(3);
  expect(await Array.fromAsync(inSlices([], 2))).toEqual([]);
});
