import { expect, it } from "vitest";
import { NO_RULES, pruneOptions } from "./prune-rules.ts";

it("the typed rules are the options of a prune, and without any the limits apply", () => {
  expect(pruneOptions(NO_RULES)).toEqual({});
  expect(pruneOptions({ last: "5", days: " 7 ", daily: "0", isWithPins: true })).toEqual({
    ...{ keepLast: 5, keepWithinMs: 604_800_000, keepDaily: 0, keepPinned: false },
  });
});

it.each(["-1", "1.5", "x", "12345678"])("what is no number gives no prune: %s", (last) => {
  expect(pruneOptions({ ...NO_RULES, last })).toBeUndefined();
});
