import type { Bench } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { runCommand } from "./lib/command.ts";
import { corpusTarget } from "./lib/corpus-target.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { mustEqualCorpus } from "./lib/must-equal-corpus.ts";
import { recorded, residentProcess } from "./lib/prepared.ts";
import { inMilliseconds, ratioInTurn } from "./lib/result.ts";
import { inTurn } from "./lib/rounds.ts";
import { eventOf } from "./lib/store-process.ts";

export const residentUndo: Bench = {
  name: "resident-undo",
  promise:
    "the undo of 18 changes, carried out by the store's process, takes at most 0.4 times as long as `git reset --hard && git clean -fd` in corpus M",
  async run(context) {
    const ours = await residentProcess(context);
    const [git] = recorded(context, repositoryTool);
    const own = new Changes(ours.tree);
    const gits = new Changes(git.tree);
    const rows = inMilliseconds(
      inTurn(context, [
        {
          name: "chronicle undo",
          prepare(round) {
            const before = eventOf(ours);
            own.make(round);
            runCommand(ours.asked("snapshot"));
            return [ours.asked("undo", "--since", `seq:${before}`)];
          },
          check: () => mustEqualCorpus(context, ours.tree),
        },
        {
          name: "git reset + clean",
          prepare(round) {
            gits.make(round);
            return git.restoreInPlace?.() ?? [];
          },
          check: () => mustEqualCorpus(context, git.tree),
        },
        {
          name: "chronicle undo, of changes without a snapshot",
          prepare(round) {
            const before = eventOf(ours);
            own.make(context.options.rounds + round);
            return [ours.asked("undo", "--since", `seq:${before}`)];
          },
          check: () => mustEqualCorpus(context, ours.tree),
        },
      ]),
    );
    const [undo = [], reset = [], unrecorded = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "chronicle / git", samples: ratioInTurn(undo, reset), target: corpusTarget(context, { M: 0.4 }) },
        {
          what: "chronicle / git, of changes without a snapshot",
          samples: ratioInTurn(unrecorded, reset),
          target: undefined,
        },
      ],
      notes: [
        "chronicle records the undo, so that it can be redone. git loses the changes",
        "each result is compared with the corpus, byte by byte; this is not timed",
      ],
    };
  },
};
