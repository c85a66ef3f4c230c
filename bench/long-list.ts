import { join } from "node:path";
import { openStore } from "../src/open.ts";
import { amountFor, type Bench } from "./lib/bench.ts";
import { makeLongHistory, nameOf, type Places, TURN } from "./lib/long-history.ts";

const ACTIONS = 100_000;

export const longList: Bench = {
  name: "long-list",
  promise: "the first page of the list of 100,000 actions, also of those that changed one file, takes 100 ms or less",
  async run(context) {
    const tree = context.scratch.fresh("long-list-tree");
    const home = context.scratch.fresh("long-list-store");
    const options = { home: join(home, "home"), configFolder: join(home, "config") };
    const actions = amountFor(context, { what: "actions", all: ACTIONS });
    context.say(`writing ${actions} actions`);
    await makeLongHistory(options, tree, actions);
    context.say("bringing the index up to the log");
    const store = await openStore(options);
    const workspace = await store.open({ folder: tree });
    await workspace.log({ limit: 1, reverse: true });
    const samples = async (ask: () => Promise<unknown>): Promise<number[]> => {
      const times: number[] = [];
      for (let round = 0; round < context.options.rounds; round++) times.push(await timed(ask));
      return times;
    };
    const again = await samples(() => workspace.recent(20));
    const narrow = await samples(() => workspace.recent(20, { file: nameOf(7) }));
    await workspace.close();
    await store.close();
    const first = await samples(() => firstPage(options, tree));
    return {
      rows: [{ what: "20 lines, and the opening of the store", unit: "ms", samples: first }],
      ratios: [
        { what: "20 lines", unit: "ms", samples: again, target: { kind: "at-most", value: 100 } },
        {
          what: "20 lines that changed one of the files",
          unit: "ms",
          samples: narrow,
          target: { kind: "at-most", value: 100 },
        },
      ],
      notes: [`in turns of ${TURN} actions, each of which changes one of 200 files of about 3 KB`],
    };
  },
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function firstPage(options: Places, tree: string): Promise<void> {
  const store = await openStore(options);
  const workspace = await store.open({ folder: tree });
  await workspace.recent(20);
  await workspace.close();
  await store.close();
}
