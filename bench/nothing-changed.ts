import { join } from "node:path";
import type { Bench } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { baseEnv } from "./lib/command.ts";
import { corpusTarget } from "./lib/corpus-target.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { recorded } from "./lib/prepared.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn } from "./lib/rounds.ts";

const TIMES_OF_GIT = { S: 6, M: 2, R: 6 } as const;

export const nothingChanged: Bench = {
  name: "nothing-changed",
  promise:
    "without the store's process and with nothing changed, `status` and a snapshot take at most 2 times as long as `git status` in corpus M, and 6 times in S and R",
  beside: ["S", "R"],
  run(context) {
    const [ours, git] = recorded(context, chronicleTool, repositoryTool);
    const node = { argv: [process.execPath, "-e", "0"], cwd: ours.tree, env: baseEnv(ours.tree) };
    const plain = {
      ...node,
      argv: [process.execPath, join(import.meta.dirname, "lib", "plain-scan-main.ts"), ours.tree],
    };
    const rows = inTurn(context, [
      { name: "chronicle snapshot", prepare: () => ours.record() },
      { name: "git status", prepare: () => git.status?.() ?? [] },
      { name: "chronicle status", prepare: () => ours.status?.() ?? [] },
      { name: "a plain program that looks at each file", prepare: () => [plain] },
      { name: "node -e 0", prepare: () => [node] },
    ]);
    const [snapshot = [], status = [], ownStatus = []] = rows.map((row) => row.samples);
    const target = corpusTarget(context, TIMES_OF_GIT);
    return {
      rows,
      ratios: [
        { what: "chronicle snapshot / git status", samples: ratioInTurn(snapshot, status), target },
        { what: "chronicle status / git status", samples: ratioInTurn(ownStatus, status), target },
      ],
      notes: [
        "the times include the start of each process. `node -e 0` is the start of Node alone. The plain program is in Node, with one thread",
      ],
    };
  },
};
