import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { type Command, timeCommands } from "./lib/command.ts";
import { gitHistory } from "./lib/git-history.ts";
import { percentile, type Row } from "./lib/result.ts";

const ITERATIONS = 10_000;
const AT_ONCE = 50;
const TIMES = 50;
const PATH = "src/much-changed.txt";
/** The default length of a page of the API. */
const PAGE = 100;

export const serveHistory: Bench = {
  name: "serve-history",
  promise: "the first page of the history of a file with 10,000 iterations takes at most 20 ms",
  async run(context) {
    await using server = new BenchServer(context.scratch.fresh("serve-history"));
    await server.start();
    const { workspace } = await server.client.store.create({ name: "bench" });
    const iterations = amountFor(context, { what: "iterations", all: ITERATIONS, quick: 2_000 });
    context.say(`writing ${iterations} iterations`);
    await change(workspace, iterations);
    await server.stop();
    await server.start();
    const url = `${server.url}/v1/workspaces/bench/files/${PATH}/history`;
    const first = await ask(url, server.token);
    const samples: number[] = [];
    for (let i = 0; i < TIMES; i++) samples.push(await ask(url, server.token));
    const p50 = percentile(samples, 0.5);
    const last = `${url}?cursor=${iterations - PAGE}`;
    const lastPage = await ask(last, server.token, iterations - PAGE + 1);
    return {
      rows: [
        { what: "chronicle, p99", unit: "ms", samples: [percentile(samples, 0.99)] },
        { what: "chronicle, the first request after the server's start", unit: "ms", samples: [first] },
        { what: "chronicle, the last page", unit: "ms", samples: [lastPage] },
        ...gitLogs(context, iterations),
      ],
      ratios: [{ what: "chronicle, p50", unit: "ms", samples: [p50], target: { kind: "at-most", value: 20 } }],
      notes: [
        `${TIMES} requests, one after the other, over TCP with a token. A page has ${PAGE} iterations, the oldest first`,
      ],
    };
  },
};

/** Writes all iterations of the file, `AT_ONCE` at a time. */
async function change(workspace: WorkspaceApi, iterations: number): Promise<void> {
  let n = 0;
  const writer = async (): Promise<void> => {
    while (n < iterations) await workspace.putFile(PATH, Buffer.from(`iteration ${(n += 1)}\n`));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, writer));
}

/**
 * Requests a page, and resolves to the milliseconds until the answer was parsed. Rejects unless the page begins with
 * the iteration `from` and is full.
 */
async function ask(url: string, token: string, from = 1): Promise<number> {
  const started = performance.now();
  const reply = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const page = (await reply.json()) as { items: { iteration: number }[] };
  const ms = performance.now() - started;
  const { items } = page;
  if (items.length === PAGE && items.every(({ iteration }, i) => iteration === from + i)) return ms;
  throw new Error(
    `${url} was answered with ${reply.status} and ${items.length} iterations from ${items[0]?.iteration}`,
  );
}

/** Times `git log` of a file, in a packed repository with one commit for each iteration of the file. */
function gitLogs(context: BenchContext, iterations: number): Row[] {
  const git = gitHistory(context, PATH, iterations);
  const p50 = (...args: string[]) => percentile(times(git(...args)), 0.5);
  const format = "--format=%H %ct";
  return [
    {
      what: `git log -n ${PAGE} -- FILE, p50`,
      unit: "ms",
      samples: [p50("log", format, "-n", String(PAGE), "main", "--", PATH)],
    },
    {
      what: "git log --reverse -- FILE: the oldest first, p50",
      unit: "ms",
      samples: [p50("log", format, "--reverse", "main", "--", PATH)],
    },
  ];
}

function times(command: Command): number[] {
  return Array.from({ length: 10 }, () => 1000 * timeCommands([command]));
}
