import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import {
  inOrigin,
  inSync,
  listening,
  originSocket,
  startOrigin,
  startReplica,
  timesInSync,
} from "./lib/chronicle-peer.ts";
import { baseEnv, runCommand } from "./lib/command.ts";
import { CountingWire } from "./lib/counting-wire.ts";
import { freePort } from "./lib/free-port.ts";
import { mustEqualCorpus } from "./lib/must-equal-corpus.ts";
import { type Ratio, ratioInTurn, type Row } from "./lib/result.ts";
import { untouchedCopy } from "./lib/prepared.ts";
import { startRsync } from "./lib/rsync-daemon.ts";
import { Background, isInstalled, pairIn, type SyncPair } from "./lib/sync-peer.ts";

const MOST_BYTES = 10 * 1024;

export const syncEqual: Bench = {
  name: "sync-equal",
  isLong: true,
  promise: "a full reconciliation of two equal trees of 50,000 files moves at most 10 KiB",
  async run(whole) {
    const context = fewRounds(whole);
    const pair = pairIn(context.scratch.fresh("sync-equal"));
    rmSync(pair.from, { recursive: true });
    const served = { ...pair, from: untouchedCopy(context) };
    const ours = await reconciled(context, served);
    const rows: Row[] = [{ what: "chronicle, both ways", unit: "B", samples: ours }];
    const ratios: Ratio[] = [
      { what: "chronicle, both ways", unit: "B", samples: ours, target: { kind: "at-most", value: MOST_BYTES } },
    ];
    const notes = [
      "chronicle: the replica was not connected while the origin dropped the events that the replica lacks, so the two trees must be compared. All bytes on the socket count, from the connection until the replica reports that it is in sync",
    ];
    for (const { name, equal } of [
      { name: "rsync", equal: betweenRsyncs },
      { name: "unison", equal: betweenUnisons },
    ]) {
      if (!isInstalled(name)) {
        notes.push(`${name}: left out, because it is not installed`);
        continue;
      }
      const samples = await equal(context, served);
      rows.push({ what: `${name}, both ways`, unit: "B", samples });
      ratios.push({ what: `${name} / chronicle`, samples: ratioInTurn(samples, ours), target: undefined });
    }
    return { rows, ratios, notes };
  },
};

/** Returns a context with one round for a quick look, because the bytes hardly differ between rounds. */
function fewRounds(context: BenchContext): BenchContext {
  const rounds = amountFor(context, { what: "rounds", all: context.options.rounds, quick: 1 });
  return { ...context, options: { ...context.options, rounds } };
}

/**
 * Fills a replica, and then reconciles it with its origin in each round. Resolves to the bytes of each reconciliation.
 */
async function reconciled(context: BenchContext, pair: SyncPair): Promise<number[]> {
  const found: number[] = [];
  const through = join(pair.home, "counted.sock");
  {
    await using _origin = startOrigin(pair);
    await using _replica = startReplica(pair);
    await inSync(pair);
  }
  for (let round = 0; round < context.options.rounds; round++) {
    const origin = inOrigin(pair);
    // The replica must lack events that the origin drops. Otherwise it would continue without a reconciliation.
    for (const message of ["once", "twice"]) runCommand(origin("snapshot", "-m", message));
    runCommand(origin("compact", "--drop-archive", "--yes"));
    const before = timesInSync(pair);
    await using _origin = startOrigin(pair, { isNew: false });
    // A replica that is started with another address ends if nothing answers at this address.
    await listening(pair);
    await using wire = await CountingWire.between({ path: through }, { path: originSocket(pair) });
    await using _replica = startReplica(pair, through);
    await inSync(pair, before);
    if (!wire.begin.includes('"TreeRequest"')) throw new Error("the replica continued without a reconciliation");
    found.push(wire.bytes);
    context.say(`chronicle: ${wire.bytes} bytes`);
  }
  mustEqualCorpus(context, pair.to);
  return found;
}

/** Runs `rsync -a` from a daemon into an equal copy. Resolves to the bytes of each run. */
async function betweenRsyncs(context: BenchContext, { from, home }: SyncPair): Promise<number[]> {
  const { daemon, url } = await startRsync(from, home);
  await using _daemon = daemon;
  const target = context.scratch.fresh("copied-by-rsync");
  const copy = (): string =>
    runCommand({ argv: ["rsync", "-a", "--stats", url, `${target}/`], cwd: target, env: baseEnv(target) });
  copy();
  const found: number[] = [];
  for (let round = 0; round < context.options.rounds; round++) {
    const output = copy();
    const counted = (way: string) =>
      Number(new RegExp(`^Total bytes ${way}: ([\\d,]+)`, "m").exec(output)?.[1]?.replaceAll(",", ""));
    found.push(counted("sent") + counted("received"));
    context.say(`rsync: ${found.at(-1)} bytes`);
  }
  return found;
}

/** Syncs two equal folders with unison, which has the archives of an earlier run. Resolves to the bytes of each run. */
async function betweenUnisons(context: BenchContext, { from }: SyncPair): Promise<number[]> {
  const { home, to } = pairIn(context.scratch.fresh("unison"));
  const [port, counted] = [await freePort(), await freePort()];
  const env = { ...baseEnv(home), UNISON: join(home, "archives") };
  await using _server = new Background(["unison", "-socket", String(port)], home, { env });
  const found: number[] = [];
  for (let round = 0; round <= context.options.rounds; round++) {
    await using wire = await CountingWire.between({ host: "127.0.0.1", port: counted }, { host: "127.0.0.1", port });
    const roots = [from, `socket://127.0.0.1:${counted}/${to}`];
    // `runCommand` would block this process, which must pass the bytes on.
    const [code] = await once(spawn("unison", [...roots, "-batch", "-auto", "-silent"], { env }), "exit");
    if (code !== 0) throw new Error(`unison ended with ${String(code)}`);
    // The first round is not counted, because it fills the target folder.
    if (round > 0) found.push(wire.bytes);
    context.say(`unison: ${wire.bytes} bytes`);
  }
  return found;
}
