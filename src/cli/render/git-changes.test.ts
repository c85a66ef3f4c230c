import { expect, it } from "vitest";
import { gitPlaceLines } from "./git-changes.ts";

const COMMIT = "0123456789".repeat(4);

it("names the branch and commit of each repository, or why its state is not recorded", () => {
  expect(
    gitPlaceLines([
      { path: ".git", head: { branch: "main", commit: COMMIT } },
      { path: "in/ner/.git", head: { branch: "new" } },
      { path: "sub/.git", head: { commit: COMMIT }, not_recorded: "keepAside is off" },
      { path: "", not_recorded: "there are more than 100 within the folder" },
    ]),
  ).toEqual([
    "main at 0123456; an undo of a run or of an agent's command restores this state",
    "in/ner: new at (no commit); an undo of a run or of an agent's command restores this state",
    "sub: detached HEAD at 0123456; its state is not recorded: keepAside is off",
    "others: their state is not recorded: there are more than 100 within the folder",
  ]);
});

it("counts the repositories that it does not list", () => {
  const all = Array.from({ length: 7 }, (_, at) => ({ path: `r${at}/.git`, head: { branch: "main" } }));
  expect(gitPlaceLines(all).slice(5)).toEqual(["and 2 more repositories"]);
});
