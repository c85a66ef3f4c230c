import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { inSync, listening, startOrigin, startReplica } from "./lib/chronicle-peer.ts";
import { chronicleCommand, chronicleTool, LIMITS_OFF } from "./lib/chronicle-tool.ts";
import { type Command, highWaterMark, peakMemory, runCommand } from "./lib/command.ts";
import { bigFile } from "./lib/corpus.ts";
import { filesOfTree } from "./lib/files-of-tree.ts";
import { gitTool } from "./lib/git-tool.ts";
import { changingCopy, untouchedCopy } from "./lib/prepared.ts";
import { resticTool } from "./lib/restic-tool.ts";
import type { Row } from "./lib/result.ts";
import { pairIn } from "./lib/sync-peer.ts";
import type { Tool } from "./lib/tool.ts";

const BIG_BYTES = 2 * 2 ** 30;
const CHANGED_FILES = 3_000;
const MOST_MIB = 250;
const MOST_BIG_MIB = 150;
const MIB = 2 ** 20;

export const peakMemoryBench: Bench = {
  name: "peak-memory",
  promise:
    "every operation on 200,000 files stays within 250 MiB of memory, and a capture of a file of 2 GiB within 150",
  async run(given) {
    // The promise is about L. With S, the bench shows that it runs.
    const corpus = given.options.corpus === "S" ? "S" : "L";
    const context = { ...given, options: { ...given.options, corpus } } as const;
    const big = join(context.scratch.fresh("memory-big"), "tree");
    mkdirSync(big);
    const bytes = amountFor(context, { what: "bytes of the large file", all: BIG_BYTES, quick: 2 ** 26 });
    bigFile(join(big, "big.bin"), bytes);
    const tree = untouchedCopy(context);
    const [git, restic] = [
      await recordAndRestore(context, gitTool, tree),
      await recordAndRestore(context, resticTool, tree),
    ];
    const ours = [...(await commands(context)), ...(await replicated(context, tree))];
    const bigs: Row[] = [];
    for (const tool of [chronicleTool, gitTool, resticTool]) {
      const kept = tool.begin(big, context.scratch.fresh(`memory-${tool.name}`));
      const what = `${tool.name}, one file of ${(bytes / 2 ** 30).toFixed(1)} GiB`;
      bigs.push(await peakOf(context, what, kept.record()));
    }
    const [oursBig, ...othersBig] = bigs;
    const limited = (row: Row, value: number) => ({ ...row, target: { kind: "at-most", value } as const });
    return {
      rows: [...git, ...restic, ...othersBig],
      ratios: [
        ...ours.map((row) => limited(row, MOST_MIB)),
        ...(oursBig === undefined ? [] : [limited(oursBig, MOST_BIG_MIB)]),
      ],
      notes: [
        `corpus ${corpus}. Each value is the peak resident memory of the largest process of a command, including pages of mapped files. Chronicle's commands run without the store's process`,
      ],
    };
  },
};

/** Measures a tool's first capture of a tree, and the restore into an empty folder. */
async function recordAndRestore(context: BenchContext, tool: Tool, tree: string): Promise<Row[]> {
  const kept = tool.begin(tree, context.scratch.fresh(`memory-${tool.name}`));
  const target = context.scratch.fresh(`memory-restored-by-${tool.name}`);
  const capture = await peakOf(context, `${tool.name}, first capture`, kept.record());
  if (amountFor(context, { what: "restores by other tools", all: 1, quick: 0 }) === 0) return [capture];
  return [capture, await peakOf(context, `${tool.name}, restore into an empty folder`, kept.restoreTo(target))];
}

/** Measures Chronicle's commands, one after the other, in a copy of the corpus. */
async function commands(context: BenchContext): Promise<Row[]> {
  const tree = changingCopy(context);
  const chronicle = chronicleCommand(tree, context.scratch.fresh("memory-chronicle"));
  const target = context.scratch.fresh("memory-restored");
  const rows: Row[] = [];
  const measure = async (what: string, ...args: string[]): Promise<void> => {
    rows.push(await peakOf(context, `chronicle, ${what}`, [chronicle(...args)]));
  };
  await measure("first capture", "init", ...LIMITS_OFF);
  await measure("status", "status");
  await measure("run -- true", "run", "--", "true");
  await measure("restore into an empty folder", "restore", "baseline", "--to", target);
  const files = filesOfTree(tree);
  const { seq } = JSON.parse(runCommand(chronicle("status", "--json"))) as { seq: number };
  const changed = files
    .filter((_, i) => i % Math.max(1, Math.floor(files.length / CHANGED_FILES)) === 0)
    .slice(0, CHANGED_FILES);
  for (const file of changed) appendFileSync(file, "// changed\n");
  await measure(`snapshot of ${changed.length} changed files`, "snapshot");
  await measure("undo of this snapshot", "undo", "--since", `seq:${seq}`);
  // A quick look leaves these out.
  if (amountFor(context, { what: "passes over half of the files", all: 1, quick: 0 }) > 0) {
    for (const file of files.slice(0, files.length >> 1)) appendFileSync(file, "// changed\n");
    await measure("snapshot, half of all files changed", "snapshot");
    await measure("restore in place, half of all files changed", "restore", "baseline", "--yes");
  }
  await measure("list", "list");
  await measure("verify", "verify");
  await measure("prune", "prune", "--keep-last", "1", "--min-age-hours", "0", "--yes");
  await measure("gc", "gc");
  return rows;
}

/** Measures the two processes of a first sync. */
async function replicated(context: BenchContext, tree: string): Promise<Row[]> {
  const pair = { ...pairIn(context.scratch.fresh("memory-sync")), from: tree };
  await using origin = startOrigin(pair);
  await listening(pair);
  await using replica = startReplica(pair);
  await inSync(pair);
  return [["origin", origin.pid] as const, ["replica", replica.pid] as const].map(([name, pid]) => ({
    what: `chronicle, first sync, the ${name}`,
    unit: "MiB",
    samples: [highWaterMark(pid) / MIB],
  }));
}

/** Runs commands, and resolves to the largest peak. */
async function peakOf(context: BenchContext, what: string, run: readonly Command[]): Promise<Row> {
  let peak = 0;
  for (const command of run) peak = Math.max(peak, await peakMemory(command));
  context.say(`${what}: ${(peak / MIB).toFixed(0)} MiB`);
  return { what, unit: "MiB", samples: [peak / MIB] };
}
