import { expect, it } from "vitest";
import { ringsOf } from "./draw-lanes.ts";

it("places whose rings would overlap share one ring", () => {
  expect(ringsOf([100, 20, 30, 44, 59])).toEqual([
    [13, 51],
    [52, 66],
    [93, 107],
  ]);
  expect(ringsOf([])).toEqual([]);
});
