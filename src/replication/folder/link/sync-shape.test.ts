import { expect, it } from "vitest";
import { hintFor } from "./sync-shape.ts";

it.each([
  ["not_found", "#NAME"],
  ["unauthenticated", "--token-file FILE"],
  ["forbidden", "another token"],
  ["format_unsupported", "same version"],
  ["mass-deletion", "--accept-deletions"],
  ["nested", "lies beside both"],
  ["something-new", "then resume"],
])("what to do about a sync that is halted by %s", (reason, hint) => {
  expect(hintFor({ reason })).toContain(hint);
});

it("a stopped one need not be stopped", () => {
  expect(hintFor({ reason: "nested" }, true)).toContain("chronicle forget");
});
