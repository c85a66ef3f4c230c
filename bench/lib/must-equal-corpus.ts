import { spawnSync } from "node:child_process";
import type { BenchContext } from "./bench.ts";
import { corpusFolder } from "./corpus.ts";

/** Compares a tree with the corpus, byte by byte. What git keeps in `.git` is not compared. */
export function mustEqualCorpus(context: BenchContext, tree: string): void {
  const diff = spawnSync("diff", ["-rq", "-x", ".git", corpusFolder(context.options.corpus), tree], {
    encoding: "utf8",
  });
  if (diff.status !== 0) throw new Error(`${tree} is not what was recorded:\n${diff.stdout.slice(0, 2000)}`);
}
