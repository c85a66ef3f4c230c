import { describe, expect, it } from "vitest";
import { playGitHistories } from "../helpers/git-histories.ts";
import { hasGit } from "../helpers/git-project.ts";

const SEEDS = [40, 41, 42, 43, 44, 45, 46, 47, 48, 49];

describe.skipIf(!hasGit)("random histories with operations of git, part 4 of 5", () => {
  it.each(SEEDS)("each undo brings files, HEAD, index, refs and stashes back (seed %i)", async (seed) => {
    await expect(playGitHistories(seed, 10)).resolves.toBeUndefined();
  });
});
