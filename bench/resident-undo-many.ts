import { appendFileSync } from "node:fs";
import { dirname } from "node:path";
import { amountFor, type Bench } from "./lib/bench.ts";
import { chronicleCommand, chronicleTool } from "./lib/chronicle-tool.ts";
import { runCommand, type Command } from "./lib/command.ts";
import { filesOfTree } from "./lib/files-of-tree.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { mustEqualCorpus } from "./lib/must-equal-corpus.ts";
import { recorded, residentProcess } from "./lib/prepared.ts";
import { inMilliseconds, ratioInTurn } from "./lib/result.ts";
import { inTurn, type Side } from "./lib/rounds.ts";

const FILES = 3_000;
const MOST = 1.5;

export const residentUndoMany: Bench = {
  name: "resident-undo-many",
  promise:
    "the undo of 3,000 changed files takes at most 1.5 times as long as `git reset --hard`, with the store's process and without it",
  async run(context) {
    const most = amountFor(context, { what: "changed files", all: FILES, quick: 1_000 });
    const ours = await residentProcess(context);
    const count = Math.min(most, filesOfTree(ours.tree).length);
    const [git, alone] = recorded(context, repositoryTool, chronicleTool);
    const edit = (tree: string, round: string): void => {
      for (const file of spread(filesOfTree(tree), count)) appendFileSync(file, `// changed in ${round}\n`);
    };
    const undo = (name: string, tree: string, chronicle: (...args: string[]) => Command): Side => ({
      name,
      prepare(round) {
        const { seq } = JSON.parse(runCommand(chronicle("status", "--json"))) as { seq: number };
        edit(tree, `${name}, round ${round}`);
        runCommand(chronicle("snapshot"));
        return [chronicle("undo", "--since", `seq:${seq}`)];
      },
      check: () => mustEqualCorpus(context, tree),
    });
    const rows = inMilliseconds(
      inTurn(context, [
        undo("chronicle undo", ours.tree, ours.asked),
        {
          name: "git reset --hard",
          prepare(round) {
            edit(git.tree, `round ${round}`);
            // No file is new, so that nothing is left to clean.
            return (git.restoreInPlace?.() ?? []).slice(0, 1);
          },
          check: () => mustEqualCorpus(context, git.tree),
        },
        undo("chronicle undo, without a process", alone.tree, chronicleCommand(alone.tree, dirname(alone.store))),
      ]),
    );
    const [own = [], reset = [], direct = []] = rows.map((row) => row.samples);
    const target = { kind: "at-most", value: MOST } as const;
    return {
      rows,
      ratios: [
        { what: "chronicle / git", samples: ratioInTurn(own, reset), target },
        { what: "chronicle / git, without a process", samples: ratioInTurn(direct, reset), target },
      ],
      notes: [
        `${count} files, spread over the tree, get a new line. Chronicle has recorded the changes, and records the undo, so that it can be redone. git has not recorded them, and loses them`,
        "each result is compared with the corpus, byte by byte; this is not timed",
      ],
    };
  },
};

/** Returns `count` of the files, spread over the list. */
function spread(files: readonly string[], count: number): string[] {
  const step = files.length / count;
  return Array.from({ length: count }, (_, i) => files[Math.floor(i * step)] ?? "");
}
