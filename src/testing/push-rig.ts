import { EMPTY_HEAD, type Head, type SealedEvent } from "../core/values/event.ts";
import { sha256, type Hash } from "../core/values/hash.ts";
import type { Disk } from "../disk/disk.ts";
import { SimDisk } from "./sim-disk/sim-disk.ts";
import { FramedChannel } from "../replication/channels/framed-channel.ts";
import { memoryWires, type LinkOptions, type MemoryLink } from "../replication/channels/memory-wire.ts";
import type { Channel, ChannelEnd } from "../replication/channel.ts";
import { LogHistory } from "../replication/contents/log-history.ts";
import { OriginSession, type OriginOptions } from "../replication/origin/origin-session.ts";
import { MemoryReplicaCursors } from "../replication/origin/replica-cursors.ts";
import { ReplicaSession, type ReplicaOptions } from "../replication/replica/replica-session.ts";
import { Upstream } from "../replication/replica/upstream.ts";
import { MemoryWitnessNotes } from "../replication/replica/witness-notes.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import { FileEventLog } from "../storage/files/file-event-log.ts";
import { MemoryBlobStore } from "../storage/memory/memory-blob-store.ts";
import { emptyMemoryLog, MemoryEventLog } from "../storage/memory/memory-event-log.ts";
import { SimBlobs } from "./blob-store-rig.ts";
import { fileEvent, userEvent } from "./protocol-samples.ts";
import { VirtualClock } from "./virtual-clock.ts";

export const HEARTBEAT_MS = 100;

/** The paths of a replica's upstream log. */
const PATHS = {
  log: "/home/upstream.wal",
  archive: "/home/upstream-archive",
  quarantine: "/home/upstream-quarantine",
  isCopy: true,
} as const;

/** An origin in memory: a log, contents, and the cursors of its replicas. */
export class RigOrigin {
  readonly state = emptyMemoryLog();
  readonly events: SealedEvent[] = [];
  readonly contents = new Map<Hash, Buffer>();
  readonly cursors = new MemoryReplicaCursors();
  readonly history = new LogHistory("w1", new MemoryEventLog(this.state));
  /** The contents of the origin, for `OriginOptions.blocks` as well. */
  readonly blobs = new MemoryBlobStore({ contents: this.contents });
  readonly #log = new MemoryEventLog(this.state);

  get head(): Head {
    return this.events.at(-1) ?? EMPTY_HEAD;
  }

  /** Records a file (`undefined`: its deletion). */
  async write(path: string, content: string | undefined): Promise<void> {
    if (content !== undefined) this.contents.set(sha256(content), Buffer.from(content));
    await this.append(fileEvent(this.head, path, content));
  }

  /** Records an event that concerns no file, with about this many characters. */
  note(characters: number): Promise<void> {
    return this.append(userEvent(this.head, characters));
  }

  async append(event: SealedEvent): Promise<void> {
    this.events.push(event);
    await this.#log.append([event]);
    this.history.changed.emit();
  }

  /** The text of the log. */
  get bytes(): string {
    return this.events.map(({ line }) => `${line}\n`).join("");
  }

  options(clock: VirtualClock, more: Partial<OriginOptions> = {}): OriginOptions {
    const { history, cursors } = this;
    const contents = {
      open: (hash: Hash) => this.blobs.open(hash),
      openNamed: (hashes: readonly Hash[]) => this.blobs.readMany(hashes),
    };
    return { history, contents, cursors, timers: clock, heartbeatMs: HEARTBEAT_MS, ...more };
  }
}

/** A replica on a simulated disk. `disk` is the disk that the replica finds at its start. */
export class RigReplica {
  readonly disk: SimDisk;
  readonly notes: MemoryWitnessNotes;
  /** The seqs that were passed to `onEvents` since this start. */
  readonly handedOn: number[] = [];
  readonly upstream: Upstream;
  readonly blobs: BlobStore;

  private constructor(disk: SimDisk, parts: { upstream: Upstream; blobs: BlobStore; notes: MemoryWitnessNotes }) {
    this.disk = disk;
    this.upstream = parts.upstream;
    this.blobs = parts.blobs;
    this.notes = parts.notes;
  }

  /** `seenAs`: the disk as the replica sees it. */
  static async start(
    disk: SimDisk,
    notes = new MemoryWitnessNotes(),
    seenAs: (disk: SimDisk) => Disk = (same) => same,
  ): Promise<RigReplica> {
    const blobs = await new SimBlobs(disk, newPackId).open();
    const upstream = await Upstream.open(new FileEventLog(seenAs(disk), PATHS));
    return new RigReplica(disk, { upstream, blobs, notes });
  }

  static emptyDisk(): SimDisk {
    return SimDisk.fromTree({ "/home": { folder: 0o700 } });
  }

  options(clock: VirtualClock, more: Partial<ReplicaOptions> = {}): ReplicaOptions {
    const { upstream, blobs, notes } = this;
    const onEvents = async (events: readonly SealedEvent[]): Promise<void> => {
      this.handedOn.push(...events.map(({ seq }) => seq));
    };
    return { sandboxId: "r1", upstream, blobs, notes, timers: clock, onEvents, ...more };
  }

  /** The text of `upstream.wal`. */
  get bytes(): string {
    return this.disk.content(PATHS.log)?.toString() ?? "";
  }
}

let packs = 0;

/** Returns a pack name that is unique however often a replica is started. */
function newPackId(): string {
  return String((packs += 1)).padStart(26, "0");
}

/** A conversation of an origin and a replica. */
export interface Talk {
  readonly link: MemoryLink<Channel>;
  readonly origin: OriginSession;
  readonly replica: ReplicaSession;
  readonly ends: Promise<readonly [origin: ChannelEnd, replica: ChannelEnd]>;
}

/** Options of a conversation. */
export interface TalkOptions extends LinkOptions {
  readonly isReliable?: boolean;
  readonly windowBytes?: number;
  readonly origin?: Partial<OriginOptions>;
  readonly replica?: Partial<ReplicaOptions>;
}

/** Connects an origin and a replica, and runs both sides. `a` of the link is the origin's end. */
export function talk(clock: VirtualClock, origin: RigOrigin, replica: RigReplica, options: TalkOptions = {}): Talk {
  const wires = memoryWires({ later: clock.later, ...options });
  const link = {
    a: new FramedChannel(wires.a, options),
    b: new FramedChannel(wires.b, options),
    cut: () => wires.cut(),
  };
  const originSession = new OriginSession(link.a, origin.options(clock, options.origin));
  const replicaSession = new ReplicaSession(link.b, replica.options(clock, options.replica));
  const ends = Promise.all([originSession.run(), replicaSession.run()]);
  return { link, origin: originSession, replica: replicaSession, ends };
}
