import { ChronicleError } from "../../src/core/values/errors.ts";
import type { ReplicaRecord } from "../../src/core/records/replica-record.ts";
import type { Disk } from "../../src/disk/disk.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { SimPlan } from "../../src/testing/sim-disk/sim-faults.ts";
import { simRandom, type SimRandom } from "../../src/testing/sim-disk/sim-random.ts";
import { FolderEditor } from "../../src/testing/folder-editor.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import {
  OriginNode,
  ReplicaNode,
  type OriginNodeOptions,
  type ReplicaNodeOptions,
} from "../../src/testing/sync-nodes.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { BlobStore } from "../../src/storage/blob-store.ts";
import type { IndexStore } from "../../src/storage/index-store.ts";
import { HARD_REPLICAS, HardWeather } from "./hard-weather.ts";
import { SimulatedNetwork, type StormWeather } from "./simulated-network.ts";
import { filesOf } from "./folder-tree.ts";
import { PutBacks, type PutBackHost, type PutBackStep } from "./put-backs.ts";
import { checkOutcome, checkWritten, differences } from "./sync-outcome.ts";
import { LASTING, WrittenBytes } from "./written-bytes.ts";

/** So long everything goes wrong, and so long it may take afterwards. In ms of the simulation. */
export const STORM_MS = 2_000;
const HEALING_MS = 600_000;
/** So long it may take until the trees are equal, without anybody asking for it. */
const ALONE_MS = 90_000;
/** Somebody does something so often, at most. */
const WORK_MS = 130;
/** Something of the machines or the network goes wrong, or right, so often. */
const TROUBLE_MS = { least: 15, most: 75 };
/** One of so many changes of a disk is the last one before its power goes. */
const CHANGES_PER_STOP = 150;

/** Why a sync may halt, for somebody to decide; and in hard weather. */
const MAY_HALT = ["usage", "mass-deletion", "root-emptied"];
const MAY_HALT_HARD = ["root-vanished"];
/** Where machines are put back, one in so many edits makes a file that nobody changes or deletes. */
const EDITS_PER_LASTING = 5;
/** A conflict that was settled on one side may be met on another. */
const MOST_ROUNDS = 10;

/** What is planted, so that the simulation has to notice it. */
export interface Planted {
  readonly replicaDisk?: (disk: SimDisk) => Disk;
  readonly originDisk?: (disk: SimDisk) => Disk;
  /** How replicas see their contents. */
  readonly replicaBlobs?: (blobs: BlobStore) => BlobStore;
  /** How replicas see the index of their own history. */
  readonly replicaIndex?: (index: IndexStore) => IndexStore;
  /** Who decides about what replicas write. */
  readonly target?: OriginNodeOptions["target"];
  readonly storm?: StormWeather;
  readonly onForged?: (frame: Uint8Array) => void;
  /** Hints of a folder that come so soon after something was brought into it are taken for its echo. */
  readonly echoMs?: number;
  /** Is the weather hard (`HardWeather`)? */
  readonly isHard?: boolean;
  /** What is put back to an earlier state, and started twice. Default: nothing. */
  readonly putBacks?: readonly PutBackStep[];
}

type SimNode = OriginNode | ReplicaNode;
type ReplicaOptions = Partial<Pick<ReplicaNodeOptions, "record" | "id" | "image">>;

/**
 * An origin and some replicas, each with an engine, a store and a folder on a disk of its own; people who work in all the
 * folders; disks that lose their power; a network that loses, repeats, reorders, damages, forges, breaks, and is cut one way
 * or both; clocks that jump. Then it is calm, and everything has to come together. The same for the same seed.
 */
