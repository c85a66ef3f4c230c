import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { baseEnv, runCommand, type Command } from "./command.ts";
import type { Kept, Tool } from "./tool.ts";

/**
 * git with a new repository outside of the tree. Git's automatic collection is off, because it would run during the
 * next measurement, and because the promise compares with git's loose objects.
 */
export const gitTool: Tool = {
  name: "git",
  begin(tree, store) {
    const env = environmentOf(tree, store, join(store, "git"));
    runCommand({ argv: ["git", "init", "-q"], cwd: tree, env });
    return keptByGit(tree, store, env);
  },
};

/** git with the repository that is in the tree (corpus R). In a tree without a repository, the same as `gitTool`. */
export const repositoryTool: Tool = {
  name: "git",
  begin(tree, store) {
    const repository = join(tree, ".git");
    if (!existsSync(repository)) return gitTool.begin(tree, store);
    return keptByGit(tree, store, environmentOf(tree, store, repository));
  },
};

/** The reference that keeps the first record. */
const FIRST = "refs/bench/first";

function environmentOf(tree: string, store: string, repository: string): Record<string, string> {
  const config = join(store, "config-of-bench");
  writeFileSync(
    config,
    "[user]\nname = bench\nemail = bench@example.com\n[gc]\nauto = 0\n[init]\ndefaultBranch = main\n",
  );
  return {
    ...baseEnv(store),
    GIT_CONFIG_GLOBAL: config,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_DIR: repository,
    GIT_WORK_TREE: tree,
  };
}

function keptByGit(tree: string, store: string, env: Record<string, string>): Kept {
  const git = (...args: string[]): Command => ({ argv: ["git", ...args], cwd: tree, env });
  return {
    tree,
    store: env["GIT_DIR"] ?? "",
    record: () => [git("add", "-A"), git("commit", "-q", "--allow-empty", "-m", "x")],
    status: () => [git("status", "--porcelain")],
    restoreInPlace: () => [git("reset", "-q", "--hard"), git("clean", "-fdq")],
    restoreTo: (folder) => [
      {
        argv: ["git", "checkout", "-q", "-f", "HEAD", "--", "."],
        cwd: folder,
        env: { ...env, GIT_WORK_TREE: folder, GIT_INDEX_FILE: join(store, `index-${Date.now()}`) },
      },
    ],
    keepFirst: () => [git("update-ref", FIRST, "HEAD")],
    backToFirst: () => [git("reset", "-q", "--hard", FIRST), git("clean", "-fdq")],
    collect: () => [git("gc", "-q", "--prune=now")],
  };
}
