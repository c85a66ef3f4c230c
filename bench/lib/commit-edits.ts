import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { runCommand, timeCommands } from "./command.ts";
import type { Kept } from "./tool.ts";

/**
 * Edits and commits a new file `count` times in a tree that git keeps. Returns the milliseconds of each `git add F && git
 * commit`. In the end, tree and branch are as before. `text`: what the n-th edit appends.
 */
export function commitEdits(git: Kept, count: number, text: (n: number) => string): number[] {
  const [add, commit] = git.record();
  if (add === undefined || commit === undefined) throw new Error("git's `record` must be an add and a commit");
  const folder = join(git.tree, "bench-new");
  mkdirSync(folder);
  const file = join(folder, "one-file.txt");
  const samples = Array.from({ length: count }, (_, n) => {
    appendFileSync(file, text(n));
    return 1000 * timeCommands([{ ...add, argv: ["git", "add", file] }, commit]);
  });
  for (const command of git.backToFirst?.() ?? []) runCommand(command);
  return samples;
}
