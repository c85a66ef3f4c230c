import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { timeGitReads } from "./lib/git-reads.ts";
import { readLoad, type ReadLoad } from "./lib/read-load.ts";
import { percentile, ratioInTurn, type Row } from "./lib/result.ts";
import { nginxServer, nodeStaticServer, type StaticServer } from "./lib/static-server.ts";

const CONNECTIONS = 50;
const SECONDS = 5;
const PATH = "src/small.txt";
/** 1 KiB. */
const TEXT = "a line of a small file that is read\n".repeat(40).slice(0, 1024);

export const serveRead: Bench = {
  name: "serve-read",
  promise:
    "50 connections read a file of 1 KiB at least 4,000 times a second, with p99 at most 10 ms; a plain static server is at most 3 times as fast",
  async run(context) {
    await using server = new BenchServer(context.scratch.fresh("serve-read"));
    await server.start();
    const { workspace } = await server.client.store.create({ name: "bench" });
    await workspace.putFile(PATH, Buffer.from(TEXT));
    const folder = context.scratch.fresh("serve-read-static");
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, PATH), TEXT);
    using plain = await nodeStaticServer(folder);
    using nginx = await nginxServer(folder, context.scratch.fresh("serve-read-nginx"));
    const others = [plain, ...(nginx === undefined ? [] : [nginx])];
    const url = `${server.url}/v1/workspaces/bench/files/${PATH}`;
    const git = timeGitReads(context, PATH, TEXT);
    const seconds = secondsOf(context);
    return reportOf(await inTurn(context, { url, token: server.token }, others), others, { git, seconds });
  },
};

/** The length of each load, in seconds. */
function secondsOf(context: BenchContext): number {
  return amountFor(context, { what: "seconds of load", all: SECONDS });
}

interface Asked {
  readonly url: string;
  readonly token: string;
}

/** Measures the servers in turn. Resolves to the rounds of each server. The first server is Chronicle. */
async function inTurn(context: BenchContext, ours: Asked, others: readonly StaticServer[]): Promise<ReadLoad[][]> {
  const sides = [ours, ...others.map(({ url }) => ({ url: `${url}/${PATH}` }))];
  const loads: ReadLoad[][] = sides.map(() => []);
  // A first load that is not measured warms up the code, as in a server that has run for a while.
  for (const side of sides)
    await readLoad({ ...side, connections: CONNECTIONS, seconds: secondsOf(context), expect: TEXT });
  for (let round = 0; round < context.options.rounds; round++) {
    for (const [i, side] of sides.entries()) {
      const load = await readLoad({
        ...side,
        connections: CONNECTIONS,
        seconds: secondsOf(context),
        expect: TEXT,
      });
      loads[i]?.push(load);
      context.say(`round ${round + 1}: ${side.url}: ${load.perSecond.toFixed(0)}/s, p99 ${load.p99} ms`);
    }
  }
  return loads;
}

interface Beside {
  /** The rows of git. */
  readonly git: readonly Row[];
  /** The length of each round. */
  readonly seconds: number;
}

function reportOf(
  [ours = [], ...loads]: readonly ReadLoad[][],
  others: readonly StaticServer[],
  { git, seconds }: Beside,
) {
  const perSecond = (load: readonly ReadLoad[]) => load.map((one) => one.perSecond);
  return {
    rows: [
      { what: "chronicle, p50", unit: "ms", samples: ours.map(({ p50 }) => p50) },
      ...others.map(({ name }, i) => ({ what: name, unit: "reads/s", samples: perSecond(loads[i] ?? []) })),
      ...others.map(({ name }, i) => ({
        what: `${name}, p99`,
        unit: "ms",
        samples: (loads[i] ?? []).map((l) => l.p99),
      })),
      ...git.map((row) => ({ ...row, samples: [percentile(row.samples, 0.5)] })),
    ],
    ratios: [
      { what: "chronicle", unit: "reads/s", samples: perSecond(ours), target: { kind: "at-least", value: 4_000 } },
      {
        what: "chronicle, p99",
        unit: "ms",
        samples: ours.map(({ p99 }) => p99),
        target: { kind: "at-most", value: 10 },
      },
      ...others.map(({ name }, i) => ({
        what: `${name} / chronicle`,
        samples: ratioInTurn(perSecond(loads[i] ?? []), perSecond(ours)),
        target: i === 0 ? ({ kind: "at-most", value: 3 } as const) : undefined,
      })),
    ],
    notes: [
      `each round has ${CONNECTIONS} connections for ${seconds} s, over TCP with a token. autocannon in a process of its own checks every body. ` +
        "In git's rows, each request is one process, without the web server that `git http-backend` needs",
    ],
  } as const;
}
