import type { Bench } from "./lib/bench.ts";
import { corpusTarget } from "./lib/corpus-target.ts";
import { residentProcess } from "./lib/prepared.ts";
import { inMilliseconds } from "./lib/result.ts";
import { inTurn, manyRounds } from "./lib/rounds.ts";

const MOST_MS = 100;
const MOST_DIRECT_MS = { M: 400, L: 1_300 } as const;

export const residentRun: Bench = {
  name: "resident-run",
  promise:
    "`chronicle run -- true` takes at most 100 ms with the store's process, and without it at most 400 ms in corpus M and 1,300 ms in L",
  async run(context) {
    const ours = await residentProcess(context);
    const rows = inMilliseconds(
      inTurn(manyRounds(context), [
        { name: "chronicle run -- true", prepare: () => [ours.asked("run", "--", "true")] },
        { name: "chronicle run -- true, without the process", prepare: () => [ours.direct("run", "--", "true")] },
      ]),
    );
    const [run = [], direct = []] = rows.map((row) => row.samples);
    return {
      rows: [],
      ratios: [
        { what: "chronicle run -- true", unit: "ms", samples: run, target: { kind: "at-most", value: MOST_MS } },
        {
          what: "chronicle run -- true, without the process",
          unit: "ms",
          samples: direct,
          target: corpusTarget(context, MOST_DIRECT_MS),
        },
      ],
      notes: ["the command line starts the command, and the process records the run"],
    };
  },
};
