import { createClient } from "../src/client/node.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { chroniclePeer, HOSTED, hostedPeer, originSocket } from "./lib/chronicle-peer.ts";
import { editLatency, firstSync, syncTree, TREE_FILES } from "./lib/edit-latency.ts";
import { lsyncdPeer } from "./lib/lsyncd-peer.ts";
import { percentile, type Ratio, type Row } from "./lib/result.ts";
import { pairIn, type SyncPair, type SyncPeer } from "./lib/sync-peer.ts";
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

/** The number of edits per round. */
const EDITS = 25;
/** The time for all edits of a tool, in seconds. A slow tool makes fewer edits. */
const BUDGET_SECONDS = 40;
/** The number of writes through the API per round. */
const WRITES = 60;

export const syncLatency: Bench = {
  name: "sync-latency",
  promise:
    "in a tree of 10,000 files, a write is in the replica's folder within 12 ms (p50) and 100 ms (p99), and an edit that the watcher finds within 200 ms and 500 ms, 3 times faster than with each other tool",
  async run(context) {
    const ours = await edited(context, chroniclePeer);
    const rows: Row[] = [...latencyRows("an edit, chronicle", ours.edits)];
    const writes = ours.writes ?? [];
    const hosted = await writtenHosted(context);
    rows.push(...latencyRows("a write through the API, chronicle", writes));
    rows.push(...latencyRows("a write through the API, chronicle, hosted workspace", hosted));
    const ratios: Ratio[] = [
      atMost("a write through the API, p50", percentile(writes, 0.5), 12),
      atMost("a write through the API, p99", percentile(writes, 0.99), 100),
      atMost("an edit, p50", percentile(ours.edits, 0.5), 200),
      atMost("an edit, p99", percentile(ours.edits, 0.99), 500),
    ];
    const notes = [
      `the tree has ${filesOf(context)} files, and both folders are on one machine. An edit writes a file in place; it has arrived when the file in the other folder has the new content. ${writes.length} writes, ${ours.edits.length} edits`,
      "lsyncd syncs in one direction only, and does not keep what it overwrites. The default delays of lsyncd and syncthing are 15 s and 10 s",
    ];
    for (const peer of PEERS) {
      const missing = peer.missing();
      if (missing !== undefined) {
        notes.push(`${peer.name}: left out, because ${missing} is not installed`);
        continue;
      }
      const { edits } = await edited(context, peer);
      rows.push(...latencyRows(`an edit, ${peer.name}`, edits));
      const ratio = percentile(edits, 0.5) / percentile(ours.edits, 0.5);
      ratios.push({ what: `${peer.name} / chronicle`, samples: [ratio], target: { kind: "at-least", value: 3 } });
    }
    return { rows, ratios, notes };
  },
};

function atMost(what: string, sample: number, value: number): Ratio {
  return { what, unit: "ms", samples: [sample], target: { kind: "at-most", value } };
}

function latencyRows(name: string, samples: readonly number[]): Row[] {
  return [
    { what: `${name}, p50`, unit: "ms", samples: [percentile(samples, 0.5)] },
    { what: `${name}, p99 of ${samples.length}`, unit: "ms", samples: [percentile(samples, 0.99)] },
  ];
}

function filesOf(context: BenchContext): number {
  return amountFor(context, { what: "files of the tree", all: TREE_FILES, quick: 2_000 });
}

function limitsOf(context: BenchContext) {
  const budget = amountFor(context, { what: "seconds of edits or writes", all: BUDGET_SECONDS, quick: 3 });
  return { budgetMs: 1_000 * budget, files: filesOf(context) };
}

/** Resolves to the milliseconds of each edit, and for Chronicle also of each write through the origin's API. */
async function edited(context: BenchContext, peer: SyncPeer) {
  const pair = pairIn(context.scratch.fresh("sync"));
  syncTree(pair.from, filesOf(context));
  await using _running = await peer.start(pair);
  await firstSync(context, pair, filesOf(context));
  const edits = await editLatency(pair, {
    edits: amountFor(context, { what: "edits a round", all: EDITS, quick: 10 }) * context.options.rounds,
    ...limitsOf(context),
  });
  context.say(`${peer.name}: ${percentile(edits, 0.5).toFixed(1)} ms`);
  return peer === chroniclePeer ? { edits, writes: await written(context, pair) } : { edits };
}

/** Like `written`, but the origin is a hosted workspace. */
async function writtenHosted(context: BenchContext): Promise<number[]> {
  const pair = pairIn(context.scratch.fresh("sync-hosted"));
  syncTree(pair.from, filesOf(context));
  await using _running = await hostedPeer.start(pair);
  await firstSync(context, pair, filesOf(context));
  // `await` is needed, because the peers are stopped at the end of this function.
  return await written(context, pair, HOSTED);
}

/**
 * Writes to the origin through its API. Resolves to the milliseconds until each write is in the replica's folder.
 * `name`: the name of the origin; by default the origin is the workspace without a name.
 */
async function written(context: BenchContext, pair: SyncPair, name?: string): Promise<number[]> {
  const client = createClient({ url: `unix:${originSocket(pair)}` });
  try {
    const found = (await client.store.workspaces()).find((one) => (one.name ?? undefined) === name);
    const workspace = await client.store.openById(found?.id ?? "");
    const write = async (path: string, content: string) => void (await workspace.putFile(path, Buffer.from(content)));
    const plan = {
      edits: amountFor(context, { what: "writes a round", all: WRITES, quick: 10 }) * context.options.rounds,
      ...limitsOf(context),
      write,
    };
    const samples = await editLatency(pair, plan);
    context.say(
      `writes through the API${name === undefined ? "" : `, ${name}`}: ${percentile(samples, 0.5).toFixed(1)} ms`,
    );
    return samples;
  } finally {
    await client.close();
  }
}
