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

const EDITS = 200;
const COMMITS = 15;
const MOST_MS = 0.8;

export const oneFile: Bench = {
  name: "one-file",
  promise:
    "a program that keeps the workspace open durably records one file with a p50 of at most 0.8 ms, 20 times faster than `git add F && git commit`",
  async run(context) {
    const tree = changingCopy(context);
    const [git] = recorded(context, repositoryTool);
    const ours = await withWorkspace(context.scratch.fresh("one-file-store"), tree, (workspace) =>
      countingSyncs((syncs) => recordEdits({ workspace, tree, syncs })),
    );
    const disk = diskSyncs(join(context.scratch.fresh("one-file-disk"), "appended"));
    const gitP50 = percentile(commitEdits(git, COMMITS, textOf), 0.5);
    const p50 = percentile(
      ours.map(({ ms }) => ms),
      0.5,
    );
    return {
      rows: [...explained(ours, disk), { what: "git add F && git commit, p50", unit: "ms", samples: [gitP50] }],
      ratios: [
        { what: "chronicle, p50", unit: "ms", samples: [p50], target: { kind: "at-most", value: MOST_MS } },
        { what: "git / chronicle, p50", samples: [gitP50 / p50], target: { kind: "at-least", value: 20 } },
      ],
      notes: [
        `a file of about 4 KiB is edited and durably recorded ${EDITS} times. git makes ${COMMITS} commits, which it does not sync. The processor time is that of all threads`,
      ],
    };
  },
};

const textOf = (n: number): string => `edit ${n}\n`.repeat(500);

interface Place {
  readonly workspace: WorkspaceApi;
  readonly tree: string;
  readonly syncs: () => number;
}

/** Edits a file and records each edit in an open workspace. Resolves to the cost of each `record`. */
async function recordEdits({ workspace, tree, syncs }: Place): Promise<Cost[]> {
  const name = "bench-one-file.txt";
  const costs: Cost[] = [];
  for (let i = 0; i < EDITS; i++) {
    writeFileSync(join(tree, name), textOf(i));
    costs.push(await costOf(syncs, () => workspace.record([name])));
  }
  return costs;
}
