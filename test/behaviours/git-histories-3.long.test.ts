import { describe, expect, it } from "vitest";
import { playGitHistories } from "../helpers/git-histories.ts";
import { hasGit } from "../helpers/git-project.ts";

const SEEDS = [30, 31, 32, 33, 34, 35, 36, 37, 38, 39];

describe.skipIf(!hasGit)("random histories with operations of git, part 3 of 5", () => {
  it.each(SEEDS)("each undo brings files, HEAD, index, refs and stashes back (seed %i)", async (seed) => {
    await expect(playGitHistories(seed, 10)).resolves.toBeUndefined();
  });
});
