import type { Bench } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { gitTool } from "./lib/git-tool.ts";
import { mustEqualCorpus } from "./lib/must-equal-corpus.ts";
import { resticTool } from "./lib/restic-tool.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn, recorded, type Side } from "./lib/rounds.ts";
import type { Tool } from "./lib/tool.ts";

export const restoreIntoEmpty: Bench = {
  name: "restore-into-empty",
  promise: "a full restore into an empty folder is faster than `git checkout`",
  run(context) {
    const side = (tool: Tool): Side => {
      const kept = recorded(context, tool);
      let target = "";
      return {
        name: tool.name,
        prepare() {
          target = context.scratch.fresh(`restored-by-${tool.name}`);
          return kept.restoreTo(target);
        },
        check: () => mustEqualCorpus(context, target),
      };
    };
    const rows = inTurn(context, [side(chronicleTool), side(gitTool), side(resticTool)]);
    const [ours = [], git = [], restic = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "chronicle / git", samples: ratioInTurn(ours, git), target: { kind: "at-most", value: 1 } },
        { what: "restic / chronicle", samples: ratioInTurn(restic, ours), target: undefined },
      ],
      notes: ["the result of every round is compared with the corpus, byte by byte; this is not timed"],
    };
  },
};
