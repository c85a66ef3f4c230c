import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import type { Bench } from "./lib/bench.ts";
import { timeCommands, type Command } from "./lib/command.ts";
import { diskSyncs } from "./lib/disk-syncs.ts";
import { gitTool } from "./lib/git-tool.ts";
import { withWorkspace } from "./lib/open-workspace.ts";
import { percentile } from "./lib/result.ts";
import { copyOfCorpus, recorded } from "./lib/rounds.ts";

const ACTIONS = 300;
const COMMITS = 15;
const FILE_BYTES = 10_000;

export const oneAction: Bench = {
  name: "one-action",
  promise:
    "a durable action that writes one file of 10 KB, in a program that keeps the workspace open, has a p50 of at most 2 ms, 15 times faster than `git add F && git commit`",
  async run(context) {
    const tree = copyOfCorpus(context, "one-action-tree");
    const ours = await withWorkspace(context.scratch.fresh("one-action-store"), tree, (workspace) =>
      act(workspace, tree),
    );
    const disk = diskSyncs(join(context.scratch.fresh("one-action-disk"), "appended"));
    const git = recorded(context, gitTool);
    const gits = commitEdits(git.tree, git.record());
    const p50 = percentile(ours, 0.5);
    const gitP50 = percentile(gits, 0.5);
    return {
      rows: [
        { what: "chronicle, p50", unit: "ms", samples: [p50] },
        { what: "chronicle, p99", unit: "ms", samples: [percentile(ours, 0.99)] },
        { what: "git add F && git commit, p50", unit: "ms", samples: [gitP50] },
        { what: "an append and an fdatasync alone, p50", unit: "ms", samples: [percentile(disk, 0.5)] },
      ],
      ratios: [
        { what: "chronicle, p50", unit: "ms", samples: [p50], target: { kind: "at-most", value: 2 } },
        { what: "git / chronicle, p50", samples: [gitP50 / p50], target: { kind: "at-least", value: 15 } },
      ],
      notes: [
        `each of ${ACTIONS} actions writes ${FILE_BYTES} new bytes to the same file. An action needs three syncs: of the log before the tool, and of the content and the log after it. git makes ${COMMITS} commits, which it does not sync`,
      ],
    };
  },
};

/** Returns 10 KB of lines that are different in each action. */
function content(n: number): string {
  return `line of action ${n}: ${(n * 7919).toString(36)}\n`.repeat(FILE_BYTES / 16).slice(0, FILE_BYTES);
}

/** Carries out the actions. Resolves to the milliseconds of each, including the tool's own write. */
async function act(workspace: WorkspaceApi, tree: string): Promise<number[]> {
  const path = "bench-one-action.txt";
  const samples: number[] = [];
  for (let i = 0; i < ACTIONS; i++) {
    const text = content(i);
    const started = performance.now();
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path, content: text } });
    if (action === null) throw new Error("no snapshot was made before a write");
    writeFileSync(join(tree, path), text);
    const end = await workspace.finishAction(action.id);
    samples.push(performance.now() - started);
    if (end.changes.length !== 1) throw new Error(`action ${i} recorded ${end.changes.length} changes instead of 1`);
  }
  return samples;
}

/** Edits and commits a file several times. Returns the milliseconds of each `git add F && git commit`. */
function commitEdits(tree: string, [add, commit]: readonly Command[]): number[] {
  if (add === undefined || commit === undefined) throw new Error("git's `record` must be an add and a commit");
  const folder = join(tree, "bench-new");
  mkdirSync(folder);
  const file = join(folder, "one-action.txt");
  return Array.from({ length: COMMITS }, (_, i) => {
    appendFileSync(file, content(i));
    return 1000 * timeCommands([{ ...add, argv: ["git", "add", file] }, commit]);
  });
}
