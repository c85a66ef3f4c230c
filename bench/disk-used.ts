import { spawnSync } from "node:child_process";
import type { Bench } from "./lib/bench.ts";
import { chronicleTool } from "./lib/chronicle-tool.ts";
import { timeCommands } from "./lib/command.ts";
import { gitTool } from "./lib/git-tool.ts";
import { resticTool } from "./lib/restic-tool.ts";
import { firstCapture } from "./lib/prepared.ts";

export const diskUsed: Bench = {
  name: "disk-used",
  promise: "a store takes no more disk than git's loose objects, and after `gc` at most 1.3 times restic's",
  run(context) {
    const kept = [chronicleTool, gitTool, resticTool].map((tool) => ({ tool, kept: firstCapture(context, tool) }));
    const before = kept.map((one) => mebibytesOnDisk(one.kept.store));
    for (const one of kept) {
      context.say(`collecting ${one.tool.name}`);
      timeCommands(one.kept.collect());
    }
    const after = kept.map((one) => mebibytesOnDisk(one.kept.store));
    const [ours = NaN, git = NaN] = before;
    const [oursAfter = NaN, , restic = NaN] = after;
    const rows = kept.flatMap((one, i) => [
      { what: `${one.tool.name}, after the first capture`, unit: "MiB", samples: [before[i] ?? NaN] },
      { what: `${one.tool.name}, after its gc`, unit: "MiB", samples: [after[i] ?? NaN] },
    ]);
    return {
      rows,
      ratios: [
        { what: "chronicle / git's loose objects", samples: [ours / git], target: { kind: "at-most", value: 1 } },
        { what: "chronicle after gc / restic", samples: [oursAfter / restic], target: { kind: "at-most", value: 1.3 } },
      ],
      notes: ["the sizes are those of `du`, which counts whole blocks"],
    };
  },
};

function mebibytesOnDisk(folder: string): number {
  const du = spawnSync("du", ["-sk", folder], { encoding: "utf8" });
  if (du.status !== 0) throw new Error(`du ${folder}: ${du.stderr}`);
  return Number(du.stdout.split("\t")[0]) / 1024;
}
