import type { StoreApi } from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { openReplica, type ReplicaHold } from "../compose/file-sync-places.ts";
import { Origins, type OriginLease } from "../compose/origins.ts";
import { partsOf } from "../compose/open-parts.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { ReplicaRecord } from "../core/records/replica-record.ts";
import type { Channel } from "../replication/channel.ts";
import { findReplicaRecord } from "../replication/folder/cycle/find-replica-record.ts";
import { FolderSync, type FolderSyncParts } from "../replication/folder/sync/folder-sync.ts";
import type { SyncEvent } from "../replication/folder/sync/cycle-loop.ts";
import type { Timers } from "../util/timers.ts";
import { OriginSession } from "../replication/origin/origin-session.ts";
import type { WriteBackTarget, WriteBackParts } from "../replication/origin/write-back-intake.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import type { IndexStore } from "../storage/index-store.ts";
import { DirtyPaths } from "../engine/log/dirty-paths.ts";
import type { WatchHint, Worktree } from "../worktree/worktree.ts";
import { FOLDER, SyncMachine, type MachineOptions } from "./sync-machine.ts";
import type { VirtualClock } from "./virtual-clock.ts";

const HEARTBEAT_MS = 200;

/** A handler that ignores results and errors of an engine whose machine was lost. */
const NOTHING = (): undefined => undefined;

/**
 * The timers of one life of a process. Planned calls are not made once the process has ended or its machine has
 * stopped.
 */
class LifeTimers implements Timers {
  readonly #clock: VirtualClock;
  readonly #machine: SyncMachine;
  #isOver = false;

  constructor(clock: VirtualClock, machine: SyncMachine) {
    this.#clock = clock;
    this.#machine = machine;
  }

  get now(): number {
    return this.#clock.now;
  }

  after(ms: number, run: () => void): Disposable {
    const { disk } = this.#machine;
    return this.#clock.after(ms, () => {
      if (!this.#isOver && !disk.stopped) run();
    });
  }

  end(): void {
    this.#isOver = true;
  }
}

/** Options of a simulation's origin. */
export interface OriginNodeOptions extends MachineOptions {
  /** True if the origin's workspace is hosted, so that it has no folder. */
  readonly isHosted: boolean;
  /** Plants a fault: replaces the target that decides what replicas write. */
  readonly target?: (lease: OriginLease) => WriteBackTarget;
}

/** An origin on its own machine, with or without a folder: it serves replicas, and has a workspace to work in. */
export class OriginNode {
  readonly machine: SyncMachine;
  /** The errors, except `UNAVAILABLE`, with which the origin itself ended conversations. */
  readonly failures: ChronicleError[] = [];
  readonly #options: OriginNodeOptions;
  #id = "";
  #store: StoreApi | undefined;
  #workspace: WorkspaceApi | undefined;
  #lease: OriginLease | undefined;
  #writeBack: WriteBackParts | undefined;
  #timers: LifeTimers | undefined;

  constructor(options: OriginNodeOptions) {
    this.machine = new SyncMachine(1, options);
    this.#options = options;
  }

  get id(): string {
    return this.#id;
  }

  get isUp(): boolean {
    return this.#lease !== undefined && !this.machine.disk.stopped;
  }

