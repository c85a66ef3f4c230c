import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import type { Disk } from "../../src/disk/disk.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { SimPlan } from "../../src/testing/sim-disk/sim-faults.ts";
import { simRandom, type SimRandom } from "../../src/testing/sim-disk/sim-random.ts";
import { linkWeather } from "../../src/testing/link-weather.ts";
import { RigOrigin, RigReplica, talk } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** How long the weather is bad, and how long the replica may take afterwards, in ms of the simulation. */
const STORM_MS = 4_000;
const HEALING_MS = 30_000;

/** One origin that records, one replica that crashes, and a network that loses, repeats, reorders, damages and breaks. */
class Simulation {
  readonly origin = new RigOrigin();
  readonly clock = new VirtualClock();
  crashes = 0;
  connections = 0;
  readonly #seed: number;
  readonly #random: SimRandom;
  readonly #seenAs: (disk: SimDisk) => Disk;
  #replica: RigReplica | undefined;
  #disk = RigReplica.emptyDisk();
  #isOver = false;

  constructor(seed: number, seenAs: (disk: SimDisk) => Disk = (same) => same) {
    this.#seed = seed;
    this.#random = simRandom(seed);
    this.#seenAs = seenAs;
  }

  /** Runs the simulation to its end. Throws if something does not hold that must hold. */
  async run(): Promise<void> {
    let failure: unknown;
    let isDone = false;
    void this.#record();
    void this.#follow().then(
      () => (isDone = true),
      (error: unknown) => (failure = error),
    );
    await this.clock.run(STORM_MS + HEALING_MS, () => isDone || failure !== undefined);
    this.#isOver = true;
    if (failure !== undefined) throw failure;
    await this.#checkEqual();
  }

  get #isStorm(): boolean {
    return this.clock.now < STORM_MS;
  }

  async #record(): Promise<void> {
    for (let i = 0; i < 40; i += 1) {
      await this.clock.wait(this.#random.below(150));
      const path = `f${this.#random.below(6)}`;
      const kind = this.#random.below(20);
      if (kind === 0) await this.origin.note(100_000 + this.#random.below(200_000));
      else if (kind < 3) await this.origin.write(path, undefined);
      else if (kind < 9) await this.origin.write(path, `${i} `.repeat(3_000 + this.#random.below(30_000)));
      else await this.origin.write(path, `content ${this.#random.below(15)}`);
    }
  }

  /** Connects again and again, until everything is there and the weather is good. */
  async #follow(): Promise<void> {
    while (!this.#isOver) {
      const replica = await this.#started();
      this.connections += 1;
      const going = talk(this.clock, this.origin, replica, {
        isReliable: false,
        windowBytes: 256 * 1024,
        deliver: this.#weather(),
        // Half of the origins can send contents in blocks.
        origin: this.#seed % 2 === 0 ? {} : { blocks: this.origin.blobs },
      });
      const breaks = this.#isStorm ? this.clock.after(this.#random.below(2_000), () => going.link.cut()) : undefined;
      const watch = (): void => {
        const isEqual = replica.upstream.head.seq === this.origin.head.seq;
        if (!this.#isStorm && this.origin.events.length === 40 && isEqual) going.link.cut();
        else if (!this.#isOver) this.clock.after(20, watch);
      };
      watch();
      await going.ends;
      breaks?.[Symbol.dispose]();
      this.#checkHandedOn(replica);
      if (this.#disk.stopped) this.#losePower();
      else if (!this.#isStorm && replica.upstream.head.seq === 40) return;
      await this.clock.wait(20);
    }
  }

  #weather() {
    const bad = { loss: 0.04, duplication: 0.04, corruption: 0.004, delayMs: 15 };
    const isOneWay = this.#random.below(6) === 0 ? (["a", "b"] as const)[this.#random.below(2)] : undefined;
    const storm = linkWeather({
      seed: this.#seed * 1_000 + this.connections,
      ...bad,
      isPartitioned: (from) => from === isOneWay,
    });
    const calm = linkWeather({ seed: this.#seed });
    return (frame: Parameters<typeof calm>[0]) => (this.#isStorm ? storm(frame) : calm(frame));
  }

  /** Returns the running replica, or starts it after a crash. All that it had acknowledged must then be there. */
  async #started(): Promise<RigReplica> {
    if (this.#replica !== undefined) return this.#replica;
    this.#disk.plan = undefined;
    const replica = await RigReplica.start(this.#disk, undefined, this.#seenAs);
    const held = replica.upstream.head.seq;
    const acknowledged = this.origin.cursors.get("r1") ?? 0;
    if (held < acknowledged) throw new Error(`event ${acknowledged} was acknowledged, and ${held} are held`);
    await this.#checkContents(replica, held);
    this.#disk.plan = this.#plan();
    return (this.#replica = replica);
  }

  #plan(): SimPlan {
    const stops = ["stop-before", "stop-torn", "stop-after"] as const;
    return ({ reads }) => {
      if (!this.#isStorm || reads || this.#random.below(60) > 0) return "go";
      return stops[this.#random.below(3)] ?? "go";
    };
  }

  #losePower(): void {
    this.crashes += 1;
    this.#disk = this.#disk.crash(this.#random.below(2) === 0 ? "forget" : { seed: this.#random.below(10 ** 6) });
    this.#replica = undefined;
  }

  /** Checks that the replica has handed on each event once since its start, and in order. */
  #checkHandedOn({ handedOn }: RigReplica): void {
    const first = handedOn[0] ?? 0;
    assert.deepEqual(
      handedOn,
      handedOn.map((_, at) => first + at),
    );
  }

  async #checkContents({ blobs }: RigReplica, upTo: number): Promise<void> {
    for (const { seq, record } of this.origin.events.slice(0, upTo)) {
      const wanted = [...this.origin.contents.keys()].find((hash) => hash === record["hash"]);
      const content = wanted === undefined ? undefined : await blobs.get(wanted);
      if (wanted !== undefined && (content === undefined || sha256(content) !== wanted)) {
        throw new Error(`the content of event ${seq} is not there`);
      }
    }
  }

  async #checkEqual(): Promise<void> {
    const replica = this.#replica;
    if (replica === undefined) throw new Error("the replica did not start again");
    assert.ok(replica.bytes === this.origin.bytes, "the two logs differ");
    assert.equal(replica.notes.get(), undefined);
    await this.#checkContents(replica, this.origin.events.length);
  }
}

const SEEDS = Array.from({ length: 30 }, (_, i) => i + 1);

describe("the simulation of an origin, a replica that crashes, and a bad network", () => {
  it("ends with the origin's log at the replica, byte for byte, and with all contents", async () => {
    let [crashes, connections] = [0, 0];
    for (const seed of SEEDS) {
      const simulation = new Simulation(seed);
      await simulation.run().catch((cause: unknown) => {
        throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
      });
      crashes += simulation.crashes;
      connections += simulation.connections;
    }
    // With fewer of them, too little was tested.
    expect(crashes).toBeGreaterThan(SEEDS.length);
    expect(connections).toBeGreaterThan(4 * SEEDS.length);
  });

  it("notices a replica that acknowledges before its lines are durable", async () => {
    const forgetful = (disk: SimDisk): Disk =>
      new Proxy<Disk>(disk, {
        get: (target, name) => {
          if (name === "sync") return () => undefined;
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    const run = async (): Promise<void> => {
      for (const seed of SEEDS) await new Simulation(seed, forgetful).run();
    };
    await expect(run()).rejects.toThrow(/was acknowledged, and \d+ are held|is damaged at event/);
  });
});
