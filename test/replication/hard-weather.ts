import { ChronicleError, codedError } from "../../src/core/values/errors.ts";
import type { ReplicaRecord } from "../../src/core/records/replica-record.ts";
import { SimulatedCrash } from "../../src/testing/sim-disk/sim-error.ts";
import { canFailWith, type SimOperation, type SimVerdict } from "../../src/testing/sim-disk/sim-faults.ts";
import type { SimRandom } from "../../src/testing/sim-disk/sim-random.ts";
import type { BlobStore } from "../../src/storage/blob-store.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { ReplicaNode, type OriginNode } from "../../src/testing/sync-nodes.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";

type SimNode = OriginNode | ReplicaNode;

/** One of so many syncs fails. Its machine loses its power some time after that: nobody goes on with such a disk. */
const SYNCS_PER_FAILURE = 300;
/** How long what passes by itself lasts at most, in ms. */
const LASTS_MS = { full: 400, away: 500, doomed: 200, slow: 30 };
/** How often a person looks for a conflict to settle, at most, and how long after one look the next one is, in ms. */
const LOOKS = 40;
const LOOKS_EVERY_MS = 50;
/** Where a folder lies while it is not mounted. */
const AWAY = "/home/unmounted";

/** How often each of it has happened. */
type HardFault = "full" | "failed-sync" | "away" | "compacted" | "dropped" | "pruned" | "settled" | "paused" | "slow";

/** The replicas of a simulation in hard weather: each has rules of its own. */
export const HARD_REPLICAS: readonly Partial<ReplicaRecord>[] = [
  {},
  { mode: "two-way-resolved", filterFrom: ["/e/"] },
  { mode: "one-way-replica", filterTo: ["/d/f/"] },
];

/**
 * What else goes wrong with machines, beside their power and the network: disks that are full for a while, that are slow, and
 * that fail a sync; folders that are not mounted for a moment; an origin that compacts, prunes and frees contents whoever
 * follows it; people who pause a sync, and settle conflicts, in the middle of all that.
 */
export class HardWeather {
  readonly faults: Record<HardFault, number> = {
    full: 0,
    "failed-sync": 0,
    away: 0,
    compacted: 0,
    dropped: 0,
    pruned: 0,
    settled: 0,
    paused: 0,
    slow: 0,
  };
  readonly #clock: VirtualClock;
  readonly #random: SimRandom;
  readonly #isStorm: () => boolean;
  readonly #fullUntil = new Map<SimNode, number>();
  /** When the power of a machine goes whose disk has failed a sync. */
  readonly #doomed = new Map<SimNode, number>();

  constructor(clock: VirtualClock, random: SimRandom, isStorm: () => boolean) {
    this.#clock = clock;
    this.#random = random;
    this.#isStorm = isStorm;
  }

