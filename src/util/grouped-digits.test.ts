import fc from "fast-check";
import { expect, it } from "vitest";
import { groupedDigits } from "./grouped-digits.ts";

it("groups the digits of any safe integer as en-US does", () => {
  for (const count of [0, 1, 12, 999, 1_000, 1_000_000, -999, -1_000]) {
    expect(groupedDigits(count)).toBe(count.toLocaleString("en-US"));
  }
  fc.assert(
    fc.property(fc.maxSafeInteger(), (count) => {
      expect(groupedDigits(count)).toBe(count.toLocaleString("en-US"));
    }),
  );
});
