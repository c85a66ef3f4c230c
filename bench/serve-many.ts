import { setTimeout as sleep } from "node:timers/promises";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { percentile } from "./lib/result.ts";

const WORKSPACES = 1_000;
/** The pause that makes all workspaces idle. A server closes a workspace that was unused for two minutes. */
const IDLE_MS = 125_000;
const MIB = 2 ** 20;

export const serveMany: Bench = {
  name: "serve-many",
  promise: "1,000 hosted workspaces take at most 500 MiB of memory, and an idle workspace holds no file open",
  async run(context) {
    await using server = new BenchServer(context.scratch.fresh("serve-many"));
    await server.start();
    const atStart = server.memory().now;
    const made = await make(context, server);
    const read = await readAll(server, made.ids.size);
    const ours = (): number => server.openFiles().filter((id) => made.ids.has(id)).length;
    const busy = ours();
    const peak = server.memory().most;
    const idle = context.options.isQuick ? undefined : await whenIdle(context, server, ours);
    return {
      rows: [
        { what: "memory after the server's start", unit: "MiB", samples: [atStart / MIB] },
        ...(idle === undefined
          ? []
          : [{ what: "memory with all workspaces idle", unit: "MiB", samples: [idle.now / MIB] }]),
        { what: "creating a workspace, p50", unit: "ms", samples: [percentile(made.samples, 0.5)] },
        { what: "opening a workspace and reading a file, p50", unit: "ms", samples: [percentile(read, 0.5)] },
        { what: "opening a workspace and reading a file, p99", unit: "ms", samples: [percentile(read, 0.99)] },
        { what: "open files after the reads", unit: "files", samples: [busy] },
      ],
      ratios: [
        { what: "peak memory", unit: "MiB", samples: [peak / MIB], target: { kind: "at-most", value: 500 } },
        ...(idle === undefined
          ? []
          : [
              {
                what: "open files, all idle",
                unit: "files",
                samples: [idle.files],
                target: { kind: "at-most", value: 0 } as const,
              },
            ]),
      ],
      notes: [
        `each of ${made.ids.size} workspaces was created, written to, and read by its name. ` +
          (idle === undefined
            ? "With corpus S, the workspaces are not watched until they are idle"
            : `"Idle" means ${IDLE_MS / 1000} s without a request. Only open files of these workspaces count, because the server watches the folder that it was started in all the time`),
      ],
    };
  },
};

/** Waits until all workspaces are idle. Resolves to the server's memory, and to the number of open files. */
async function whenIdle(context: BenchContext, server: BenchServer, openFiles: () => number) {
  context.say("waiting until the workspaces are idle");
  await server.client.close();
  await sleep(IDLE_MS);
  return { ...server.memory(), files: openFiles() };
}

const nameOf = (i: number) => `session-${i}`;

/** Creates the workspaces, each with one file. Resolves to their ids, and to the milliseconds of each creation. */
async function make(context: BenchContext, server: BenchServer) {
  const count = amountFor(context, { what: "workspaces", all: WORKSPACES });
  const samples: number[] = [];
  const ids = new Set<string>();
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    const { workspace } = await server.client.store.create({ name: nameOf(i) });
    samples.push(performance.now() - started);
    ids.add(workspace.id);
    await workspace.putFile("src/main.ts", Buffer.from(`export const session = ${i};\n`));
    if ((i + 1) % 250 === 0) context.say(`${i + 1} workspaces, ${(server.memory().now / MIB).toFixed(0)} MiB`);
  }
  return { samples, ids };
}

/**
 * Reads the file of each workspace, the oldest workspace first, because the server has closed most old workspaces.
 * Resolves to the milliseconds of each read.
 */
async function readAll(server: BenchServer, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    const file = await server.client.readFile(nameOf(i), "src/main.ts");
    const text = await file.text();
    samples.push(performance.now() - started);
    if (text !== `export const session = ${i};\n`)
      throw new Error(`${nameOf(i)} has the file of another workspace: ${text}`);
  }
  return samples;
}