export class SyncSimulation {
  readonly clock = new VirtualClock();
  readonly origin: OriginNode;
  readonly replicas: ReplicaNode[] = [];
  readonly isHosted: boolean;
  readonly mode: ReplicaRecord["mode"];
  readonly network: SimulatedNetwork;
  crashes = 0;
  edits = 0;
  jumps = 0;
  readonly #planted: Planted;
  readonly #random: SimRandom;
  readonly #weather: SimRandom;
  readonly #hard: HardWeather | undefined;
  readonly #editors = new Map<SimNode, FolderEditor>();
  readonly #written = new WrittenBytes();
  readonly #putBacks: PutBacks | undefined;
  readonly #seed: number;
  #isOver = false;

  constructor(seed: number, planted: Planted = {}) {
    this.#planted = planted;
    this.#seed = seed;
    this.#random = simRandom(seed);
    this.#weather = simRandom(seed + 1_000_003);
    this.isHosted = seed % 2 === 0;
    this.mode = seed % 5 === 0 ? "two-way-resolved" : "two-way-safe";
    const { clock } = this;
    const isStorm = (): boolean => this.#isStorm;
    this.#hard = planted.isHard === true ? new HardWeather(clock, simRandom(seed + 2_000_003), isStorm) : undefined;
    const { target, storm, onForged } = planted;
    this.origin = new OriginNode({
      clock,
      isHosted: this.isHosted,
      ...(target === undefined ? {} : { target }),
      ...seenBy(planted.originDisk),
    });
    this.network = new SimulatedNetwork({
      clock,
      origin: this.origin,
      seed,
      random: this.#weather,
      isStorm,
      storm,
      onForged,
    });
    this.#addEditor(this.origin, "origin");
    const count = this.#hard !== undefined ? HARD_REPLICAS.length : 2 + (seed % 3 === 0 ? 1 : 0);
    for (let i = 0; i < count; i += 1) {
      const record = this.#hard === undefined ? undefined : HARD_REPLICAS[i];
      this.#addReplica(record === undefined ? {} : { record });
    }
    const { putBacks } = planted;
    this.#putBacks = putBacks === undefined ? undefined : new PutBacks(this.#putBackHost(), putBacks);
  }

  #addReplica(options: ReplicaOptions): ReplicaNode {
    const { replicaBlobs: blobs = this.#hard?.slow, replicaDisk, replicaIndex: index } = this.#planted;
    const { record, ...more } = options;
    const replica: ReplicaNode = new ReplicaNode({
      clock: this.clock,
      number: this.replicas.length + 2,
      record: { mode: this.mode, ...record },
      connect: async () => this.network.connect(replica) ?? unanswered(),
      random: () => this.#weather.below(1_000) / 1_000,
      ...(blobs === undefined ? {} : { blobs }),
      ...(index === undefined ? {} : { index }),
      ...seenBy(replicaDisk),
      ...more,
    });
    this.replicas.push(replica);
    this.#addEditor(replica, `replica ${this.replicas.length}`);
    return replica;
  }

