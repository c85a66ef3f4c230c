import type { Bench } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { timeCommands } from "./lib/command.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { recorded } from "./lib/prepared.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn, type Side } from "./lib/rounds.ts";
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
    const [own, gits] = recorded(context, chronicleTool, repositoryTool);
    const rows = inTurn(context, [side("chronicle snapshot", own), side("git add + commit", gits)]);
    for (const kept of [own, gits]) timeCommands(kept.backToFirst?.() ?? []);
    const [ours = [], git = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [{ what: "chronicle / git", samples: ratioInTurn(ours, git), target: { kind: "at-most", value: 1 } }],
      notes: [],
    };
  },
};
