import { spawnSync } from "node:child_process";
import type { BenchContext } from "./bench.ts";
import type { Command } from "./command.ts";
import { gitTool } from "./git-tool.ts";

/**
 * Makes a packed repository with `count` commits, each of which changes the file `path`. Returns a function that makes
 * commands of git for it.
 */
export function gitHistory(context: BenchContext, path: string, count: number): (...args: string[]) => Command {
  const tree = context.scratch.fresh("git-history-tree");
  const env = gitTool.begin(tree, context.scratch.fresh("git-history")).record()[0]?.env ?? {};
  const commits = Array.from({ length: count }, (_, i) => commitOf(path, i)).join("");
  const made = spawnSync("git", ["fast-import", "--quiet"], { cwd: tree, env, input: commits, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`git fast-import: ${made.stderr}`);
  return (...args) => ({ argv: ["git", ...args], cwd: tree, env });
}

/** Returns a commit in the format of `git fast-import`. */
function commitOf(path: string, n: number): string {
  const text = `iteration ${n}\n`;
  const who = `bench <bench@example.com> ${1_790_000_000 + n} +0000`;
  return `commit refs/heads/main\ncommitter ${who}\ndata 1\nx\nM 100644 inline ${path}\ndata ${text.length}\n${text}\n`;
}
