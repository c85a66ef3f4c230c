import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Bench, BenchContext } from "./lib/bench.ts";
import { editLatency, firstSync, syncTree, TREE_FILES } from "./lib/edit-latency.ts";
import { lsyncdPeer } from "./lib/lsyncd-peer.ts";
import { percentile, type Row } from "./lib/result.ts";
import type { SyncPair, SyncPeer } from "./lib/sync-peer.ts";
import { syncthingPeer } from "./lib/syncthing-peer.ts";
import { unisonPeer } from "./lib/unison-peer.ts";

const PEERS: readonly SyncPeer[] = [
  unisonPeer,
  lsyncdPeer(0),
  lsyncdPeer(1),
  lsyncdPeer(15),
  syncthingPeer(1),
  syncthingPeer(10),
];

/** Edits per round, and how long they may take: slow tools get fewer. */
const EDITS = 25;
const BUDGET_MS = 40_000;

export const syncLatency: Bench = {
  name: "sync-latency",
  promise:
    "in a tree of 10,000 files, an edit is in the other folder within 200 ms at p50 and 500 ms at p99, 3 × faster than each other tool",
  async run(context) {
    const rows: Row[] = [];
    const notes = [`${TREE_FILES} files, both folders on one machine`];
    for (const peer of PEERS) {
      const missing = peer.missing();
      if (missing === undefined) rows.push(...latencyRows(peer.name, await edited(context, peer)));
      else notes.push(`${peer.name}: left out, ${missing} is not installed`);
    }
    return { rows, ratios: [], notes };
  },
};

function latencyRows(name: string, samples: readonly number[]): Row[] {
  return [
    { what: `${name}, p50`, unit: "ms", samples: [percentile(samples, 0.5)] },
    { what: `${name}, p99 of ${samples.length}`, unit: "ms", samples: [percentile(samples, 0.99)] },
  ];
}

async function edited(context: BenchContext, peer: SyncPeer): Promise<number[]> {
  const pair = pairIn(context.scratch.fresh("sync"));
  syncTree(pair.from);
  await using _running = await peer.start(pair);
  await firstSync(pair);
  const samples = await editLatency(pair, { edits: EDITS * context.options.rounds, budgetMs: BUDGET_MS });
  context.say(`${peer.name}: ${percentile(samples, 0.5).toFixed(1)} ms`);
  return samples;
}

function pairIn(folder: string): SyncPair {
  const pair = { from: join(folder, "from"), to: join(folder, "to"), home: join(folder, "home") };
  for (const path of Object.values(pair)) mkdirSync(path);
  return pair;
}
