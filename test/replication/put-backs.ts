import { ChronicleError, codedError } from "../../src/core/values/errors.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { simRandom } from "../../src/testing/sim-disk/sim-random.ts";
import { ReplicaNode, type OriginNode } from "../../src/testing/sync-nodes.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { withPart, type PutBackPart } from "./disk-images.ts";
import { filesOf } from "./folder-tree.ts";
import type { WrittenBytes } from "./written-bytes.ts";

type SimNode = OriginNode | ReplicaNode;

/**
 * One thing that somebody does with copies of machines, at a time of the simulation.
 * - `copy`: of a replica's machine.
 * - `put-back`: a replica's machine, or a part of it, to a copy that was made sooner.
 * - `clone`: a second machine is started from a copy, beside the first one.
 * - `swap`: the same, while the first one is off for a while.
 * - `decide`: whoever sees a replica that has halted, since it is a copy, was put back, or its origin was, lets it go on.
 * - `copy-origin`, `put-back-origin`: the same with the origin's machine.
 */
export interface PutBackStep {
  readonly at: number;
  readonly what: "copy" | "put-back" | "clone" | "swap" | "decide" | "copy-origin" | "put-back-origin";
  /** Which replica; numbers go round. */
  readonly node: number;
  readonly part: PutBackPart;
  /** What is in a copy of what was not synced. */
  readonly fate: number;
}

/** How often each of it has happened. */
type PutBackCount = "copied" | "put-back" | "cloned" | "swapped" | "adopted" | "rejoined" | "origin-put-back";

/** What a simulation does for it. */
export interface PutBackHost {
  readonly clock: VirtualClock;
  readonly origin: OriginNode;
  readonly replicas: readonly ReplicaNode[];
  readonly written: WrittenBytes;
  /** A machine is off. */
  stop(node: SimNode): void;
  /** It is on again. */
  start(node: SimNode): Promise<void>;
  /** A machine that is a copy of a replica's. */
  clone(of: ReplicaNode, image: SimDisk): ReplicaNode;
}

const PARTS: readonly PutBackPart[] = ["all", "all", "store", "folder"];
/** So many machines are enough. */
const MOST_REPLICAS = 5;
/** So often somebody settles what is in the way of a decision. */
const MOST_TRIES = 5;
/** A machine whose copy runs instead of it is off so long, in ms. */
const OFF_MS = 300;

/** What happens in a simulation with this seed, in the order of time. */
export function putBackSteps(seed: number, untilMs: number): readonly PutBackStep[] {
  const random = simRandom(seed + 3_000_003);
  const steps: PutBackStep[] = [];
  const add = (what: PutBackStep["what"], at: number, node: number): void => {
    const part = PARTS[random.below(PARTS.length)] ?? "all";
    steps.push({ what, at, node, part, fate: random.below(10 ** 6) });
  };
  const tales = 2 + random.below(3);
  for (let tale = 0; tale < tales; tale += 1) {
    const node = random.below(3);
    const first = 100 + random.below(untilMs - 700);
    add("copy", first, node);
    for (let times = 1 + random.below(2), at = first; times > 0; times -= 1) {
      at += 100 + random.below(Math.max(1, (untilMs - at - 200) / 2));
      const dice = random.below(5);
      add(dice < 3 ? "put-back" : dice < 4 ? "clone" : "swap", at, node);
      if (random.below(3) > 0) add("decide", at + random.below(400), node);
    }
  }
  if (seed % 4 === 0) {
    const first = 100 + random.below(untilMs - 700);
    add("copy-origin", first, 0);
    add("put-back-origin", first + 50 + random.below(untilMs - first - 100), 0);
  }
  return steps.toSorted((a, b) => a.at - b.at);
}

/** Machines that are put back to an earlier state, and started twice. */
export class PutBacks {
  readonly counts: Record<PutBackCount, number> = {
    copied: 0,
    "put-back": 0,
    cloned: 0,
    swapped: 0,
    adopted: 0,
    rejoined: 0,
    "origin-put-back": 0,
  };
  readonly #host: PutBackHost;
  readonly #steps: PutBackStep[];
  readonly #images = new Map<SimNode, SimDisk>();
  /** Machines that are off, and until when. */
  readonly #off = new Map<SimNode, number>();

  constructor(host: PutBackHost, steps: readonly PutBackStep[]) {
    this.#host = host;
    this.#steps = [...steps];
  }

  /** Was the origin put back? Then it does not know any more all that it has said. */
  get isOriginPutBack(): boolean {
    return this.counts["origin-put-back"] > 0;
  }

