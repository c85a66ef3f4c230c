import type { Bench } from "./lib/bench.ts";
import { timeCommands } from "./lib/command.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { freshCopyOfCorpus } from "./lib/prepared.ts";
import { inMilliseconds, ratioInTurn } from "./lib/result.ts";
import { inTurn, manyRounds } from "./lib/rounds.ts";
import { StoreProcess } from "./lib/store-process.ts";

const MOST_MS = 50;

export const residentCheckout: Bench = {
  name: "resident-checkout",
  promise:
    "`chronicle status`, carried out by the store's process, takes at most 50 ms, even if the files were written just before they were recorded",
  async run(context) {
    context.say("preparing chronicle and its process, then git");
    const tree = freshCopyOfCorpus(context, "resident-checkout-tree");
    await using ours = await StoreProcess.start(tree, context.scratch.fresh("resident-checkout-store"));
    const gits = freshCopyOfCorpus(context, "resident-checkout-git-tree");
    const git = repositoryTool.begin(gits, context.scratch.fresh("resident-checkout-git-store"));
    timeCommands(git.record());
    const rows = inMilliseconds(
      inTurn(manyRounds(context), [
        { name: "chronicle status", prepare: () => [ours.asked("status")] },
        { name: "git status", prepare: () => git.status?.() ?? [] },
      ]),
    );
    const [own = [], status = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "chronicle status", unit: "ms", samples: own, target: { kind: "at-most", value: MOST_MS } },
        { what: "chronicle status / git status", samples: ratioInTurn(own, status), target: undefined },
      ],
      notes: [
        "both tools read a file again if it was changed just before it was recorded. git does so until it rewrites its index",
      ],
    };
  },
};
