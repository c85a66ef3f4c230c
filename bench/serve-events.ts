import { amountFor, type Bench } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { eventLoad } from "./lib/event-load.ts";
import { percentile } from "./lib/result.ts";

const SUBSCRIBERS = 100;
const WRITES = 300;
const PER_SECOND = 30;

export const serveEvents: Bench = {
  name: "serve-events",
  promise: "an event reaches 100 subscribers within 50 ms at p99",
  async run(context) {
    await using server = new BenchServer(context.scratch.fresh("serve-events"));
    await server.start();
    const { workspace } = await server.client.store.create({ name: "bench" });
    await workspace.putFile("before.txt", Buffer.from("an event before any subscriber\n"));
    const { url, token } = server;
    const plan = { url, token, workspace: "bench", subscribers: SUBSCRIBERS, perSecond: PER_SECOND };
    await eventLoad({ ...plan, writes: 60 });
    const writes = amountFor(context, { what: "writes", all: WRITES });
    const { fromRequest, fromAnswer, writing } = await eventLoad({ ...plan, writes });
    context.say(`${fromRequest.length} events arrived`);
    return {
      rows: [
        {
          what: "from the request of a write to its event, p50",
          unit: "ms",
          samples: [percentile(fromRequest, 0.5)],
        },
        { what: "from the answer to a write to its event, p99", unit: "ms", samples: [percentile(fromAnswer, 0.99)] },
        { what: "from the request of a write to its answer, p50", unit: "ms", samples: [percentile(writing, 0.5)] },
      ],
      ratios: [
        {
          what: "from the request of a write to its event, p99",
          unit: "ms",
          samples: [percentile(fromRequest, 0.99)],
          target: { kind: "at-most", value: 50 },
        },
      ],
      notes: [
        `${SUBSCRIBERS} streams of server-sent events are in one process of their own, which also makes ${writes} writes, at most ${PER_SECOND} a second. Every subscriber got every event once, in order`,
      ],
    };
  },
};