  get workspace(): WorkspaceApi {
    if (this.#workspace === undefined) throw new Error("the origin is not up");
    return this.#workspace;
  }

  /** Starts the origin. The first start creates its workspace. */
  async start(): Promise<void> {
    const store = await this.machine.open();
    this.#store = store;
    this.#workspace = this.#id === "" ? await this.#begin(store) : await store.openById(this.#id);
    this.#id = this.#workspace.id;
    const timers = new LifeTimers(this.#options.clock, this.machine);
    this.#timers = timers;
    const lease = await new Origins(partsOf(store), { timers }).lease(this.#id);
    const { writeBack } = lease.options;
    const target = this.#options.target?.(lease) ?? writeBack?.target;
    this.#writeBack = writeBack === undefined || target === undefined ? undefined : { ...writeBack, target };
    this.#lease = lease;
  }

  /** Runs a conversation with the client at the other end. */
  serve(channel: Channel): void {
    const [lease, timers, writeBack] = [this.#lease, this.#timers, this.#writeBack];
    if (lease === undefined || timers === undefined || writeBack === undefined) return channel.close();
    const options = { ...lease.options, writeBack, timers, heartbeatMs: HEARTBEAT_MS };
    void new OriginSession(channel, options).run().then(({ by, error }) => {
      if (by === "us" && error !== undefined && error.code !== "UNAVAILABLE") this.failures.push(error);
    });
  }

  /** Ends the processes of the origin. */
  lose(): void {
    this.#timers?.end();
    this.#lease = undefined;
    this.#workspace?.close().catch(NOTHING);
    this.#store?.close().catch(NOTHING);
    this.#workspace = undefined;
    this.#store = undefined;
  }

  async #begin(store: StoreApi): Promise<WorkspaceApi> {
    const begun = await (this.#options.isHosted ? store.create({ name: "work" }) : store.init({ roots: [FOLDER] }));
    return begun.workspace;
  }
}

/** Options of a simulation's replica. */
export interface ReplicaNodeOptions extends MachineOptions {
  readonly number: number;
  readonly record?: Partial<ReplicaRecord>;
  readonly connect: FolderSyncParts["connect"];
  readonly random: () => number;
  /** Plants a fault: returns the blob store as the sync sees it. */
  readonly blobs?: (blobs: BlobStore) => BlobStore;
  /** Plants a fault: returns the index of the replica's own history as the sync sees it. */
  readonly index?: (index: IndexStore) => IndexStore;
  /**
   * The id of the workspace in `image`, for a copy of another replica. Default: the replica creates a new workspace.
   */
  readonly id?: string;
}

/** A folder that follows an origin, on its own machine. Only `hint` reports changes in it. */
export class ReplicaNode {
  readonly machine: SyncMachine;
  /** The time at which something was last applied to the folder. */
  appliedAt = -Infinity;
  /**
   * Counts of reported events: paths applied to the folder, entries that the origin has accepted and rejected, and
   * conflicts that began.
   */
  readonly told = { applied: 0, accepted: 0, rejected: 0, conflicts: 0 };
  readonly #options: ReplicaNodeOptions;
  #id = "";
  #store: StoreApi | undefined;
  #hold: ReplicaHold | undefined;
  #sync: FolderSync | undefined;
  #timers: LifeTimers | undefined;
  #hasMissed = false;
  /** The number of the present life. Each start and each end begins another life. */
  #life = 0;
  #hint: ((hint: WatchHint) => void) | undefined;

  constructor(options: ReplicaNodeOptions) {
    this.machine = new SyncMachine(options.number, options);
    this.#options = options;
    this.#id = options.id ?? "";
  }

  get id(): string {
    return this.#id;
  }

  get isUp(): boolean {
    return this.#sync !== undefined && !this.machine.disk.stopped;
  }

  get sync(): FolderSync {
    if (this.#sync === undefined) throw new Error("the replica is not up");
    return this.#sync;
  }

  get hold(): ReplicaHold {
    if (this.#hold === undefined) throw new Error("the replica is not up");
    return this.#hold;
  }

  /** Starts the replica. The first start creates its workspace, with the files in its folder. */
  async start(): Promise<void> {
    const life = (this.#life += 1);
    if (this.#id === "") this.#id = await this.machine.init();
    const store = await this.machine.open();
    const hold = await openReplica(partsOf(store), this.#id);
    if (life !== this.#life) throw ended();
    this.#store = store;
    this.#hold = hold;
    const { mirror } = hold;
    const blobs = this.#options.blobs?.(hold.context.blobs) ?? hold.context.blobs;
    const index = this.#options.index?.(hold.context.index) ?? hold.context.index;
    const context = { ...hold.context, blobs, index };
    const session = { ...hold.options, blobs };
    this.#hasMissed = false;
    const live = new DirtyPaths(
      watchedBy(context.worktree, { tell: (onHint) => (this.#hint = onHint), isWhole: () => !this.#hasMissed }),
    );
    const { connect, random, clock } = this.#options;
    const timers = new LifeTimers(clock, this.machine);
    this.#timers = timers;
    const identity = () => this.#identity();
    const parts = { context: { ...context, live }, mirror, session, connect, identity, timers, random };
    const sync = new FolderSync(parts, (await findReplicaRecord(context)) ?? this.#fresh());
    if (life !== this.#life) throw ended();
    this.#sync = sync;
    sync.happened.listen((happening) => this.#happened(happening));
    await sync.start();
  }

  #happened(happening: SyncEvent): void {
    const { told } = this;
    if (happening.kind === "applied") {
      this.appliedAt = this.#options.clock.now;
      told.applied += happening.paths;
    } else if (happening.kind === "pushed") {
      told.accepted += happening.accepted;
      told.rejected += happening.rejected;
    } else if (happening.kind === "conflict" && happening.state === "open") told.conflicts += 1;
  }

  /** Notes that the watcher has missed a change. This ends with a hint of everything. */
  miss(): void {
    this.#hasMissed = true;
  }

  /** Reports possible changes at these paths; without paths, anywhere. */
  hint(paths: readonly string[] | undefined): void {
    if (paths === undefined) this.#hasMissed = false;
    this.#hint?.({ paths: paths as readonly WorkspacePath[] | undefined });
  }

  /**
   * Continues as another replica, as users do after a report. `as-new`: the replica was reported to be a copy, or to be
   * restored from a backup. `rejoin`: the origin was restored from a backup. Rejects if the process ends in the
   * meantime.
   */
  async beginAnew(how: "as-new" | "rejoin"): Promise<void> {
    const [sync, hold, store] = [this.sync, this.hold, this.#store];
    const newId = hold.context.newId();
    await (how === "as-new" ? sync.becomeNew(newId) : sync.rejoin(newId));
    await sync.close();
    await hold[Symbol.asyncDispose]();
    await store?.close();
    if (this.#sync !== sync) throw ended();
    this.lose();
    await this.start();
    await this.sync.resume();
  }

  /** Ends the process of the replica. */
  lose(): void {
    this.#life += 1;
    this.#timers?.end();
    this.#sync?.close().catch(NOTHING);
    this.#hold?.[Symbol.asyncDispose]().then(NOTHING, NOTHING);
    this.#store?.close().catch(NOTHING);
    this.#sync = undefined;
    this.#hold = undefined;
    this.#hint = undefined;
  }

  #fresh(): ReplicaRecord {
    const rest = { origin: "", sandboxId: this.#id, url: "memory:", filterTo: [], filterFrom: [] };
    return { ...rest, mode: "two-way-safe", applied: 0, settled: 0, ...this.#options.record };
  }

  #identity() {
    const stat = this.machine.disk.lstat(FOLDER);
    return stat?.kind === "dir" ? { dev: String(stat.dev), ino: String(stat.ino) } : undefined;
  }
}

function ended(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "the process has ended");
}

/** Makes a worktree whose hints come from the given function. */
function watchedBy(
  worktree: Worktree,
  { tell, isWhole }: { tell: (onHint: (hint: WatchHint) => void) => void; isWhole: () => boolean },
): Worktree {
  const watch: Worktree["watch"] = async (onHint) => {
    tell(onHint);
    return { degraded: false, settled: async () => isWhole(), close: async () => undefined };
  };
  return new Proxy(worktree, {
    get: (target, key) => {
      const value: unknown = key === "watch" ? watch : Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