  #addEditor(node: SimNode, name: string): void {
    this.#editors.set(node, new FolderEditor(name, FOLDER, simRandom(this.#seed * 31 + this.#editors.size)));
  }

  #putBackHost(): PutBackHost {
    const { clock, origin, replicas } = this;
    return {
      clock,
      origin,
      replicas,
      written: this.#written,
      stop: (node) => this.#stop(node),
      start: (node) => this.#start(node),
      clone: ({ id }, image) => {
        const clone = this.#addReplica({ id, image });
        this.#written.copied(clone);
        return clone;
      },
    };
  }

  /** Runs it to its end; throws where something that must hold does not. */
  async run(): Promise<void> {
    try {
      await this.#during(this.#begin(), 60_000);
      const storms = [this.#work(), this.#trouble()];
      await this.#during(Promise.all(storms), STORM_MS + HEALING_MS);
      await this.#during(this.#heal(), HEALING_MS);
      await this.#during(checkOutcome(this), HEALING_MS);
      if (this.#putBacks !== undefined) await this.#during(this.#settleAll(), HEALING_MS);
    } finally {
      this.#isOver = true;
      for (const replica of this.replicas) replica.lose();
      this.origin.lose();
    }
  }

  /** How much has gone wrong, and what became of it. */
  get counts(): Readonly<Record<string, number>> {
    const { crashes, edits, jumps, network } = this;
    const sum = (of: (replica: ReplicaNode) => number): number =>
      this.replicas.reduce((all, replica) => all + of(replica), 0);
    return {
      edits,
      crashes,
      jumps,
      connections: network.connections,
      ...network.faults,
      ...this.#hard?.faults,
      ...this.#putBacks?.counts,
      applied: sum(({ told }) => told.applied),
      accepted: sum(({ told }) => told.accepted),
      rejected: sum(({ told }) => told.rejected),
      conflicts: sum(({ told }) => told.conflicts),
    };
  }

  async #during(work: Promise<unknown>, withinMs: number): Promise<void> {
    let isOver = false;
    let failure: unknown;
    work.then(
      () => (isOver = true),
      (error: unknown) => {
        failure = error;
        isOver = true;
      },
    );
    const isDone = await this.clock.run(this.clock.now + withinMs, () => isOver);
    if (failure !== undefined) throw failure;
    if (!isDone) throw new Error("it does not come to an end");
  }

  get #isStorm(): boolean {
    return this.clock.now < STORM_MS && !this.#isOver;
  }

  async #begin(): Promise<void> {
    for (const node of this.#nodes) {
      const steps = this.#random.below(6);
      for (let i = 0; i < steps; i += 1) this.#editors.get(node)?.step(node.machine.disk);
      this.#written.begun(node);
      await node.start();
    }
    if (this.isHosted) await this.#write();
  }

  /** People at work, everywhere. */
  async #work(): Promise<void> {
    while (this.#isStorm) {
      await this.clock.wait(this.#random.below(WORK_MS));
      const nodes = this.#nodes;
      const node = nodes[this.#random.below(nodes.length)];
      if (node === undefined || node.machine.disk.stopped || this.#hard?.isAway(node) === true) continue;
      if (this.#putBacks?.isOff(node) === true) continue;
      this.edits += 1;
      if (node instanceof ReplicaNode) this.#edit(node);
      else if (this.isHosted) await this.#write();
      else await this.#editOrigin();
    }
  }

  #edit(node: ReplicaNode): void {
    const paths = this.#editFolder(node);
    const dice = this.#random.below(10);
    if (this.clock.now - node.appliedAt < (this.#planted.echoMs ?? 0)) return;
    // Some hints are lost; the watcher then says so, a moment later.
    if (dice === 0) {
      node.miss();
      this.clock.after(500, () => node.hint(undefined));
    } else if (paths.length > 0) node.hint(paths);
  }

  async #editOrigin(): Promise<void> {
    this.#editFolder(this.origin);
    await this.#unlessLost(this.origin.workspace.snapshot());
  }

  /** Somebody does one thing in a folder. The paths that a watcher would hint at. */
  #editFolder(node: SimNode): readonly string[] {
    const { machine } = node;
    const { disk } = machine;
    const { plan } = disk;
    const before = this.#putBacks === undefined ? undefined : filesOf(disk);
    machine.plan(undefined);
    const paths = this.#makesLasting ? this.#makeLasting(node) : (this.#editors.get(node)?.step(disk) ?? []);
    machine.plan(plan);
    if (before !== undefined) this.#written.edited(node, before, filesOf(disk));
    return paths;
  }

  get #makesLasting(): boolean {
    return this.#putBacks !== undefined && this.edits % EDITS_PER_LASTING === 0;
  }

  #makeLasting(node: SimNode): string[] {
    const path = `${LASTING}${this.edits}`;
    return this.#editors.get(node)?.write(node.machine.disk, path, `${path} is for ever\n`) ?? [];
  }

  /** Somebody writes to an origin that has no folder. */
  async #write(): Promise<void> {
    const { workspace, machine } = this.origin;
    const { disk } = machine;
    if (this.#makesLasting) {
      const path = `${LASTING}${this.edits}`;
      const text = `${path} is for ever\n`;
      const isDone = await this.#unlessLost(workspace.putFile(path, Buffer.from(text)));
      if (isDone && machine.disk === disk) this.#written.acknowledged(path, text);
      return;
    }
    const path = `${["", "d/", "e/"][this.#random.below(3)] ?? ""}${["a", "b", "c"][this.#random.below(3)] ?? "a"}`;
    const lines = Array.from({ length: 8 }, (_, i) => `line ${i}`);
    lines[this.#random.below(8)] = `origin ${this.edits} at ${Math.floor(this.clock.now)}`;
    const text = `${lines.join("\n")}\n`;
    const isDeletion = this.#random.below(4) === 0;
    const doing = isDeletion ? workspace.deleteFile(path) : workspace.putFile(path, Buffer.from(text));
    const isDone = await this.#unlessLost(doing);
    if (isDone && !isDeletion && machine.disk === disk) this.#written.acknowledged(path, text);
  }

  /** Was it done? What is asked for may not be possible, or its machine may lose power meanwhile. */
  async #unlessLost(work: Promise<unknown>): Promise<boolean> {
    const { disk } = this.origin.machine;
    try {
      await work;
      return true;
    } catch (error) {
      if (disk.stopped || error instanceof ChronicleError) return false;
      throw error;
    }
  }

  /** Power that goes and comes back, a network that is cut and healed, clocks that jump. */
  async #trouble(): Promise<void> {
    for (const node of this.#nodes) node.machine.plan(this.#plan(node));
    while (this.#isStorm) {
      await this.clock.wait(TROUBLE_MS.least + this.#weather.below(TROUBLE_MS.most - TROUBLE_MS.least));
      for (const node of this.#nodes) if (node.machine.disk.stopped) await this.#revive(node);
      await this.#putBacks?.strike();
      const replica = this.replicas[this.#weather.below(this.replicas.length)];
      if (replica === undefined) continue;
      await this.#hard?.strike(this.origin, this.replicas);
      const dice = this.#weather.below(12);
      if (dice < 2) this.network.cut(replica);
      else if (dice < 3) this.network.cutOff(replica);
      else if (dice < 7) this.network.heal(replica);
      else if (dice < 8) this.#jump(replica);
      else if (dice < 9) this.#jump(this.origin);
    }
  }

  get #nodes(): SimNode[] {
    return [this.origin, ...this.replicas];
  }

  #jump({ machine }: SimNode): void {
    this.jumps += 1;
    machine.skewMs += this.#weather.below(7_200_000) - 3_600_000;
  }

  #plan(node: SimNode): SimPlan {
    const stops = ["stop-before", "stop-torn", "stop-after"] as const;
    return (operation) => {
      if (!this.#isStorm || operation.reads) return "go";
      const verdict = this.#hard?.verdict(node, operation);
      if (verdict !== undefined) return verdict;
      if (this.#weather.below(CHANGES_PER_STOP) > 0) return "go";
      return stops[this.#weather.below(3)] ?? "go";
    };
  }

  /** Its power goes in order: everything that is on its disk stays. */
  #stop(node: SimNode): void {
    const { machine } = node;
    this.network.cut(node);
    machine.switchOff();
    node.lose();
    machine.putBack(machine.copy("keep"));
  }

  async #start(node: SimNode): Promise<void> {
    await node.start();
    if (this.#isStorm) node.machine.plan(this.#plan(node));
  }

  async #revive(node: SimNode): Promise<void> {
    this.crashes += 1;
    this.network.cut(node);
    node.lose();
    const fates = ["forget", "keep", { seed: this.#weather.below(10 ** 6) }] as const;
    this.#hard?.revived(node);
    node.machine.losePower(fates[this.#weather.below(3)] ?? "forget");
    await this.#start(node);
  }

  /** All is well from now on. */
  async #heal(): Promise<void> {
    await this.#putBacks?.calm();
    const nodes = this.#nodes;
    for (const node of nodes) {
      if (node.machine.disk.stopped || this.#hard?.isDoomed(node) === true) await this.#revive(node);
      node.machine.plan(undefined);
    }
    this.#hard?.calm(nodes);
    this.network.heal();
    for (const replica of this.replicas) {
      this.network.cut(replica);
      await this.#decide(replica);
    }
    for (const replica of this.replicas) await this.#decide(replica);
    await this.#comeTogether();
    await this.#flushAll();
  }

  /** What one writes back comes to all others, and may be merged there once more. */
  async #flushAll(): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      if (!this.isHosted) await this.origin.workspace.snapshot();
      for (const replica of this.replicas) await this.#flush(replica);
    }
  }

  get isOriginPutBack(): boolean {
    return this.#putBacks?.isOriginPutBack === true;
  }

  /** Without anybody asking for it. */
  async #comeTogether(): Promise<void> {
    if (!this.isHosted) await this.origin.workspace.snapshot();
    const until = this.clock.now + ALONE_MS;
    for (;;) {
      const differing = await differences(this);
      if (differing.length === 0 || this.replicas.some(({ sync }) => !sync.isActive)) return;
      if (this.clock.now > until)
        throw new Error(`nobody looks any more at ${differing.join("\n")}\n${this.#states().join("\n")}`);
      await this.clock.wait(500);
    }
  }

  /** Every conflict is settled: then nothing is different, and nothing is lost. */
  async #settleAll(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS && (await this.#settleSome()); round += 1) await this.#flushAll();
    const differing = await differences(this);
    if (differing.length > 0) throw new Error(`not equal once all is decided: ${differing.join("\n")}`);
    checkWritten(this, this.#written);
  }

  /** Were there any conflicts? */
  async #settleSome(): Promise<boolean> {
    let isAny = false;
    for (const { sync } of this.replicas) {
      for (const { record } of await sync.conflicts()) {
        isAny = true;
        const keep = this.#random.below(2) === 0 ? "local" : "upstream";
        await sync.resolve(record.path, { keep }).catch((error: unknown) => {
          // It may be gone, or not be possible in this way.
          if (!(error instanceof ChronicleError)) throw error;
        });
      }
    }
    return isAny;
  }

  #states(): string[] {
    return this.replicas.map(({ sync: { shape } }, i) => `replica ${i + 1}: ${JSON.stringify(shape)}`);
  }

  async #flush(replica: ReplicaNode): Promise<void> {
    for (;;) {
      await this.#decide(replica);
      try {
        await replica.sync.flush({ timeoutMs: 120_000 });
        return;
      } catch (error) {
        if (replica.sync.record.halted === undefined) throw error;
      }
    }
  }

  /**
   * A person sees that a sync has halted: somebody has changed a message on the way into one that makes no sense, or much was
   * deleted at once in a folder that is as small as these; it was put back to an earlier state, or is a copy; or its origin was put back.
   */
  async #decide(replica: ReplicaNode): Promise<void> {
    const { sync } = replica;
    if (sync.record.paused === true) await sync.resume();
    const reason = sync.record.halted?.reason;
    if (reason === undefined || (await this.#putBacks?.decide(replica)) === true) return;
    const isAllowed = [...MAY_HALT, ...(this.#hard === undefined ? [] : MAY_HALT_HARD)].includes(reason);
    if (!isAllowed) throw new Error(`halted: ${reason}`);
    await sync.resume({ accept: "deletions" });
  }
}

function seenBy(seenAs?: (disk: SimDisk) => Disk): { seenAs?: (disk: SimDisk) => Disk } {
  return seenAs === undefined ? {} : { seenAs };
}

function unanswered(): never {
  throw new ChronicleError("UNAVAILABLE", "nobody answers");
}
