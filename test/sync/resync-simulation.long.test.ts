import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { simRandom, type SimRandom } from "../../src/testing/sim-disk/sim-random.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { memoryWires } from "../../src/replication/channels/memory-wire.ts";
import { OriginSession } from "../../src/replication/origin/origin-session.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import type { IterationRow } from "../../src/storage/index-store.ts";
import { linkWeather } from "../../src/testing/link-weather.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { openReplica, type ReplicaHold } from "../../src/compose/file-sync-places.ts";
import { Origins, type OriginLease } from "../../src/compose/origins.ts";
import { partsOf } from "../../src/compose/open-parts.ts";

const HEARTBEAT_MS = 100;
const ROUNDS = 5;

/** Returns rows without the fields that are `undefined`. */
function plain(rows: unknown): unknown {
  return JSON.parse(JSON.stringify(rows));
}

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store": { folder: 0o700 }, "/config": { folder: 0o700 } });
}

/** An origin that drops what it has compacted, a replica that is often too far behind, crashes, and a bad network. */
class Simulation {
  resyncs = 0;
  crashes = 0;
  readonly #seed: number;
  readonly #random: SimRandom;
  readonly #clock = new VirtualClock();
  #disk = newDisk();
  #ids = 1;
  #talks = 0;
  #workspace!: WorkspaceApi;
  #replica = "";
  #lease!: OriginLease;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = simRandom(seed);
  }

  async run(): Promise<void> {
    const store = await openSimStore(newDisk(), { firstId: 1 });
    this.#workspace = (await store.create()).workspace;
    const there = await this.#store();
    this.#replica = (await there.create()).workspace.id;
    await there.close();
    this.#lease = await new Origins(partsOf(store), { timers: this.#clock }).lease(this.#workspace.id);
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.#work();
      await this.#talk(true);
    }
    await this.#work();
    await this.#talk(false);
    await this.#check();
  }

  async #store(): Promise<StoreApi> {
    return openSimStore(this.#disk, { firstId: (this.#ids += 100_000) });
  }

  /** Returns a path of few letters, so that a later path needs a folder where a file was. */
  #path(): string {
    const depth = 1 + this.#random.below(3);
    return Array.from({ length: depth }, () => "abc"[this.#random.below(3)]).join("/");
  }

  async #work(): Promise<void> {
    const most = 1 + this.#random.below(25);
    for (let i = 0; i < most; i += 1) {
      const path = this.#path();
      const size = this.#random.below(4) === 0 ? 3_000 : 3;
      const what =
        this.#random.below(3) === 0
          ? this.#workspace.deleteFile(path)
          : this.#workspace.putFile(path, Buffer.from(`${this.#random.below(9)} `.repeat(size)));
      // The path may not exist, or may lie under a file.
      await what.catch(() => undefined);
    }
    if (this.#random.below(2) === 0) await this.#workspace.compact({ dropArchive: this.#random.below(2) === 0 });
  }

  /**
   * Connects the replica once. In a storm, the network damages frames, the connection is cut, and the replica may
   * crash.
   */
  async #talk(isStorm: boolean): Promise<void> {
    const hold = await this.#open();
    this.#talks += 1;
    const weather = isStorm ? { loss: 0.03, duplication: 0.03, corruption: 0.002, delayMs: 10 } : {};
    const wires = memoryWires({
      later: this.#clock.later,
      deliver: linkWeather({ seed: this.#seed * 1_000 + this.#talks, ...weather }),
    });
    const [a, b] = [
      new FramedChannel(wires.a, { isReliable: false }),
      new FramedChannel(wires.b, { isReliable: false }),
    ];
    const timing = { timers: this.#clock, heartbeatMs: HEARTBEAT_MS };
    const origin = new OriginSession(a, { ...this.#lease.options, ...timing, maxBehind: 2 + this.#random.below(20) });
    const replica = new ReplicaSession(b, { ...hold.options, timers: this.#clock, sandboxId: this.#replica });
    const before = hold.mirror.start;
    let isOver = false;
    const ends = Promise.all([origin.run(), replica.run()]).then(() => (isOver = true));
    if (isStorm && this.#random.below(2) === 0) this.#crashSoon();
    const until = this.#clock.now + (isStorm ? 100 + this.#random.below(1_500) : 20_000);
    const { seq } = await this.#lease.options.history.head();
    await this.#clock.run(until, () => isOver || (!isStorm && hold.mirror.head.seq === seq));
    wires.cut();
    while (!isOver) await this.#clock.run(this.#clock.now + 100, () => isOver);
    await ends;
    if (hold.mirror.start !== before) this.resyncs += 1;
    if (this.#random.below(3) === 0) await hold.mirror.applied(hold.mirror.head.seq).catch(() => undefined);
    // Closing fails if the disk has stopped.
    await Promise.resolve(hold[Symbol.asyncDispose]()).catch(() => undefined);
    if (!this.#disk.stopped) return;
    this.crashes += 1;
    this.#disk = this.#disk.crash(this.#random.below(2) === 0 ? "forget" : { seed: this.#random.below(10 ** 6) });
  }

  #crashSoon(): void {
    let left = 1 + this.#random.below(20);
    this.#disk.plan = ({ reads }) => (reads || (left -= 1) > 0 ? "go" : "stop-torn");
  }

  async #open(): Promise<ReplicaHold> {
    this.#disk.plan = undefined;
    return openReplica(partsOf(await this.#store()), this.#replica);
  }

  async #check(): Promise<void> {
    const hold = await this.#open();
    const { mirror, context } = hold;
    const { index } = this.#lease.context;
    const head = await this.#lease.options.history.head();
    assert.deepEqual(mirror.head, head);
    const there = await collect(mirror.entriesAt(head.seq));
    const here = await collect(index.entriesAt(head.seq));
    assert.deepEqual(plain(there), plain(here));
    // Deleted paths have the same iterations, too, as far as the origin knows them.
    const paths = await index.touched(0, head.seq);
    const [ours, theirs] = [await mirror.iterationsAt(paths, head.seq), await index.iterationsAt(paths, head.seq)];
    assert.deepEqual(plain(ours), plain(theirs));
    for (const { entry } of there) {
      if (entry?.hash !== undefined) assert.ok(await context.blobs.get(entry.hash), `the content of ${entry.path}`);
    }
    assert.equal(hold.options.notes.get(), undefined);
    await hold[Symbol.asyncDispose]();
    const store = await this.#store();
    const copy = await store.openById(this.#replica, { upstream: true });
    // Each crash loses the index of contents. Then it is unknown whether torn bytes between whole blocks belonged to
    // contents that were reported as stored, so the pack is kept with them (`settleLane`). Missing contents would be
    // another kind of problem.
    const { problems } = await copy.verify();
    assert.deepEqual(
      problems.filter(({ kind }) => kind !== "pack-damaged"),
      [],
    );
    await copy.close();
    await store.close();
  }
}

async function collect(batches: AsyncIterable<readonly IterationRow[]>): Promise<IterationRow[]> {
  const rows: IterationRow[] = [];
  for await (const batch of batches) rows.push(...batch);
  return rows;
}

const SEEDS = Array.from({ length: Number(process.env["RESYNC_SEEDS"] ?? 8) }, (_, i) => i + 1);

describe("a replica that is often too far behind", () => {
  it("ends with the origin's state and contents after crashes and a bad network", async () => {
    let [resyncs, crashes] = [0, 0];
    for (const seed of SEEDS) {
      const simulation = new Simulation(seed);
      await simulation.run().catch((cause: unknown) => {
        throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
      });
      resyncs += simulation.resyncs;
      crashes += simulation.crashes;
    }
    // Otherwise nothing was tested.
    expect(resyncs).toBeGreaterThan(SEEDS.length);
    expect(crashes).toBeGreaterThan(SEEDS.length / 4);
  });
});
