import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The option of `git init` for a repository with its refs in a reftable. */
export const AS_REFTABLE = "--ref-format=reftable";

/**
 * The folder of a git that knows reftables: that of `$CHRONICLE_TEST_GIT` (see scripts/install-test-git.sh), or the
 * machine's own. `undefined` if there is none.
 */
export const reftableGit = [process.env["CHRONICLE_TEST_GIT"] ?? "", ""].find((folder) => {
  const at = mkdtempSync(join(tmpdir(), "chronicle-reftable-"));
  try {
    const program = folder === "" ? "git" : join(folder, "git");
    return spawnSync(program, ["init", "-q", AS_REFTABLE, at]).status === 0;
  } finally {
    rmSync(at, { recursive: true });
  }
});

if (reftableGit === undefined) {
  console.warn(
    "SKIPPED, SO NOT TESTED: undo in a repository with reftables, which git knows since 2.45. CHRONICLE_TEST_GIT=$(scripts/install-test-git.sh FOLDER)",
  );
}
