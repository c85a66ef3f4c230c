import type { Bench } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { gitTool } from "./lib/git-tool.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn, recorded } from "./lib/rounds.ts";

export const nothingChanged: Bench = {
  name: "nothing-changed",
  promise: "a capture with nothing changed takes at most twice as long as `git status`",
  run(context) {
    const ours = recorded(context, chronicleTool);
    const git = recorded(context, gitTool);
    const rows = inTurn(context, [
      { name: "chronicle snapshot", prepare: () => ours.record() },
      { name: "git status", prepare: () => git.status?.() ?? [] },
      { name: "chronicle status", prepare: () => ours.status?.() ?? [] },
    ]);
    const [snapshot = [], status = [], ownStatus = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        {
          what: "chronicle snapshot / git status",
          samples: ratioInTurn(snapshot, status),
          target: { kind: "at-most", value: 2 },
        },
        { what: "chronicle status / git status", samples: ratioInTurn(ownStatus, status), target: undefined },
      ],
      notes: ["the times include the start of each process"],
    };
  },
};
