/** The process of `replicaLoad`. Its argument is the plan as JSON. It prints the result as JSON. */
import { createClient } from "../../src/client/node.ts";
import { NODE_TIMERS } from "../../src/util/timers.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { Upstream } from "../../src/replication/replica/upstream.ts";
import { MemoryWitnessNotes } from "../../src/replication/replica/witness-notes.ts";
import { MemoryBlobStore } from "../../src/storage/memory/memory-blob-store.ts";
import { emptyMemoryLog, MemoryEventLog } from "../../src/storage/memory/memory-event-log.ts";
import type { ReplicaLoad, ReplicaPlan } from "./replica-load.ts";

const plan = JSON.parse(process.argv[2] ?? "") as ReplicaPlan;
const url = `unix:${plan.socket}`;
const stop = new AbortController();

/** Starts a replica that holds everything in memory. */
async function follow(number: number) {
  const upstream = await Upstream.open(new MemoryEventLog(emptyMemoryLog(), { isCopy: true }));
  const channel = await dialOrigin({ url }, stop.signal);
  const session = new ReplicaSession(channel, {
    sandboxId: `bench-${number}`,
    workspace: plan.workspace,
    upstream,
    blobs: new MemoryBlobStore(),
    notes: new MemoryWitnessNotes(),
    timers: NODE_TIMERS,
  });
  const ended = session.run();
  void ended.then(({ error }) => {
    if (!stop.signal.aborted) throw error ?? new Error("the session of a replica has ended");
  });
  return { upstream, session, ended };
}

const replicas: Awaited<ReturnType<typeof follow>>[] = [];
for (let i = 0; i < plan.replicas; i++) replicas.push(await follow(i));
const client = createClient({ url });
const workspace = await client.store.openById(plan.workspace);
const initial = await workspace.head();
await Promise.all(replicas.map(({ session }) => session.reaches(initial.seq)));

const latency: number[] = [];
for (let i = 0; i < plan.writes; i++) {
  const started = performance.now();
  await workspace.putFile(`written/file-${i % 50}.txt`, Buffer.from(`write ${i} at ${Date.now()}\n`));
  const { seq } = await workspace.head();
  await Promise.all(replicas.map(({ session }) => session.reaches(seq)));
  latency.push(performance.now() - started);
}
const { hash } = await workspace.head();
const equal = replicas.filter(({ upstream }) => upstream.head.hash === hash).length;
stop.abort();
await workspace.close();
await client.close();
process.stdout.write(JSON.stringify({ latency, equal } satisfies ReplicaLoad));
process.exit(0);
