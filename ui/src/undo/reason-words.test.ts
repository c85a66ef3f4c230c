import { expect, it } from "vitest";
import { reasonWords } from "./reason-words.ts";

it.each([
  ["mode", undefined, "the permissions differ"],
  ["deleted", undefined, "deleted since"],
  ["deleted", "sync", "deleted here, edited at the origin"],
  ["content", "sync", "both changed the same lines"],
] as const)("the reason %s of a conflict (%s): %s", (reason, cause, words) => {
  expect(reasonWords({ reason, ...(cause === undefined ? {} : { cause }) })).toBe(words);
});
