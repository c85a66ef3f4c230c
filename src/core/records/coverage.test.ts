import { expect, it } from "vitest";
import { isMeant, reasonsWith } from "./coverage.ts";

it.each([
  ["isMeant", ["excluded", "special", "store", "other-device", "off-record", "erased"]],
  ["isByRule", ["excluded", "store", "other-device", "special"]],
  ["notRead", ["unreadable", "too-large", "special", "store", "other-device", "off-record", "erased", "name-too-long"]],
  ["neverKept", ["special", "other-device", "off-record", "erased"]],
  ["notCompared", ["store", "unstable"]],
  ["keepsEarlier", ["unreadable", "too-large", "over-limit", "unstable", "name-too-long", "erased"]],
  ["isStale", ["unreadable", "too-large", "unstable", "name-too-long", "off-record", "erased"]],
  ["outgrown", ["unreadable", "too-large"]],
] as const)("the trait %s holds for these reasons, and for no other", (trait, reasons) => {
  expect([...reasonsWith(trait)].toSorted()).toEqual(reasons.toSorted());
});

it("an omission for a reason that this version does not know does not count as intended", () => {
  for (const reason of ["of-a-later-version", "constructor", "__proto__"]) expect(isMeant({ reason })).toBe(false);
});