  /** Contents of a store whose disk is slow: whoever asks for one waits, while other things go on. */
  readonly slow = (blobs: BlobStore): BlobStore => {
    const wait = async (): Promise<void> => {
      if (!this.#isStorm() || this.#random.below(4) > 0) return;
      this.faults.slow += 1;
      await this.#clock.wait(this.#random.below(LASTS_MS.slow));
    };
    const slowly: Pick<BlobStore, "has" | "open" | "batch"> = {
      has: (hashes) => wait().then(() => blobs.has(hashes)),
      open: (hash) => wait().then(() => blobs.open(hash)),
      batch: () => wait().then(() => blobs.batch()),
    };
    return new Proxy<BlobStore>(blobs, {
      get: (target, name) => {
        const member: unknown = Reflect.get(slowly, name) ?? Reflect.get(target, name, target);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  };

  /** What becomes of a change of a disk; `undefined`: nothing else than in ordinary weather. */
  verdict(node: SimNode, { name }: SimOperation): SimVerdict | undefined {
    const { now } = this.#clock;
    if ((this.#doomed.get(node) ?? Infinity) <= now) return "stop-before";
    const isSync = name === "sync" || name === "syncFolder";
    if (!isSync && (this.#fullUntil.get(node) ?? 0) > now && canFailWith(name, "ENOSPC")) return { errno: "ENOSPC" };
    if (!isSync || this.#random.below(SYNCS_PER_FAILURE) > 0) return undefined;
    this.faults["failed-sync"] += 1;
    this.#doomed.set(node, now + this.#random.below(LASTS_MS.doomed));
    return { errno: "EIO" };
  }

  /** Something happens to one of them. */
  async strike(origin: OriginNode, replicas: readonly ReplicaNode[]): Promise<void> {
    const nodes = [origin, ...replicas];
    const node = nodes[this.#random.below(nodes.length)];
    const replica = replicas[this.#random.below(replicas.length)];
    if (node === undefined || replica === undefined) return;
    const dice = this.#random.below(12);
    if (dice < 2) this.#fill(node);
    else if (dice < 4) this.#takeAway(node);
    else if (dice < 6) await this.#tidy(origin);
    else if (dice < 8) await this.#settle(replica);
    else if (dice < 9) await this.#pause(replica);
  }

  /** All disks have room again, and all folders are mounted. */
  calm(nodes: readonly SimNode[]): void {
    this.#fullUntil.clear();
    for (const node of nodes) bringBack(node);
  }

  /** Has its disk failed a sync, and its power not gone since? */
  isDoomed(node: SimNode): boolean {
    return this.#doomed.has(node);
  }

  /** Its power has gone, and come back. */
  revived(node: SimNode): void {
    this.#doomed.delete(node);
  }

  /** Is the folder of a machine not mounted? Then nobody works in it. */
  isAway(node: SimNode): boolean {
    return node.machine.disk.lstat(FOLDER) === undefined;
  }

  #fill(node: SimNode): void {
    this.faults.full += 1;
    this.#fullUntil.set(node, this.#clock.now + this.#random.below(LASTS_MS.full));
  }

  #takeAway(node: SimNode): void {
    if (node.machine.disk.stopped || this.isAway(node)) return;
    this.faults.away += 1;
    move(node, FOLDER, AWAY);
    if (node instanceof ReplicaNode) node.hint(undefined);
    this.#clock.after(this.#random.below(LASTS_MS.away), () => {
      if (node.machine.disk.stopped) return;
      bringBack(node);
      if (!(node instanceof ReplicaNode) || !node.isUp) return;
      node.hint(undefined);
      // Somebody has mounted it, and says so.
      if (node.sync.record.halted !== undefined) unlessRefused(node.sync.resume());
    });
  }

  async #tidy({ isUp, workspace, machine }: OriginNode): Promise<void> {
    if (!isUp || machine.disk.stopped) return;
    try {
      if (this.#random.below(2) === 0) {
        // Whoever has not got what is dropped reconciles in full.
        const dropArchive = this.#random.below(3) === 0;
        await workspace.compact({ dropArchive });
        this.faults.compacted += 1;
        if (dropArchive) this.faults.dropped += 1;
      } else {
        await workspace.prune({ keepLast: 1, now: this.faults.pruned % 2 === 0 });
        await workspace.gc();
        this.faults.pruned += 1;
      }
    } catch (error) {
      if (!machine.disk.stopped && !(codedError(error) instanceof ChronicleError)) throw error;
    }
  }

  async #settle(replica: ReplicaNode): Promise<void> {
    if (!replica.isUp) return;
    const keep = (["local", "upstream", "merge"] as const)[this.#random.below(3)] ?? "local";
    // Conflicts are rare, and open for a short time: a person who settles one looks until there is one.
    const settling = async (): Promise<void> => {
      for (let look = 0; look < LOOKS && replica.isUp; look += 1) {
        const { sync } = replica;
        const [conflict] = await sync.conflicts();
        if (conflict !== undefined) {
          await sync.resolve(conflict.record.path, { keep });
          this.faults.settled += 1;
          return;
        }
        await this.#clock.wait(LOOKS_EVERY_MS);
      }
    };
    unlessRefused(settling());
  }

  async #pause(replica: ReplicaNode): Promise<void> {
    if (!replica.isUp || !replica.sync.isActive) return;
    const { sync } = replica;
    this.faults.paused += 1;
    unlessRefused(
      sync
        .pause()
        .then(() => this.#clock.wait(50))
        .then(() => (replica.isUp ? sync.resume() : undefined)),
    );
  }
}

/** Nobody waits for it: it may be refused, or its machine may lose its power meanwhile. */
function unlessRefused(work: Promise<unknown>): void {
  work.catch((error: unknown) => {
    if (!(codedError(error) instanceof ChronicleError) && !(error instanceof SimulatedCrash)) throw error;
  });
}

function bringBack(node: SimNode): void {
  const { disk } = node.machine;
  if (disk.lstat(AWAY) === undefined || disk.lstat(FOLDER) !== undefined) return;
  move(node, AWAY, FOLDER);
}

function move({ machine }: SimNode, from: string, to: string): void {
  const { plan } = machine.disk;
  machine.plan(undefined);
  machine.disk.rename(from, to);
  machine.disk.syncFolder("/home");
  machine.plan(plan);
}
