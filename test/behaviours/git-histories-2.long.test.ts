import { describe, expect, it } from "vitest";
import { playGitHistories } from "../helpers/git-histories.ts";
import { hasGit } from "../helpers/git-project.ts";

const SEEDS = [20, 21, 22, 23, 24, 25, 26, 27, 28, 29];

describe.skipIf(!hasGit)("random histories with operations of git, part 2 of 5", () => {
  it.each(SEEDS)("each undo brings files, HEAD, index, refs and stashes back (seed %i)", async (seed) => {
    await expect(playGitHistories(seed, 10)).resolves.toBeUndefined();
  });
});
