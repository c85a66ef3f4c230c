import type { Bench } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { runCommand, type Command } from "./lib/command.ts";
import { corpusShare } from "./lib/corpus-share.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { inMilliseconds, ratioInTurn } from "./lib/result.ts";
import { inTurn, recorded } from "./lib/rounds.ts";
import { StoreProcess } from "./lib/store-process.ts";

export const residentChanges: Bench = {
  name: "resident-changes",
  promise:
    "a snapshot of 18 changes, carried out by the store's process, takes at most 0.4 times as long as `git add -A && git commit` in corpus M",
  async run(context) {
    await using ours = await StoreProcess.ofCorpus(context, "resident-changes");
    const git = recorded(context, repositoryTool);
    const own = new Changes(ours.tree);
    const gits = new Changes(git.tree);
    const rows = inMilliseconds(
      inTurn(context, [
        {
          name: "chronicle snapshot",
          prepare(round) {
            own.make(round);
            return [ours.asked("snapshot")];
          },
          check: () => mustBeRecorded(ours.direct("status", "--json")),
        },
        {
          name: "git add + commit",
          prepare(round) {
            gits.make(round);
            return git.record();
          },
        },
      ]),
    );
    const [chronicle = [], add = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        {
          what: "chronicle / git",
          samples: ratioInTurn(chronicle, add),
          target: corpusShare(context, { M: 0.4 }),
        },
      ],
      notes: ["after each snapshot, a `status` that looks at all files must find no change; this is not timed"],
    };
  },
};

/** Throws if `chronicle status` reports changes. */
function mustBeRecorded(status: Command): void {
  const { changes } = JSON.parse(runCommand(status)) as { changes: readonly unknown[] };
  if (changes.length > 0) throw new Error(`not recorded: ${JSON.stringify(changes.slice(0, 5))}`);
}
