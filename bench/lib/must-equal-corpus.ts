import { spawnSync } from "node:child_process";
import type { BenchContext } from "./bench.ts";
import { corpusFolder } from "./corpus.ts";

/** Throws unless the contents of a tree equal those of the corpus, byte by byte. Ignores entries named `.git`. */
export function mustEqualCorpus(context: BenchContext, tree: string): void {
  const diff = spawnSync("diff", ["-rq", "-x", ".git", corpusFolder(context.options.corpus), tree], {
    encoding: "utf8",
  });
  if (diff.status !== 0) throw new Error(`${tree} differs from the corpus:\n${diff.stdout.slice(0, 2000)}`);
}
