import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../src/open.ts";
import type { Bench } from "./lib/bench.ts";
import { timeCommands, type Command } from "./lib/command.ts";
import { gitTool } from "./lib/git-tool.ts";
import { percentile, type Row } from "./lib/result.ts";
import { copyOfCorpus, recorded } from "./lib/rounds.ts";

const EDITS = 200;
const COMMITS = 15;

export const oneFile: Bench = {
  name: "one-file",
  promise:
    "a program that keeps the workspace open durably records one file with a p50 of at most 1 ms, 20 times faster than `git add F && git commit`",
  async run(context) {
    const tree = copyOfCorpus(context, "one-file-tree");
    const store = context.scratch.fresh("one-file-store");
    const ours = await recordEdits(tree, store);
    const git = recorded(context, gitTool);
    const gits = commitEdits(git.tree, git.record());
    const rows: Row[] = [
      { what: "chronicle, p50", unit: "ms", samples: [percentile(ours, 0.5)] },
      { what: "chronicle, p99", unit: "ms", samples: [percentile(ours, 0.99)] },
      { what: "git add F && git commit, p50", unit: "ms", samples: [percentile(gits, 0.5)] },
    ];
    const p50 = percentile(ours, 0.5);
    return {
      rows,
      ratios: [
        { what: "chronicle, p50", unit: "ms", samples: [p50], target: { kind: "at-most", value: 1 } },
        {
          what: "git / chronicle, p50",
          samples: [percentile(gits, 0.5) / p50],
          target: { kind: "at-least", value: 20 },
        },
      ],
      notes: [
        `a file of about 4 KiB is edited and durably recorded ${EDITS} times. git makes ${COMMITS} commits, which it does not sync`,
      ],
    };
  },
};

/** Edits a file and records each edit in an open workspace. Resolves to the milliseconds of each `record`. */
async function recordEdits(tree: string, home: string): Promise<number[]> {
  const store = await openStore({ home: join(home, "home"), configFolder: join(home, "config") });
  const { workspace } = await store.init({ roots: [tree], maxEntries: 0, maxBytes: 0, maxFileSize: 0 });
  const file = join(tree, "bench-one-file.txt");
  const samples: number[] = [];
  for (let i = 0; i < EDITS; i++) {
    writeFileSync(file, `edit ${i}\n`.repeat(500));
    const started = performance.now();
    await workspace.record(["bench-one-file.txt"]);
    samples.push(performance.now() - started);
  }
  await workspace.close();
  await store.close();
  return samples;
}

/** Edits and commits a file several times. Returns the milliseconds of each `git add F && git commit`. */
function commitEdits(tree: string, [add, commit]: readonly Command[]): number[] {
  if (add === undefined || commit === undefined) throw new Error("git's `record` must be an add and a commit");
  const folder = join(tree, "bench-new");
  mkdirSync(folder);
  const file = join(folder, "one-file.txt");
  const samples: number[] = [];
  for (let i = 0; i < COMMITS; i++) {
    appendFileSync(file, `edit ${i}\n`.repeat(500));
    samples.push(1000 * timeCommands([{ ...add, argv: ["git", "add", file] }, commit]));
  }
  return samples;
}
