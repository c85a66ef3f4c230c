import { expect, it } from "vitest";
import { changeWords, omissionGroups, receiptOfSession, reasonOf } from "./omissions.ts";

it("what nobody intended to leave out comes first, then the larger groups", () => {
  const groups = omissionGroups([
    { path: "node_modules", reason: "excluded" },
    { path: "dist", reason: "excluded" },
    { path: "pipe", reason: "special" },
    { path: "dump", reason: "too-large" },
    { path: "x", reason: "something new" },
  ]);
  expect(groups.map(({ reason, isMeant, paths }) => [reason, isMeant, paths.length])).toEqual([
    ["too-large", false, 1],
    ["something new", false, 1],
    ["excluded", true, 2],
    ["special", true, 1],
  ]);
  expect([reasonOf("too-large"), reasonOf("something new")]).toEqual([
    "larger than the limit for one file",
    "something new",
  ]);
});

it("the receipt of a session has each path once, and losses first", () => {
  const coverage = (...paths: readonly string[]) => ({
    coverage: { complete: false, omitted: paths.map((path) => ({ path, reason: "unreadable" })) },
  });
  const gone = { path: "b", change_type: "deleted", reason: "excluded", kept: false, lost: true } as const;
  const made = { path: "a", change_type: "created", reason: "excluded", kept: true, lost: false } as const;
  const receipt = receiptOfSession(
    { omitted_changes: [made, gone], notes: [] },
    [coverage("x")],
    [coverage("x", "y"), { ...coverage(), omitted_changes: [gone] }],
  );
  expect(receipt.groups.map(({ paths }) => paths.map(({ path }) => path))).toEqual([["x", "y"]]);
  expect(receipt.changes.map((one) => `${one.path} ${changeWords(one)}`)).toEqual([
    "b removed; the content before cannot be brought back",
    "a created; an undo removes it",
  ]);
});
