import { describe, expect, it } from "vitest";
import { playGitHistories } from "../helpers/git-histories.ts";
import { hasGit } from "../helpers/git-project.ts";

/** Ten histories for each seed. `GIT_SEEDS=50` plays 500 histories. */
const SEEDS = Number(process.env["GIT_SEEDS"] ?? 6);

describe.skipIf(!hasGit)("random histories with operations of git", () => {
  it.each(Array.from({ length: SEEDS }, (_, at) => 10 + at))(
    "each undo brings files, HEAD, index, refs and stashes back (seed %i)",
    async (seed) => {
      await expect(playGitHistories(seed, 10)).resolves.toBeUndefined();
    },
  );
});
