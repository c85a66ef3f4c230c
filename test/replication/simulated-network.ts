import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { memoryWires, type LinkFrame } from "../../src/replication/channels/memory-wire.ts";
import type { Channel } from "../../src/replication/channel.ts";
import type { SimRandom } from "../../src/testing/sim-disk/sim-random.ts";
import { linkWeather, type LinkFault, type WeatherOptions } from "../../src/testing/link-weather.ts";
import type { OriginNode, ReplicaNode } from "../../src/testing/sync-nodes.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** What happens to frames while there is a storm. */
export type StormWeather = Omit<WeatherOptions, "seed" | "isPartitioned" | "onFault">;

const STORM: StormWeather = {
  loss: 0.02,
  duplication: 0.04,
  repeatMs: 400,
  corruption: 0.002,
  forgery: 0.004,
  delayMs: 20,
};

/** How a network is simulated. */
export interface NetworkOptions {
  readonly clock: VirtualClock;
  readonly origin: OriginNode;
  readonly seed: number;
  readonly random: SimRandom;
  readonly isStorm: () => boolean;
  /** What is worse, or better, than usual. */
  readonly storm?: StormWeather | undefined;
  /** Is told of each frame that somebody has forged. */
  readonly onForged?: ((frame: Uint8Array) => void) | undefined;
}

interface Link {
  readonly replica: ReplicaNode;
  cut(): void;
}

const CHANNEL = { isReliable: false, windowBytes: 256 * 1024 };

/** What lies between an origin and its replicas. While it storms it loses, repeats, reorders, damages, forges and breaks. */
export class SimulatedNetwork {
  /** What has gone wrong so often. */
  readonly faults: Record<LinkFault | "cut" | "one-way", number> = {
    lost: 0,
    repeated: 0,
    damaged: 0,
    forged: 0,
    "cut-off": 0,
    cut: 0,
    "one-way": 0,
  };
  connections = 0;
  readonly #options: NetworkOptions;
  readonly #links = new Set<Link>();
  readonly #cutOff = new Set<ReplicaNode>();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** A connection of a replica to the origin; `undefined`: nobody answers. */
  connect(replica: ReplicaNode): Channel | undefined {
    const { clock, origin } = this.#options;
    if (!origin.isUp || this.#cutOff.has(replica)) return undefined;
    this.connections += 1;
    const wires = memoryWires({ later: clock.later, deliver: this.#deliver(replica) });
    const link = {
      replica,
      cut: () => {
        wires.cut();
        this.#links.delete(link);
      },
    };
    this.#links.add(link);
    const options = { ...CHANNEL, timers: clock };
    origin.serve(new FramedChannel(wires.a, options));
    return new FramedChannel(wires.b, options);
  }

  /** The connections of a machine break; they can be made anew. */
  cut(node: ReplicaNode | OriginNode): void {
    for (const link of [...this.#links]) {
      if (link.replica !== node && node !== this.#options.origin) continue;
      this.faults.cut += 1;
      link.cut();
    }
  }

  /** Nothing arrives any more, either way, and nobody is told. */
  cutOff(replica: ReplicaNode): void {
    this.#cutOff.add(replica);
  }

  /** Whoever was cut off is so no more. Without a replica: nobody. */
  heal(replica?: ReplicaNode): void {
    if (replica === undefined) this.#cutOff.clear();
    else this.#cutOff.delete(replica);
  }

  #deliver(replica: ReplicaNode) {
    const { random, seed, isStorm, storm, onForged } = this.#options;
    const isOneWay = random.below(6) === 0 ? (["a", "b"] as const)[random.below(2)] : undefined;
    if (isOneWay !== undefined) this.faults["one-way"] += 1;
    const bad = linkWeather({
      seed: seed * 1_000 + this.connections,
      ...STORM,
      ...storm,
      isPartitioned: (from) => from === isOneWay || this.#cutOff.has(replica),
      onFault: (fault, frame) => {
        this.faults[fault] += 1;
        if (fault === "forged") onForged?.(frame);
      },
    });
    const calm = linkWeather({ seed });
    return (frame: LinkFrame) => (isStorm() ? bad(frame) : calm(frame));
  }
}
