import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { amountFor, type Bench } from "./lib/bench.ts";
import { residentProcess } from "./lib/prepared.ts";
import { residentBytes } from "./lib/resident.ts";

const MOST_MIB = 120;
const MOST_PERCENT = 0.2;
const SECONDS = 120;
const MIB = 2 ** 20;

export const residentIdle: Bench = {
  name: "resident-idle",
  promise: "the store's process takes at most 120 MiB and 0.2 % of a processor while nobody asks and nothing changes",
  async run(context) {
    const ours = await residentProcess(context);
    const pid = await ours.pid();
    if (pid === undefined) throw new Error("the store's process does not answer");
    const seconds = amountFor(context, { what: "seconds of rest", all: SECONDS, quick: 5 });
    const [started, before] = [performance.now(), processorMs(pid)];
    await sleep(1_000 * seconds);
    const percent = (100 * (processorMs(pid) - before)) / (performance.now() - started);
    return {
      rows: [],
      ratios: [
        {
          what: "memory",
          unit: "MiB",
          samples: [residentBytes(pid) / MIB],
          target: { kind: "at-most", value: MOST_MIB },
        },
        { what: "of a processor", unit: "%", samples: [percent], target: { kind: "at-most", value: MOST_PERCENT } },
      ],
      notes: [
        `for ${seconds} s, the process follows a copy of the corpus in which nothing changes. Work that it does less often is not seen. The memory is the resident memory at the end`,
      ],
    };
  },
};

/** Returns the processor time that all threads of a process have used so far, in milliseconds. Linux only. */
function processorMs(pid: number): number {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}
