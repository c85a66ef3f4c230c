import type { Bench } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { corpusShare } from "./lib/corpus-share.ts";
import { inMilliseconds, ratioInTurn, type Row } from "./lib/result.ts";
import { inTurn, manyRounds, recorded, type Side } from "./lib/rounds.ts";
import { StoreProcess } from "./lib/store-process.ts";

const MOST_MS = 50;
const SHARE_OF_GIT = { M: 0.4, L: 0.1 } as const;

export const residentStatus: Bench = {
  name: "resident-status",
  promise:
    "`chronicle status`, carried out by the store's process, takes at most 50 ms, and of the time of `git status` at most 0.4 times in corpus M and 0.1 times in L",
  async run(context) {
    await using ours = await StoreProcess.ofCorpus(context, "resident-status");
    const git = recorded(context, repositoryTool);
    const sides: readonly Side[] = [
      { name: "chronicle status", prepare: () => [ours.asked("status")] },
      { name: "git status", prepare: () => git.status?.() ?? [] },
      { name: "chronicle status, without the process", prepare: () => [ours.direct("status")] },
    ];
    const unchanged = inMilliseconds(inTurn(manyRounds(context), sides));
    for (const tree of [ours.tree, git.tree]) new Changes(tree).make(0);
    const changed = inMilliseconds(inTurn(manyRounds(context), sides));
    const [own = [], gits = []] = unchanged.map((row) => row.samples);
    const [ownChanged = [], gitsChanged = []] = changed.map((row) => row.samples);
    return {
      rows: [...labelled("nothing changed", unchanged), ...labelled("18 changes", changed)],
      ratios: [
        {
          what: "chronicle status",
          unit: "ms",
          samples: own,
          target: { kind: "at-most", value: MOST_MS },
        },
        {
          what: "chronicle status / git status",
          samples: ratioInTurn(own, gits),
          target: corpusShare(context, SHARE_OF_GIT),
        },
        {
          what: "chronicle status / git status, 18 changes",
          samples: ratioInTurn(ownChanged, gitsChanged),
          target: undefined,
        },
      ],
      notes: [],
    };
  },
};

/** Adds a state of the tree to the labels of rows. */
function labelled(state: string, rows: readonly Row[]): Row[] {
  return rows.map((row) => ({ ...row, what: `${row.what}: ${state}` }));
}
