import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import { decodeFile, pathOfRecordId } from "../../src/core/values/file-record.ts";
import type { Hash } from "../../src/core/values/hash.ts";
import { type WriteBackEntry, decodeVersion } from "../../src/core/records/write-back.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { SimPlan } from "../../src/testing/sim-disk/sim-faults.ts";
import { settle } from "../../src/engine/capture/operate.ts";
import { simRandom, type SimRandom } from "../../src/testing/sim-disk/sim-random.ts";
import { linkWeather } from "../../src/testing/link-weather.ts";
import { MemoryJournal } from "../../src/testing/memory-journal.ts";
import { RigReplica } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { WriteBackRig } from "../../src/testing/write-back-rig.ts";
import { WritingOrigin, writingTalk } from "../../src/testing/writing-talk.ts";
import type { WriteBackTarget } from "../../src/replication/origin/write-back-intake.ts";

/** How long the weather is bad, and how long the two may take afterwards, in ms of the simulation. */
const STORM_MS = 4_000;
const HEALING_MS = 60_000;
const WRITES = 40;
const PATHS = 5;
/** The most connections of a run. In good weather, one is enough. */
const MOST_CONNECTIONS = 150;

/** A bug that is planted into an origin. */
interface Planted {
  readonly target?: (target: WriteBackTarget) => WriteBackTarget;
  readonly disk?: (disk: SimDisk) => SimDisk;
}

/**
 * A replica that writes and forgets its answers, an origin that writes too and crashes, and a network that loses, repeats,
 * reorders, damages and breaks. At the end everything that the replica wrote is in the origin's history exactly once, as an
 * iteration or as a version, with its content, and the replica holds that history.
 */
class Simulation {
  readonly clock = new VirtualClock();
  readonly journal = new MemoryJournal();
  crashes = 0;
  connections = 0;
  readonly #seed: number;
  readonly #random: SimRandom;
  readonly #planted: Planted;
  readonly #files: Readonly<Record<string, string>> | undefined;
  /** The last event of each path that the replica has seen. */
  readonly #seen = new Map<string, number>();
  readonly #host = new Map<string, string>();
  #origin: WritingOrigin | undefined;
  #replica: RigReplica | undefined;
  #written = 0;
  #isOver = false;

  constructor(seed: number, files?: Readonly<Record<string, string>>, planted: Planted = {}) {
    this.#seed = seed;
    this.#random = simRandom(seed);
    this.#files = files;
    this.#planted = planted;
  }

  async run(): Promise<void> {
    this.#origin = new WritingOrigin(await WriteBackRig.create(this.#files, this.#planted.disk), this.#planted.target);
    this.#plan(this.#origin.rig.disk);
    this.#replica = await RigReplica.start(RigReplica.emptyDisk());
    let failure: unknown;
    let isDone = false;
    const failed = (error: unknown): void => void (failure ??= error ?? new Error("it failed"));
    this.#write().catch(failed);
    this.#follow().then(() => (isDone = true), failed);
    const ended = await this.clock.run(STORM_MS + HEALING_MS, () => isDone || failure !== undefined);
    this.#isOver = true;
    if (failure !== undefined) throw failure;
    assert.ok(ended, `it is not done: ${this.journal.settledTo} of ${this.journal.head} entries are answered`);
    await this.#check();
  }

