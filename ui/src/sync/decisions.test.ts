import { expect, it } from "vitest";
import type { SyncShape } from "../../../src/api/sync-api.ts";
import { decisionsOf } from "./decisions.ts";

const sync = (halted: string): SyncShape => ({
  ...{
    id: "s1",
    folder: "/home/a/notes",
    upstream: "https://files.example.org",
    workspace: "w1",
    mode: "two-way-safe",
  },
  ...{ state: "halted", halted, reason: "80 of 90 entries were deleted here at once", peer: null },
  ...{ lag: 0, pending: 0, conflicts: 0, applied: 1, head: 1 },
});

it.each([
  ["mass-deletion", ["restore", "deletions"]],
  ["root-emptied", ["restore", "deletions"]],
  ["forked", ["as-new"]],
  ["diverged", ["rejoin"]],
  ["nested", []],
  ["constructor", []],
])("the decisions about a sync that is halted as %s: %o", (halted, accepted) => {
  expect(decisionsOf(sync(halted)).map(({ accept }) => accept)).toEqual(accepted);
});

it.each(["mass-deletion", "forked", "diverged"])("each decision names the reason, and both sides: %s", (halted) => {
  for (const { happens } of decisionsOf(sync(halted))) {
    expect(happens[0]).toContain("80 of 90 entries");
    for (const side of ["/home/a/notes", "https://files.example.org"]) expect(happens.join(" ")).toContain(side);
  }
});

it("only the decision that deletes is shown as a loss", () => {
  const all = ["mass-deletion", "forked", "diverged"].flatMap((halted) => decisionsOf(sync(halted)));
  expect(all.filter(({ isLoss }) => isLoss).map(({ accept }) => accept)).toEqual(["deletions"]);
});
