import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { peakMemory } from "./lib/command.ts";
import { bigFile } from "./lib/corpus.ts";
import { gitTool } from "./lib/git-tool.ts";
import { resticTool } from "./lib/restic-tool.ts";
import type { Row } from "./lib/result.ts";
import { copyOfCorpus } from "./lib/prepared.ts";
import type { Tool } from "./lib/tool.ts";

const BIG_BYTES = 2 * 2 ** 30;

export const peakMemoryBench: Bench = {
  name: "peak-memory",
  promise: "a first capture of 200,000 files stays within 250 MiB of memory, one file of 2 GiB within 150 MiB",
  async run(context) {
    const corpus = context.options.corpus === "S" ? "S" : "L";
    const many = copyOfCorpus({ ...context, options: { ...context.options, corpus } }, "memory-many");
    const big = join(context.scratch.fresh("memory-big"), "tree");
    mkdirSync(big);
    const bytes = amountFor(context, { what: "bytes of the large file", all: BIG_BYTES, quick: 2 ** 26 });
    const oneFile = `one file of ${(bytes / 2 ** 30).toFixed(1)} GiB`;
    bigFile(join(big, "big.bin"), bytes);
    const rows: Row[] = [];
    for (const [what, tree] of [
      [`corpus ${corpus}`, many],
      [oneFile, big],
    ] as const) {
      for (const tool of [chronicleTool, gitTool, resticTool]) rows.push(await peakOf(context, tool, what, tree));
    }
    const peak = (name: string) => rows.find((row) => row.what === name)?.samples ?? [];
    return {
      rows,
      ratios: [target(`chronicle, corpus ${corpus}`, 250), target(`chronicle, ${oneFile}`, 150)],
      notes: ["each value is the peak resident memory of the tool's largest process, including pages of mapped files"],
    };

    function target(name: string, value: number) {
      return { what: name, unit: "MiB", samples: peak(name), target: { kind: "at-most" as const, value } };
    }
  },
};

/** Measures a tool's first capture of a tree. */
async function peakOf(context: BenchContext, tool: Tool, what: string, tree: string): Promise<Row> {
  const kept = tool.begin(tree, context.scratch.fresh(`memory-${tool.name}`));
  let peak = 0;
  for (const command of kept.record()) peak = Math.max(peak, await peakMemory(command));
  context.say(`${tool.name}, ${what}: ${(peak / 2 ** 20).toFixed(0)} MiB`);
  return { what: `${tool.name}, ${what}`, unit: "MiB", samples: [peak / 2 ** 20] };
}
