import type { Bench } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { runCommand, type Command } from "./lib/command.ts";
import { corpusTarget } from "./lib/corpus-target.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { recorded, residentProcess } from "./lib/prepared.ts";
import { inMilliseconds, ratioInTurn } from "./lib/result.ts";
import { inTurn } from "./lib/rounds.ts";

const SHARE_OF_GIT = { M: 0.4, L: 0.1 } as const;

export const residentChanges: Bench = {
  name: "resident-changes",
  promise:
    "a snapshot of 18 changes, carried out by the store's process, takes at most 0.4 times as long as `git add -A && git commit` in corpus M, and 0.1 times in L",
  async run(context) {
    const ours = await residentProcess(context);
    const [git] = recorded(context, repositoryTool);
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
    for (const command of [ours.given("restore", "baseline", "--yes"), ...(git.backToFirst?.() ?? [])]) {
      runCommand(command);
    }
    const [chronicle = [], add = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        {
          what: "chronicle / git",
          samples: ratioInTurn(chronicle, add),
          target: corpusTarget(context, SHARE_OF_GIT),
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