  isOff(node: SimNode): boolean {
    return this.#off.has(node);
  }

  /** Does what is due. */
  async strike(): Promise<void> {
    const { now } = this.#host.clock;
    for (const [node, until] of this.#off) if (until <= now) await this.#turnOn(node);
    while ((this.#steps[0]?.at ?? Infinity) <= now) {
      const step = this.#steps.shift();
      if (step !== undefined) await this.#do(step);
    }
  }

  /** Every machine is on from now on. */
  async calm(): Promise<void> {
    this.#steps.splice(0);
    for (const node of [...this.#off.keys()]) await this.#turnOn(node);
  }

  async #turnOn(node: SimNode): Promise<void> {
    this.#off.delete(node);
    await this.#host.start(node);
  }

  async #do({ what, node: number, part, fate }: PutBackStep): Promise<void> {
    const { origin, replicas } = this.#host;
    const replica = replicas[number % replicas.length];
    if (replica === undefined) return;
    switch (what) {
      case "copy":
        return this.#copy(replica, fate);
      case "copy-origin":
        return this.#copy(origin, fate);
      case "put-back":
        if (await this.#putBack(replica, part)) this.counts["put-back"] += 1;
        return;
      case "put-back-origin":
        if (await this.#putBack(origin, part === "folder" ? "all" : part)) this.counts["origin-put-back"] += 1;
        return;
      case "clone":
        return this.#clone(replica, false);
      case "swap":
        return this.#clone(replica, true);
      default:
        return this.#decide(replica);
    }
  }

  #copy(node: SimNode, seed: number): void {
    const fates = ["forget", "keep", { seed }] as const;
    this.#images.set(node, node.machine.copy(fates[seed % 3] ?? "keep"));
    this.counts.copied += 1;
  }

  async #putBack(node: SimNode, part: PutBackPart): Promise<boolean> {
    const { written, origin, replicas } = this.#host;
    const image = this.#images.get(node);
    if (image === undefined || this.#off.has(node)) return false;
    const nodes = [origin, ...replicas];
    written.check(nodes);
    this.#host.stop(node);
    const now = node.machine.copy("keep");
    const before = filesOf(now);
    node.machine.putBack(withPart(now, image, part));
    written.putBack(node, { nodes, before, isFolderAlone: part === "folder" });
    await this.#host.start(node);
    return true;
  }

  async #clone(of: ReplicaNode, isSwap: boolean): Promise<void> {
    const image = this.#images.get(of);
    if (image === undefined || this.#host.replicas.length >= MOST_REPLICAS || this.#off.has(of)) return;
    const clone = this.#host.clone(of, image);
    if (isSwap) {
      this.#host.stop(of);
      this.#off.set(of, this.#host.clock.now + OFF_MS);
      this.counts.swapped += 1;
    } else this.counts.cloned += 1;
    await this.#host.start(clone);
  }

  /**
   * Somebody has decided how a replica goes on that was put back, or is a copy, or whose origin was put back: as a new one. Is it such a
   * one?
   */
  async decide(replica: ReplicaNode): Promise<boolean> {
    const reason = replica.sync.record.halted?.reason;
    const isForked = reason === "forked";
    if (!isForked && (reason !== "diverged" || this.counts["origin-put-back"] === 0)) return false;
    this.counts[isForked ? "adopted" : "rejoined"] += 1;
    if (isForked) await replica.beginAnew("as-new");
    else await rejoin(replica);
    return true;
  }

  #decide(replica: ReplicaNode): void {
    if (!replica.isUp) return;
    const { disk } = replica.machine;
    this.decide(replica).catch((error: unknown) => {
      // Its machine may lose its power meanwhile, or be put back; or somebody has to look again.
      if (!disk.stopped && !(codedError(error) instanceof ChronicleError)) throw error;
    });
  }
}

/** What both sides had before the origin lost it is to be settled first; more of it may come with what was still to be applied. */
async function rejoin(replica: ReplicaNode): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { sync } = replica;
    for (const { record } of await sync.conflicts()) {
      await sync.resolve(record.path, { keep: "local" }).catch((error: unknown) => {
        // It may have gone with the one of a folder above it.
        if (!(error instanceof ChronicleError && error.code === "NOT_FOUND")) throw error;
      });
    }
    try {
      return await replica.beginAnew("rejoin");
    } catch (error) {
      const isDisputed = error instanceof ChronicleError && error.code === "REFUSED" && tries < MOST_TRIES;
      if (!isDisputed) throw error;
    }
  }
}
