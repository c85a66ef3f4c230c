import { describe, expect, it } from "vitest";
import { playGitHistories } from "../helpers/git-histories.ts";
import { hasGit } from "../helpers/git-project.ts";

const SEEDS = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

describe.skipIf(!hasGit)("random histories with operations of git, part 1 of 5", () => {
  it.each(SEEDS)("each undo brings files, HEAD, index, refs and stashes back (seed %i)", async (seed) => {
    await expect(playGitHistories(seed, 10)).resolves.toBeUndefined();
  });
});
