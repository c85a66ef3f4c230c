import { expect, it } from "vitest";
import { gitWords } from "./git-words.ts";

it("says what the files of a git folder are for, and shows other names as they are", () => {
  const refs = [{ name: "refs/heads/main", before: null, after: "1" }];
  expect(gitWords({ refs, also: ["index", "ORIG_HEAD", "logs/refs/stash"] })).toBe(
    "refs/heads/main, what is staged (the index), ORIG_HEAD, stashes",
  );
  expect(gitWords({ refs: [], also: ["a\u202e"] })).toBe("a\\u202e");
});
