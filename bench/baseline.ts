import type { Bench } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { gitTool } from "./lib/git-tool.ts";
import { resticTool } from "./lib/restic-tool.ts";
import { ratioInTurn } from "./lib/result.ts";
import { copyOfCorpus, inTurn, type Side } from "./lib/rounds.ts";
import type { Tool } from "./lib/tool.ts";

export const baseline: Bench = {
  name: "baseline",
  promise:
    "the first capture is at least 5 times faster than `git add -A && git commit` and 3 times faster than `restic backup`",
  run(context) {
    const tree = copyOfCorpus(context, "baseline-tree");
    const side = (tool: Tool): Side => ({
      name: tool.name,
      prepare: () => tool.begin(tree, context.scratch.fresh(`baseline-${tool.name}`)).record(),
    });
    const rows = inTurn(context, [side(chronicleTool), side(gitTool), side(resticTool)]);
    const [ours = [], git = [], restic = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "git / chronicle", samples: ratioInTurn(git, ours), target: { kind: "at-least", value: 5 } },
        { what: "restic / chronicle", samples: ratioInTurn(restic, ours), target: { kind: "at-least", value: 3 } },
      ],
      notes: [
        "git's automatic collection is off. git does not sync its loose objects; chronicle and restic sync what they store",
      ],
    };
  },
};
