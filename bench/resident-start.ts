import type { Bench } from "./lib/bench.ts";
import { baseEnv } from "./lib/command.ts";
import { residentProcess } from "./lib/prepared.ts";
import { inMilliseconds, ratioInTurn } from "./lib/result.ts";
import { inTurn, manyRounds } from "./lib/rounds.ts";

const MOST = 1.6;

export const residentStart: Bench = {
  name: "resident-start",
  promise: "`chronicle status`, carried out by the store's process, takes at most 1.6 times as long as `node -e 0`",
  async run(context) {
    const ours = await residentProcess(context);
    const { tree } = ours;
    const node = { argv: [process.execPath, "-e", "0"], cwd: tree, env: baseEnv(tree) };
    const rows = inMilliseconds(
      inTurn(manyRounds(context), [
        { name: "chronicle status", prepare: () => [ours.asked("status")] },
        { name: "node -e 0", prepare: () => [node] },
      ]),
    );
    const [status = [], bare = []] = rows.map((row) => row.samples);
    return {
      rows,
      ratios: [
        { what: "chronicle / node", samples: ratioInTurn(status, bare), target: { kind: "at-most", value: MOST } },
      ],
      notes: [],
    };
  },
};
