import type { Bench } from "./lib/bench.ts";
import { inMilliseconds } from "./lib/result.ts";
import { inTurn, manyRounds } from "./lib/rounds.ts";
import { StoreProcess } from "./lib/store-process.ts";

const MOST_MS = 100;

export const residentRun: Bench = {
  name: "resident-run",
  promise: "`chronicle run -- true` takes at most 100 ms with the store's process",
  async run(context) {
    await using ours = await StoreProcess.ofCorpus(context, "resident-run");
    const rows = inMilliseconds(
      inTurn(manyRounds(context), [
        { name: "chronicle run -- true", prepare: () => [ours.asked("run", "--", "true")] },
        { name: "chronicle run -- true, with CHRONICLE_DIRECT", prepare: () => [ours.direct("run", "--", "true")] },
      ]),
    );
    const [run = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "chronicle run -- true", unit: "ms", samples: run, target: { kind: "at-most", value: MOST_MS } },
      ],
      notes: ["the command line starts the command, and the process records the run"],
    };
  },
};
