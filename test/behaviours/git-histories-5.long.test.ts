import { describe, expect, it } from "vitest";
import { playGitHistories } from "../helpers/git-histories.ts";
import { hasGit } from "../helpers/git-project.ts";

const SEEDS = [50, 51, 52, 53, 54, 55, 56, 57, 58, 59];

describe.skipIf(!hasGit)("random histories with operations of git, part 5 of 5", () => {
  it.each(SEEDS)("each undo brings files, HEAD, index, refs and stashes back (seed %i)", async (seed) => {
    await expect(playGitHistories(seed, 10)).resolves.toBeUndefined();
  });
});
