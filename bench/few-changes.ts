import type { Bench } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { gitTool } from "./lib/git-tool.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn, recorded, type Side } from "./lib/rounds.ts";
import type { Kept } from "./lib/tool.ts";

export const fewChanges: Bench = {
  name: "few-changes",
  promise: "a capture of 18 changes is no slower than `git add -A && git commit`",
  run(context) {
    const side = (name: string, kept: Kept): Side => {
      const changes = new Changes(kept.tree);
      return {
        name,
        prepare(round) {
          changes.make(round);
          return kept.record();
        },
      };
    };
    const rows = inTurn(context, [
      side("chronicle snapshot", recorded(context, chronicleTool)),
      side("git add + commit", recorded(context, gitTool)),
    ]);
    const [ours = [], git = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [{ what: "chronicle / git", samples: ratioInTurn(ours, git), target: { kind: "at-most", value: 1 } }],
      notes: [],
    };
  },
};
