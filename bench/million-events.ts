import { join } from "node:path";
import { sealEvents } from "../src/core/log/chain.ts";
import { asCommit } from "../src/core/log/commit-mark.ts";
import type { EventDraft, Head } from "../src/core/values/event.ts";
import { EMPTY_HASH, isHash, type Hash } from "../src/core/values/hash.ts";
import { NodeDisk } from "../src/disk/node-disk.ts";
import { openStore } from "../src/open.ts";
import { FileEventLog } from "../src/storage/files/file-event-log.ts";
import { storeLayout } from "../src/storage/layout.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { smallProject } from "./lib/corpus.ts";

const EVENTS = 1_000_000;
const BATCH = 5_000;

export const millionEvents: Bench = {
  name: "million-events",
  promise:
    "a log of a million events opens within 0.3 s with its index and is verified at 400,000 events a second or more; the first open, which fills the index, takes at most 4 s",
  async run(context) {
    const tree = context.scratch.fresh("million-tree");
    smallProject(tree);
    const home = context.scratch.fresh("million-store");
    const options = { home: join(home, "home"), configFolder: join(home, "config") };
    const begun = await begin(options, tree);
    const events = amountFor(context, { what: "events", all: EVENTS });
    context.say(`writing ${events} events`);
    const bytes = await fill(options.home, begun, events);
    context.say("bringing the index up to the log");
    const firstOpen = await timeOpen(options, tree);
    const opens: number[] = [];
    for (let round = 0; round < context.options.rounds; round++) opens.push(await timeOpen(options, tree));
    const rates = await timeVerify(context, options, tree);
    return {
      rows: [{ what: `log of ${events} events`, unit: "MiB", samples: [bytes / 2 ** 20] }],
      ratios: [
        {
          what: "first open, which fills the index",
          unit: "s",
          samples: [firstOpen],
          target: events === EVENTS ? { kind: "at-most", value: 4 } : undefined,
        },
        { what: "open", unit: "s", samples: opens, target: { kind: "at-most", value: 0.3 } },
        { what: "verify --quick", unit: "events/s", samples: rates, target: { kind: "at-least", value: 400_000 } },
      ],
      notes: ["measured within one process. The lines of the log have about 600 bytes, like those of files' events"],
    };
  },
};

interface Places {
  readonly home: string;
  readonly configFolder: string;
}

interface Begun {
  readonly id: string;
  /** The Merkle root of the files. */
  readonly root: Hash;
}

/** Begins the history of a tree. */
async function begin(options: Places, tree: string): Promise<Begun> {
  const store = await openStore(options);
  const { workspace } = await store.init({ roots: [tree] });
  const { id } = workspace;
  const { root } = await workspace.status();
  await workspace.close();
  await store.close();
  return { id, root: isHash(root) ? root : EMPTY_HASH };
}

/**
 * Appends events with valid hashes and links until there are `events`, in commits that state the Merkle root. Resolves
 * to the log's length in bytes.
 */
async function fill(home: string, { id, root }: Begun, events: number): Promise<number> {
  const log = new FileEventLog(new NodeDisk(), storeLayout(home).workspace(id));
  let head: Head = { seq: log.head.seq, hash: log.head.hash };
  while (head.seq < events) {
    const first = head.seq + 1;
    const drafts = Array.from({ length: Math.min(BATCH, events - head.seq) }, (_, i) => draft(first + i));
    const ts = new Date(1_790_000_000_000 + head.seq).toISOString();
    const sealed = sealEvents(head, asCommit(drafts, id, { first, root }), ts);
    await log.append(sealed);
    const last = sealed.at(-1);
    if (last !== undefined) head = { seq: last.seq, hash: last.hash };
  }
  const { bytes } = log.head;
  await log.close();
  return bytes;
}

function draft(n: number): EventDraft {
  const text = `what a program keeps about step ${n} of its work; `.repeat(5);
  return { op: "upsert", recordId: `user:step-${n % 5000}`, record: { step: n, name: `step-${n}`, text } };
}

/** Opens the store and the workspace, and reads one event. Resolves to the seconds that this took. */
async function timeOpen(options: Places, tree: string): Promise<number> {
  const started = performance.now();
  const store = await openStore(options);
  const workspace = await store.open({ folder: tree });
  await workspace.log({ limit: 1, reverse: true });
  const seconds = (performance.now() - started) / 1000;
  await workspace.close();
  await store.close();
  return seconds;
}

/** Verifies the log in each round. Resolves to the speed of each round, in events a second. */
async function timeVerify(context: BenchContext, options: Places, tree: string): Promise<number[]> {
  const rates: number[] = [];
  const store = await openStore(options);
  const workspace = await store.open({ folder: tree });
  for (let round = 0; round < context.options.rounds; round++) {
    const started = performance.now();
    const report = await workspace.verify({ quick: true });
    const seconds = (performance.now() - started) / 1000;
    if (!report.ok) throw new Error(`verify found problems: ${JSON.stringify(report.problems.slice(0, 3))}`);
    rates.push(report.events / seconds);
    context.say(`verify: ${seconds.toFixed(2)} s`);
  }
  await workspace.close();
  await store.close();
  return rates;
}
