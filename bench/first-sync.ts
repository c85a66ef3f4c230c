import { rmSync } from "node:fs";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { inSync, originSocket, startOrigin, startReplica } from "./lib/chronicle-peer.ts";
import { baseEnv, timeCommands } from "./lib/command.ts";
import { mustEqualCorpus } from "./lib/must-equal-corpus.ts";
import { ratioInTurn } from "./lib/result.ts";
import { untouchedCopy } from "./lib/prepared.ts";
import { startRsync } from "./lib/rsync-daemon.ts";
import { isInstalled, pairIn, type SyncPair } from "./lib/sync-peer.ts";

export const firstSync: Bench = {
  name: "first-sync",
  promise: "a first sync takes at most twice as long as a copy by `rsync -a` over loopback",
  async run(context) {
    if (!isInstalled("rsync")) return { rows: [], ratios: [], notes: ["left out: rsync is not installed"] };
    const pair = pairIn(context.scratch.fresh("first-sync"));
    rmSync(pair.from, { recursive: true });
    const served = { ...pair, from: untouchedCopy(context) };
    await using _origin = startOrigin(served);
    const module = await startRsync(served.from, served.home);
    await using _rsync = module.daemon;
    const rounds = amountFor(context, { what: "rounds", all: context.options.rounds, quick: 2 });
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const chronicle = async () => ours.push(await filled(context, served));
      const rsync = () => theirs.push(copied(context, module.url));
      if (round % 2 === 0) await chronicle();
      rsync();
      if (round % 2 === 1) await chronicle();
      context.say(`round ${round + 1}: chronicle ${ours.at(-1)?.toFixed(2)} s, rsync ${theirs.at(-1)?.toFixed(2)} s`);
    }
    return {
      rows: [
        { what: "chronicle replicate, until it is in sync", unit: "s", samples: ours },
        { what: "rsync -a from a daemon", unit: "s", samples: theirs },
      ],
      ratios: [
        { what: "chronicle / rsync", samples: ratioInTurn(ours, theirs), target: { kind: "at-most", value: 2 } },
      ],
      notes: [
        "the replica begins with an empty folder and an empty store. At the end it durably has the files, the whole history and all contents. rsync syncs nothing to disk. All results are compared with the corpus, byte by byte; this is not timed",
      ],
    };
  },
};

/** Starts a new replica, and resolves to the seconds until it is in sync. */
async function filled(context: BenchContext, origin: SyncPair): Promise<number> {
  const pair = pairIn(context.scratch.fresh("replica"));
  context.scratch.settle();
  const started = performance.now();
  {
    await using _replica = startReplica(pair, originSocket(origin));
    await inSync(pair);
  }
  const seconds = (performance.now() - started) / 1000;
  mustEqualCorpus(context, pair.to);
  return seconds;
}

/** Copies with rsync into a new folder, and returns the seconds that this took. */
function copied(context: BenchContext, url: string): number {
  const target = context.scratch.fresh("copied-by-rsync");
  context.scratch.settle();
  const seconds = timeCommands([{ argv: ["rsync", "-a", url, `${target}/`], cwd: target, env: baseEnv(target) }]);
  mustEqualCorpus(context, target);
  return seconds;
}
