import type { Bench, BenchContext } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { mustEqualCorpus } from "./lib/must-equal-corpus.ts";
import { recorded } from "./lib/prepared.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn, type Side } from "./lib/rounds.ts";
import type { Kept } from "./lib/tool.ts";

export const restoreInPlace: Bench = {
  name: "restore-in-place",
  promise: "a restore after 18 changes is no slower than `git reset --hard && git clean -fd`",
  run(context) {
    const [own, gits] = recorded(context, chronicleTool, repositoryTool);
    const rows = inTurn(context, [side(context, "chronicle restore", own), side(context, "git reset + clean", gits)]);
    const [ours = [], git = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [{ what: "chronicle / git", samples: ratioInTurn(ours, git), target: { kind: "at-most", value: 1 } }],
      notes: ["chronicle first records the changes durably, so that the restore can be undone. git loses the changes"],
    };
  },
};

function side(context: BenchContext, name: string, kept: Kept): Side {
  const changes = new Changes(kept.tree);
  return {
    name,
    prepare(round) {
      changes.make(round);
      return kept.restoreInPlace?.() ?? [];
    },
    check: () => mustEqualCorpus(context, kept.tree),
  };
}
