import { appendFileSync } from "node:fs";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import type { Bench } from "./lib/bench.ts";
import { filesOfTree } from "./lib/files-of-tree.ts";
import { withWorkspace } from "./lib/open-workspace.ts";
import { percentile, type Row } from "./lib/result.ts";
import { changingCopy } from "./lib/prepared.ts";

const BRACKETS = 40;
const FILES_PER_COMMAND = 3;

export const commandBracket: Bench = {
  name: "command-bracket",
  promise: "with a watcher, the bracket around a shell command takes at most 30 ms if few files changed (corpus M)",
  async run(context) {
    const tree = changingCopy(context);
    const files = someFiles(tree);
    const rows: Row[] = [];
    const p50 = await withWorkspace(context.scratch.fresh("command-bracket-store"), tree, async (workspace) => {
      const unwatched = await brackets({ workspace, files, count: 6 });
      rows.push({ what: "without a watcher, p50", unit: "ms", samples: [percentile(unwatched, 0.5)] });
      await workspace.follow();
      const idle = await brackets({ workspace, files: [], count: BRACKETS });
      rows.push({ what: "with a watcher, nothing changed, p50", unit: "ms", samples: [percentile(idle, 0.5)] });
      const few = await brackets({ workspace, files, count: BRACKETS });
      rows.push({
        what: `with a watcher, ${FILES_PER_COMMAND} files changed, p50`,
        unit: "ms",
        samples: [percentile(few, 0.5)],
      });
      rows.push({
        what: `with a watcher, ${FILES_PER_COMMAND} files changed, p90`,
        unit: "ms",
        samples: [percentile(few, 0.9)],
      });
      return percentile(few, 0.5);
    });
    return {
      rows,
      ratios: [
        {
          what: `with a watcher, ${FILES_PER_COMMAND} files changed, p50`,
          unit: "ms",
          samples: [p50],
          target: { kind: "at-most", value: 30 },
        },
      ],
      notes: [
        "the time of the snapshot before the command and of the record after it, without the command itself, in a process that keeps the workspace open. The command names no paths, so the bracket covers the whole workspace",
      ],
    };
  },
};

interface Brackets {
  readonly workspace: WorkspaceApi;
  /** The files to change. Each command changes the next few. Empty: the commands change nothing. */
  readonly files: readonly string[];
  /** The number of commands. */
  readonly count: number;
}

/**
 * Carries out brackets, and resolves to the milliseconds that each adds to its command. Rejects if a bracket records a
 * wrong number of changes.
 */
async function brackets({ workspace, files, count }: Brackets): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i++) {
    const changed = Array.from({ length: files.length === 0 ? 0 : FILES_PER_COMMAND }, (_, n) => {
      return files[(i * FILES_PER_COMMAND + n) % files.length] ?? "";
    });
    const started = performance.now();
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "make all" } });
    const before = performance.now() - started;
    if (action === null) throw new Error("no snapshot was made before a command");
    for (const file of changed) appendFileSync(file, `// bracket ${i}\n`);
    const resumed = performance.now();
    const end = await workspace.finishAction(action.id);
    samples.push(before + performance.now() - resumed);
    const found = new Set(end.changes.map((change) => change.path)).size;
    if (found !== changed.length)
      throw new Error(`bracket ${i} recorded ${found} changes instead of ${changed.length}`);
  }
  return samples;
}

/** Returns a few hundred files that are spread over the tree. */
function someFiles(tree: string): string[] {
  const files = filesOfTree(tree);
  const step = Math.max(1, Math.floor(files.length / 300));
  return files.filter((_, i) => i % step === 0);
}