  get #isStorm(): boolean {
    return this.clock.now < STORM_MS;
  }

  async #write(): Promise<void> {
    for (; this.#written < WRITES; this.#written += 1) {
      await this.clock.wait(this.#random.below(150));
      const path = this.#pathOf(this.#random.below(PATHS));
      const text = this.#random.below(6) === 0 ? undefined : this.#text();
      this.journal.write(path, text, this.#seen.get(path) ?? 0);
    }
  }

  #pathOf(n: number): string {
    return n === 0 ? "f0" : `d${n % 2}/f${n}`;
  }

  #text(): string {
    const length = [20, 20, 20, 5_000, 40_000][this.#random.below(5)] ?? 20;
    return `${this.#seed}.${this.#written} `.repeat(length / 5).slice(0, length);
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) {
      const origin = await this.#started();
      const replica = this.#replica as RigReplica;
      this.connections += 1;
      assert.ok(this.connections < MOST_CONNECTIONS, "the two do not come together");
      const going = writingTalk(
        this.clock,
        origin,
        { replica, journal: this.journal },
        {
          isReliable: false,
          deliver: this.#weather(),
          replica: { onEvents: async (events) => events.forEach((event) => this.#arrived(event)) },
        },
      );
      const breaks = this.#isStorm ? this.clock.after(this.#random.below(1_500), () => going.link.cut()) : undefined;
      const hosting = this.#hostWrites(origin);
      await Promise.race([going.ends, this.#untilDone(origin)]);
      going.link.cut();
      await going.ends;
      await hosting;
      breaks?.[Symbol.dispose]();
      if (this.#random.below(4) === 0) this.journal.forget();
      if (origin.rig.disk.stopped) await this.#losePower(origin);
      else if (await this.#isDone(origin)) return;
      await this.clock.wait(20);
    }
  }

  #arrived({ recordId, seq }: { readonly recordId: string; readonly seq: number }): void {
    const path = pathOfRecordId(recordId);
    // The replica sees an event only after a while, when it has applied it.
    if (path !== undefined) this.clock.after(this.#random.below(100), () => this.#see(path, seq));
  }

  #see(path: string, seq: number): void {
    this.#seen.set(path, Math.max(seq, this.#seen.get(path) ?? 0));
  }

  /** Somebody at the origin writes, now and then. */
  async #hostWrites(origin: WritingOrigin): Promise<void> {
    if (!this.#isStorm || this.#random.below(3) > 0) return;
    await this.clock.wait(this.#random.below(300));
    const path = this.#pathOf(this.#random.below(PATHS));
    const text = `the host's ${this.#seed}.${this.connections}`;
    try {
      await origin.rig.write(path, text);
      this.#host.set(path, text);
    } catch (error) {
      if (!origin.rig.disk.stopped && (error as { code?: string }).code !== "LOCKED") throw error;
    }
  }

  async #untilDone(origin: WritingOrigin): Promise<void> {
    while (!this.#isOver && !origin.rig.disk.stopped && !(await this.#isDone(origin))) await this.clock.wait(20);
  }

  async #isDone({ history }: WritingOrigin): Promise<boolean> {
    if (this.#isStorm || this.#written < WRITES || this.journal.settledTo < this.journal.head) return false;
    return (await history.head()).seq === this.#replica?.upstream.head.seq;
  }

  #weather() {
    const bad = { loss: 0.04, duplication: 0.05, corruption: 0.004, delayMs: 15 };
    const storm = linkWeather({ seed: this.#seed * 1_000 + this.connections, ...bad });
    const calm = linkWeather({ seed: this.#seed });
    return (frame: Parameters<typeof calm>[0]) => (this.#isStorm ? storm(frame) : calm(frame));
  }

  async #started(): Promise<WritingOrigin> {
    if (this.#origin !== undefined) return this.#origin;
    throw new Error("there is no origin");
  }

  #plan(disk: SimDisk): void {
    const stops = ["stop-before", "stop-torn", "stop-after"] as const;
    const plan: SimPlan = ({ reads }) => {
      if (!this.#isStorm || reads || this.#random.below(120) > 0) return "go";
      return stops[this.#random.below(3)] ?? "go";
    };
    disk.plan = plan;
  }

  async #losePower(origin: WritingOrigin): Promise<void> {
    this.crashes += 1;
    const { rig } = origin;
    const disk = rig.disk.crash(this.#random.below(2) === 0 ? "forget" : { seed: this.#random.below(10 ** 6) });
    this.#origin = new WritingOrigin(
      await WriteBackRig.open(disk, rig.workspaceId, this.#planted.disk),
      this.#planted.target,
    );
    this.#plan(disk);
  }

  async #check(): Promise<void> {
    const { rig, history } = this.#origin as WritingOrigin;
    assert.equal((await history.head()).hash, this.#replica?.upstream.head.hash);
    // What a crash has left half done is finished by the next change.
    await settle(rig.context);
    await rig.files();
    const done = await doneOf(rig);
    for (const { localSeq, path, entry } of this.journal.entries) {
      const all = done.filter((one) => one.localSeq === localSeq && one.path === path);
      assert.ok(all.length <= 1, `entry ${localSeq} is there ${all.length} times`);
      const [one] = all;
      if (one !== undefined) assert.equal(one.hash, entry?.hash, `entry ${localSeq} is there with another content`);
      await this.#checkAnswer(rig, { localSeq, path, entry }, one !== undefined);
      if (entry?.hash !== undefined && one !== undefined) assert.ok(await rig.context.blobs.get(entry.hash));
    }
  }

  /** Checks that an accepted entry is at the event that its answer names, and that a rejected one is kept. */
  async #checkAnswer(rig: WriteBackRig, { localSeq, path, entry }: Written, isThere: boolean): Promise<void> {
    const answer = this.journal.answers.get(localSeq);
    if (answer === undefined || !("sequence" in answer)) {
      assert.ok(answer === undefined || isThere, `entry ${localSeq} is lost`);
      return;
    }
    const { sequence } = answer;
    const row = sequence === 0 ? undefined : await rig.context.index.iterationAt(path, sequence);
    assert.equal(row?.seq ?? 0, sequence, `entry ${localSeq} is not event ${sequence}`);
    assert.equal(row?.entry?.hash, entry?.hash, `entry ${localSeq} is another one`);
  }
}

type Written = Pick<WriteBackEntry, "localSeq" | "path" | "entry">;

interface Done {
  readonly localSeq: number;
  readonly path: string;
  readonly hash: Hash | undefined;
}

/** The entries of the replica that the origin has, as iterations or as versions. */
async function doneOf(rig: WriteBackRig): Promise<Done[]> {
  const found: Done[] = [];
  for (const { recordId, record } of await rig.events("file")) {
    const path = pathOfRecordId(recordId);
    const file = path === undefined ? undefined : decodeFile(path, record);
    if (path !== undefined && file?.replica !== undefined)
      found.push({ localSeq: file.replica.localSeq, path, hash: file.entry?.hash });
  }
  const versions = new Map<string, Done>();
  for (const { recordId, op, record } of await rig.events("version:")) {
    // A version that is written again after a crash is the same record.
    if (op === "delete") versions.delete(recordId);
    else {
      const { localSeq, path, entry } = decodeVersion(record);
      versions.set(recordId, { localSeq, path, hash: entry?.hash });
    }
  }
  return [...found, ...versions.values()];
}

const SEEDS = Number(process.env["WRITE_BACK_SEEDS"] ?? 5);
const FIRST = Number(process.env["WRITE_BACK_FIRST"] ?? 1);

describe("what a replica writes, in any weather", () => {
  it.each([
    ["without a folder", undefined],
    ["with a folder", { kept: "kept" }],
  ])("is at the origin exactly once: an origin %s", async (_, files) => {
    let crashes = 0;
    let connections = 0;
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      const simulation = new Simulation(seed, files);
      await simulation.run().catch((error: unknown) => {
        throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
      });
      crashes += simulation.crashes;
      connections += simulation.connections;
    }
    expect([crashes >= SEEDS, connections >= 3 * SEEDS]).toEqual([true, true]);
  });

  /** Whether one of 20 seeds notices the bug. */
  async function isFound(planted: Planted): Promise<boolean> {
    for (let seed = 1; seed <= 20; seed += 1) {
      try {
        await new Simulation(seed, undefined, planted).run();
      } catch {
        return true;
      }
    }
    return false;
  }

  let names = 0;
  const bugs: readonly (readonly [string, Planted])[] = [
    [
      "one that does not know its replicas again",
      {
        target: (target) => ({
          settled: async () => ({ upTo: 0, last: { accepted: [], rejected: [] } }),
          reserve: (bytes) => target.reserve(bytes),
          refusal: (entry) => target.refusal(entry),
          decide: (batch) => target.decide({ ...batch, replica: `r${(names += 1)}` }),
        }),
      },
    ],
    ["one that answers before it is durable", { disk: withoutSync }],
  ];

  it.each(bugs)("an origin with a bug is noticed: %s", async (_, planted) => {
    expect(await isFound(planted)).toBe(true);
  });
});

/** A disk on which a sync does nothing. */
function withoutSync(disk: SimDisk): SimDisk {
  return new Proxy(disk, {
    get(target, key) {
      if (key === "sync") return () => undefined;
      const own: unknown = Reflect.get(target, key, target);
      return typeof own === "function" ? (own as (...args: unknown[]) => unknown).bind(target) : own;
    },
  });
}
