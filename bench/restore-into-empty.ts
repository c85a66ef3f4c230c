import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { corpusTarget } from "./lib/corpus-target.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { mustEqualCorpus } from "./lib/must-equal-corpus.ts";
import { firstCapture, recorded } from "./lib/prepared.ts";
import { resticTool } from "./lib/restic-tool.ts";
import { ratioInTurn } from "./lib/result.ts";
import { inTurn, type Side } from "./lib/rounds.ts";
import type { Kept } from "./lib/tool.ts";

/** Returns the first capture of restic; nothing in a quick look, because no promise is about it. */
function resticIn(context: BenchContext): Kept[] {
  const tools = amountFor(context, { what: "tools", all: 3, quick: 2 });
  return tools === 3 ? [firstCapture(context, resticTool)] : [];
}

const SHARE_OF_GIT = { S: 1, M: 0.7, L: 1, R: 1 } as const;

export const restoreIntoEmpty: Bench = {
  name: "restore-into-empty",
  promise:
    "a full restore into an empty folder takes at most 0.7 times as long as `git checkout` in corpus M, and is no slower in the others",
  run(context) {
    const side = (name: string, kept: Kept): Side => {
      let target = "";
      return {
        name,
        prepare() {
          target = context.scratch.fresh(`restored-by-${name}`);
          return kept.restoreTo(target);
        },
        check: () => mustEqualCorpus(context, target),
      };
    };
    const [own, gits] = recorded(context, chronicleTool, repositoryTool);
    const rows = inTurn(context, [
      side("chronicle", own),
      side("git", gits),
      ...resticIn(context).map((kept) => side("restic", kept)),
    ]);
    const [ours = [], git = [], restic = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "chronicle / git", samples: ratioInTurn(ours, git), target: corpusTarget(context, SHARE_OF_GIT) },
        ...(restic.length === 0
          ? []
          : [{ what: "restic / chronicle", samples: ratioInTurn(restic, ours), target: undefined }]),
      ],
      notes: ["the result of every round is compared with the corpus, byte by byte; this is not timed"],
    };
  },
};
