import { join } from "node:path";
import type { Bench, BenchContext } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { baseEnv } from "./lib/command.ts";
import { corpusTarget } from "./lib/corpus-target.ts";
import { gitTool } from "./lib/git-tool.ts";
import { firstCaptureBy, untouchedCopy } from "./lib/prepared.ts";
import { resticTool } from "./lib/restic-tool.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn, type Side } from "./lib/rounds.ts";
import type { Tool } from "./lib/tool.ts";

const SHARE_OF_GIT = { S: 1, M: 0.2 } as const;
const SHARE_OF_RESTIC = { M: 0.45 } as const;

export const baseline: Bench = {
  name: "baseline",
  promise:
    "the first capture takes at most 0.2 times as long as `git add -A && git commit` and 0.45 times as long as `restic backup` in corpus M, and is no slower than git in S",
  beside: ["S"],
  run(context) {
    const side = (tool: Tool): Side => ({ name: tool.name, prepare: () => firstCaptureBy(context, tool).record() });
    const rows = inTurn(context, [side(chronicleTool), side(gitTool), side(resticTool), plain(context)]);
    const [ours = [], git = [], restic = [], least = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "chronicle / git", samples: ratioInTurn(ours, git), target: corpusTarget(context, SHARE_OF_GIT) },
        {
          what: "chronicle / restic",
          samples: ratioInTurn(ours, restic),
          target: corpusTarget(context, SHARE_OF_RESTIC),
        },
        { what: "chronicle / the plain program", samples: ratioInTurn(ours, least), target: undefined },
        { what: "the plain program / git", samples: ratioInTurn(least, git), target: undefined },
      ],
      notes: [
        "the plain program is the least that a capture needs, in Node: it reads, hashes, compresses, writes and syncs all contents and one list of the files, with one thread for each processor. It has no limits, rules, Merkle tree, events or indexes",
        "git's automatic collection is off, and git syncs with its default settings",
      ],
    };
  },
};

function plain(context: BenchContext): Side {
  const tree = untouchedCopy(context);
  const program = join(import.meta.dirname, "lib", "plain-capture-main.ts");
  return {
    name: "a plain program",
    prepare() {
      const folder = context.scratch.fresh("plain-capture");
      return [{ argv: [process.execPath, program, tree, folder], cwd: folder, env: baseEnv(folder) }];
    },
  };
}
