import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { replicaLoad } from "./lib/replica-load.ts";
import { percentile } from "./lib/result.ts";

const REPLICAS = 200;
const WRITES = 200;
const FILES = 500;
const MIB = 2 ** 20;

export const manyReplicas: Bench = {
  name: "many-replicas",
  isLong: true,
  promise: "an origin with 200 replicas takes at most 1 GiB of memory",
  async run(context) {
    await using server = new BenchServer(context.scratch.fresh("many-replicas"), ["--replication"]);
    await server.start();
    const { workspace } = await server.client.store.create({ name: "bench" });
    const files = amountFor(context, { what: "files", all: FILES, quick: 100 });
    for (let i = 0; i < files; i++) await workspace.putFile(`src/file-${i}.ts`, Buffer.from(`// ${i}\n`.repeat(200)));
    const before = server.memory().now;
    const { latency, equal } = await following(context, server, workspace.id);
    if (equal !== REPLICAS)
      throw new Error(`${REPLICAS - equal} of ${REPLICAS} replicas do not have the origin's head`);
    return {
      rows: [
        { what: "memory of the origin without replicas", unit: "MiB", samples: [before / MIB] },
        { what: "from a write until all replicas have it, p50", unit: "ms", samples: [percentile(latency, 0.5)] },
        { what: "from a write until all replicas have it, p99", unit: "ms", samples: [percentile(latency, 0.99)] },
      ],
      ratios: [
        {
          what: "peak memory of the origin",
          unit: "MiB",
          samples: [server.memory().most / MIB],
          target: { kind: "at-most", value: 1024 },
        },
      ],
      notes: [
        `the ${REPLICAS} replicas are in one process of their own, and hold everything in memory. Each began empty and fetched ${files} files. Then ${writesOf(context)} writes were made, one after the other`,
      ],
    };
  },
};

function writesOf(context: BenchContext): number {
  return amountFor(context, { what: "writes", all: WRITES });
}

function following(context: BenchContext, { socket }: BenchServer, workspace: string) {
  context.say(`starting ${REPLICAS} replicas`);
  return replicaLoad({ socket, workspace, replicas: REPLICAS, writes: writesOf(context) });
}
