import { createHash } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { type Command, timeCommands } from "./lib/command.ts";
import { diskSyncs } from "./lib/disk-syncs.ts";
import { gitTool } from "./lib/git-tool.ts";
import { percentile, type Row } from "./lib/result.ts";
import { type WriteLoad, writeLoad } from "./lib/write-load.ts";

const CLIENTS = 50;
const FILES = 20;
const BYTES = 1024;
const SECONDS = 6;
const COMMITS = 30;
/** The number of files that are read back at once. */
const READERS = 16;

export const serveWrite: Bench = {
  name: "serve-write",
  promise:
    "50 clients make at least 1,500 durable writes of 1 KiB a second, with a folder or without, and kill -9 loses no acknowledged write",
  async run(context) {
    await using server = new BenchServer(context.scratch.fresh("serve-write"));
    await server.start();
    const ofFolder = await server.workspaceOfFolder();
    const names = Array.from({ length: CLIENTS }, (_, i) => `bench-${i}`);
    for (const name of names) await (await server.client.store.create({ name })).workspace.close();
    const one = names.map(() => `/v1/workspaces/${names[0]}/files/load`);
    const many = names.map((name) => `/v1/workspaces/${name}/files/load`);
    const inOne = await rounds(context, server, { what: "one workspace", folders: one });
    const inMany = await rounds(context, server, { what: `${CLIENTS} workspaces`, folders: many });
    const onDisk = names.map(() => `/v1/workspaces/${ofFolder}/files/load`);
    const inFolder = await rounds(context, server, { what: "one workspace with a folder", folders: onDisk });
    // For a quick look, one of the three is enough.
    for (const folders of context.options.isQuick ? [onDisk] : [one, many, onDisk])
      context.say(`after kill -9: no acknowledged write is lost in ${await killed(server, folders)} files`);
    return {
      rows: [
        latency("one workspace, p50", inOne, ({ p50 }) => p50),
        latency("one workspace, p99", inOne, ({ p99 }) => p99),
        { what: `${CLIENTS} workspaces, one each`, unit: "writes/s", samples: inMany.map((load) => load.perSecond) },
        latency(`${CLIENTS} workspaces, p99`, inMany, ({ p99 }) => p99),
        latency("one workspace with a folder, p50", inFolder, ({ p50 }) => p50),
        latency("one workspace with a folder, p99", inFolder, ({ p99 }) => p99),
        ...gitCommits(context),
        { what: "an append and an fdatasync alone, p50", unit: "ms", samples: [diskP50(context)] },
      ],
      ratios: [
        {
          what: "one workspace",
          unit: "writes/s",
          samples: inOne.map((load) => load.perSecond),
          target: { kind: "at-least", value: 1_500 },
        },
        {
          what: "one workspace with a folder",
          unit: "writes/s",
          samples: inFolder.map((load) => load.perSecond),
          target: { kind: "at-least", value: 1_500 },
        },
      ],
      notes: [
        `each round has ${CLIENTS} clients for ${secondsOf(context)} s, each on a connection of its own, over TCP with a token. Each client writes its ${FILES} files in turn, with a new content each time. ` +
          "After the rounds, the server was killed under this load and started again. Every file then had its last acknowledged content, or the content of a write without an answer",
      ],
    };
  },
};

/** The length of each load, in seconds. */
function secondsOf(context: BenchContext): number {
  return amountFor(context, { what: "seconds of load", all: SECONDS, quick: 1 });
}

/** Measures the rounds of one load, and checks the written files after each. */
async function rounds(
  context: BenchContext,
  server: BenchServer,
  { what, folders }: { readonly what: string; readonly folders: readonly string[] },
): Promise<WriteLoad[]> {
  const plan = { url: server.url, token: server.token, folders, files: FILES, bytes: BYTES };
  await writeLoad({ ...plan, seconds: secondsOf(context) / 2 });
  const loads: WriteLoad[] = [];
  for (let round = 0; round < context.options.rounds; round++) {
    context.scratch.settle();
    const load = await writeLoad({ ...plan, seconds: secondsOf(context) });
    await mustHave(server, load);
    loads.push(load);
    context.say(`round ${round + 1}: ${what}: ${load.perSecond.toFixed(0)}/s, p99 ${load.p99.toFixed(1)} ms`);
  }
  return loads;
}

/** Kills the server under load, starts it again, and checks the written files. Resolves to their number. */
async function killed(server: BenchServer, folders: readonly string[]): Promise<number> {
  const plan = { url: server.url, token: server.token, folders, files: FILES, bytes: BYTES, seconds: 30 };
  const writing = writeLoad(plan);
  await sleep(2_000);
  await server.stop("SIGKILL");
  const load = await writing;
  if (load.acknowledged === 0) throw new Error("the server was killed before it acknowledged a write");
  await server.start();
  return mustHave(server, load);
}

/**
 * Checks the files of a load: each must have its last acknowledged content, or that of a write without an answer.
 * Rejects if one has not. Resolves to the number of files that the load wrote to.
 */
async function mustHave(server: BenchServer, { written }: WriteLoad): Promise<number> {
  const headers = { authorization: `Bearer ${server.token}` };
  const targets = Object.entries(written);
  const check = async (start: number): Promise<void> => {
    for (let i = start; i < targets.length; i += READERS) {
      const [target, { acknowledged, underWay }] = targets[i] ?? ["", {}];
      // Without an acknowledged write in this load, the file may have a content of an earlier load, or not exist.
      if (acknowledged === undefined) continue;
      const reply = await fetch(server.url + target, { headers });
      const bytes = Buffer.from(await reply.arrayBuffer());
      const hash = reply.ok ? createHash("sha256").update(bytes).digest("hex") : undefined;
      if (hash !== undefined && (hash === acknowledged || hash === underWay)) continue;
      throw new Error(`${target}: ${acknowledged} was acknowledged, but it has ${hash ?? `status ${reply.status}`}`);
    }
  };
  await Promise.all(Array.from({ length: READERS }, (_, reader) => check(reader)));
  return targets.length;
}

function latency(what: string, loads: readonly WriteLoad[], of: (load: WriteLoad) => number): Row {
  return { what, unit: "ms", samples: loads.map(of) };
}

/** Times `git add` and `git commit` of one file, with the default settings and with everything synced. */
function gitCommits(context: BenchContext): Row[] {
  const tree = context.scratch.fresh("serve-write-git-tree");
  const [add, commit] = gitTool.begin(tree, context.scratch.fresh("serve-write-git")).record();
  if (add === undefined || commit === undefined) throw new Error("git's `record` must be an add and a commit");
  const file = join(tree, "file.txt");
  const commits = amountFor(context, { what: "commits of git", all: COMMITS, quick: 5 });
  const timed = (options: readonly string[]): number => {
    const [git = "", ...words] = commit.argv;
    const commands: Command[] = [
      { ...add, argv: [git, ...options, "add", file] },
      { ...commit, argv: [git, ...options, ...words] },
    ];
    const samples = Array.from({ length: commits }, (_, i) => {
      appendFileSync(file, `write ${i}\n`.repeat(100));
      return 1000 * timeCommands(commands);
    });
    return percentile(samples, 0.5);
  };
  const synced = ["-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"];
  return [
    { what: "git add F && git commit, not synced, p50", unit: "ms", samples: [timed([])] },
    { what: "git add F && git commit, core.fsync=all, p50", unit: "ms", samples: [timed(synced)] },
  ];
}

/** Returns the median time of a durable append, in milliseconds. */
function diskP50(context: BenchContext): number {
  return percentile(diskSyncs(join(context.scratch.fresh("serve-write-disk"), "appended")), 0.5);
}
