import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { appliedBy, inSync, startOrigin, startReplica } from "./lib/chronicle-peer.ts";
import { contentOf, firstSync, nameOf, syncTree, TREE_FILES } from "./lib/edit-latency.ts";
import { type EditLoad, editLoad } from "./lib/edit-load.ts";
import { processorSeconds } from "./lib/processor-seconds.ts";
import { Resident } from "./lib/resident.ts";
import type { Ratio, Row } from "./lib/result.ts";
import { rsyncLoopPeer } from "./lib/rsync-loop-peer.ts";
import { pairIn, type SyncPair, type SyncPeer } from "./lib/sync-peer.ts";
import { syncthingPeer } from "./lib/syncthing-peer.ts";

const PER_SECOND = 5_000;
const SECONDS = 40;
const MOST_LAG_SECONDS = 1;
/** The promised maximum of the ratio: memory in the last third of the time to memory in the second third. */
const MOST_GROWTH = 1.15;
const GIVE_UP_MS = 600_000;
const MIB = 2 ** 20;
const PEERS: readonly SyncPeer[] = [rsyncLoopPeer, syncthingPeer(1)];

/** The result of the edits with one tool. */
interface Followed {
  readonly load: EditLoad;
  /** The time from the last edit until both folders were equal, in seconds. */
  readonly lag: number;
}

export const syncThroughput: Bench = {
  name: "sync-throughput",
  promise:
    "a replica follows 5,000 small changes a second, and is at most 1 s behind after 40 s of them; the memory of both sides does not grow",
  async run(context) {
    const ours = await chronicle(context);
    const rows: Row[] = [...ours.rows];
    const ratios: Ratio[] = [...ours.ratios];
    const notes = [
      `one program writes ${PER_SECOND} of ${TREE_FILES} files in place each second, one after the other and again from the first, for ${secondsOf(context)} s. The program, the origin and the replica share the machine. "Changes a second" is the number of edits, divided by the time from the first edit until both folders are equal. An edit that is overwritten before a tool has looked at it counts, too`,
      "rsync in a loop syncs in one direction only, and does not keep what it overwrites",
    ];
    for (const peer of PEERS) {
      const missing = peer.missing();
      if (missing !== undefined) {
        notes.push(`${peer.name}: left out, because ${missing} is not installed`);
        continue;
      }
      const { load, lag } = await beside(context, peer);
      rows.push(...speedRows(peer.name, load, lag));
      ratios.push({ what: `lag, ${peer.name} / chronicle`, samples: [lag / ours.lag], target: undefined });
    }
    return { rows, ratios, notes };
  },
};

/** The length of the load. */
function secondsOf(context: BenchContext): number {
  return amountFor(context, { what: "seconds of load", all: SECONDS, quick: 2 });
}

async function chronicle(context: BenchContext) {
  const pair = pairIn(context.scratch.fresh("sync-throughput"));
  syncTree(pair.from);
  await using origin = startOrigin(pair);
  await using replica = startReplica(pair);
  await inSync(pair);
  await firstSync(context, pair);
  const before = { applied: appliedBy(pair), seconds: [origin, replica].map(({ pid }) => processorSeconds(pid)) };
  using memory = new Resident([origin.pid, replica.pid]);
  const { load, lag } = await followed(context, pair);
  context.say(`chronicle: ${lag.toFixed(1)} s behind`);
  const events = appliedBy(pair) - before.applied;
  const sides = ["origin", "replica"].map((name, i) => {
    const spent = processorSeconds([origin, replica][i]?.pid ?? 0) - (before.seconds[i] ?? 0);
    return {
      name,
      most: memory.most(i, 0, 1),
      early: memory.most(i, 1 / 3, 2 / 3),
      late: memory.most(i, 2 / 3, 1),
      spent,
    };
  });
  const rows: Row[] = [
    ...speedRows("chronicle", load, lag),
    { what: "chronicle: events per change", unit: "", samples: [events / load.edits] },
    ...sides.flatMap(({ name, most, spent }) => [
      { what: `chronicle, ${name}: peak memory`, unit: "MiB", samples: [most / MIB] },
      { what: `chronicle, ${name}: processor time per event`, unit: "ms", samples: [(spent * 1000) / events] },
    ]),
  ];
  const ratios: Ratio[] = [
    { what: "chronicle, lag", unit: "s", samples: [lag], target: { kind: "at-most", value: MOST_LAG_SECONDS } },
    ...sides.map(({ name, early, late }) => ({
      what: `memory of the ${name}, last third / second third of the time`,
      samples: [late / early],
      target: { kind: "at-most", value: MOST_GROWTH } as const,
    })),
  ];
  return { rows, ratios, lag };
}

/** Measures another tool. */
async function beside(context: BenchContext, peer: SyncPeer): Promise<Followed> {
  const pair = pairIn(context.scratch.fresh("sync-throughput"));
  syncTree(pair.from);
  await using _running = await peer.start(pair);
  await firstSync(context, pair);
  const found = await followed(context, pair);
  context.say(`${peer.name}: ${found.lag.toFixed(1)} s behind`);
  return found;
}

/** Makes the edits in `from`, and waits until both folders are equal. */
async function followed(context: BenchContext, pair: SyncPair): Promise<Followed> {
  const load = await editLoad({
    folder: pair.from,
    files: TREE_FILES,
    perSecond: PER_SECOND,
    seconds: secondsOf(context),
  });
  context.say(`${load.edits} edits in ${load.seconds.toFixed(1)} s`);
  const ended = performance.now();
  await equal(pair);
  return { load, lag: (performance.now() - ended) / 1000 };
}

function speedRows(name: string, { edits, seconds }: EditLoad, lag: number): Row[] {
  return [
    { what: `${name}: changes a second`, unit: "/s", samples: [edits / (seconds + lag)] },
    { what: `${name}: lag after the last change`, unit: "s", samples: [lag] },
  ];
}

/** Resolves when both folders are equal. Rejects after 10 minutes. */
async function equal({ from, to }: SyncPair): Promise<void> {
  const until = performance.now() + GIVE_UP_MS;
  for (let i = 0; i < TREE_FILES;) {
    const [here, there] = [from, to].map((folder) => contentOf(join(folder, nameOf(i))));
    if (here !== undefined && here === there) i++;
    else if (performance.now() > until) throw new Error(`${nameOf(i)} is not equal`);
    else await pause(5);
  }
}
