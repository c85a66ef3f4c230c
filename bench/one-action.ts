import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import type { Bench } from "./lib/bench.ts";
import { commitEdits } from "./lib/commit-edits.ts";
import { type Cost, costOf, countingSyncs, explained } from "./lib/costs.ts";
import { diskSyncs } from "./lib/disk-syncs.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { withWorkspace } from "./lib/open-workspace.ts";
import { changingCopy, recorded } from "./lib/prepared.ts";
import { percentile } from "./lib/result.ts";

const ACTIONS = 300;
const COMMITS = 15;
const FILE_BYTES = 10_000;
const MOST_MS = 1.8;

export const oneAction: Bench = {
  name: "one-action",
  promise:
    "a durable action that writes one file of 10 KB, in a program that keeps the workspace open, has a p50 of at most 1.8 ms, 15 times faster than `git add F && git commit`",
  async run(context) {
    const tree = changingCopy(context);
    const [git] = recorded(context, repositoryTool);
    const ours = await withWorkspace(context.scratch.fresh("one-action-store"), tree, (workspace) =>
      countingSyncs((syncs) => act({ workspace, tree, syncs })),
    );
    const disk = diskSyncs(join(context.scratch.fresh("one-action-disk"), "appended"));
    const gitP50 = percentile(commitEdits(git, COMMITS, content), 0.5);
    const p50 = percentile(
      ours.map(({ ms }) => ms),
      0.5,
    );
    return {
      rows: [...explained(ours, disk), { what: "git add F && git commit, p50", unit: "ms", samples: [gitP50] }],
      ratios: [
        { what: "chronicle, p50", unit: "ms", samples: [p50], target: { kind: "at-most", value: MOST_MS } },
        { what: "git / chronicle, p50", samples: [gitP50 / p50], target: { kind: "at-least", value: 15 } },
      ],
      notes: [
        `each of ${ACTIONS} actions writes ${FILE_BYTES} new bytes to the same file. git makes ${COMMITS} commits, which it does not sync. The processor time is that of all threads`,
      ],
    };
  },
};

/** Returns 10 KB of lines that are different in each action. */
function content(n: number): string {
  return `line of action ${n}: ${(n * 7919).toString(36)}\n`.repeat(FILE_BYTES / 16).slice(0, FILE_BYTES);
}

interface Place {
  readonly workspace: WorkspaceApi;
  readonly tree: string;
  readonly syncs: () => number;
}

/** Carries out the actions. Resolves to the cost of each, including the tool's own write. */
async function act({ workspace, tree, syncs }: Place): Promise<Cost[]> {
  const path = "bench-one-action.txt";
  const costs: Cost[] = [];
  for (let i = 0; i < ACTIONS; i++) {
    const text = content(i);
    let changes = 0;
    const cost = await costOf(syncs, async () => {
      const action = await workspace.snapshotAction({ type: "write_file", payload: { path, content: text } });
      if (action === null) throw new Error("no snapshot was made before a write");
      writeFileSync(join(tree, path), text);
      changes = (await workspace.finishAction(action.id)).changes.length;
    });
    costs.push(cost);
    if (changes !== 1) throw new Error(`action ${i} recorded ${changes} changes instead of 1`);
  }
  return costs;
}
