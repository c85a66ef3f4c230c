import type { StoreApi } from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { openReplica, type ReplicaHold } from "../compose/file-sync-places.ts";
import type { StoreParts } from "../compose/open-context.ts";
import { Origins } from "../compose/origins.ts";
import { partsOf } from "../compose/open-parts.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { ReplicaRecord } from "../core/records/replica-record.ts";
import type { SimDisk } from "./sim-disk/sim-disk.ts";
import { FramedChannel } from "../replication/channels/framed-channel.ts";
import { memoryWires, type LinkOptions } from "../replication/channels/memory-wire.ts";
import type { Channel } from "../replication/channel.ts";
import { FolderSync, type FolderSyncParts } from "../replication/folder/sync/folder-sync.ts";
import { withFilterTo } from "../replication/folder/sync/sync-settings.ts";
import type { SyncEvent } from "../replication/folder/sync/cycle-loop.ts";
import { OriginSession } from "../replication/origin/origin-session.ts";
import { optionsFor } from "../compose/replica-acceptor.ts";
import { findReplicaRecord } from "../replication/folder/cycle/find-replica-record.ts";
import type { WatchHint, Worktree } from "../worktree/worktree.ts";
import type { Context } from "../engine/log/context.ts";
import { DirtyPaths } from "../engine/log/dirty-paths.ts";
import { FOLDER, SyncMachine } from "./sync-machine.ts";
import { VirtualClock } from "./virtual-clock.ts";

const HEARTBEAT_MS = 200;
/** The maximum time for which a rig waits for something, in ms of its clock. */
const PATIENCE_MS = 120_000;

/** An origin on its own machine, without a folder unless it is opened with one. */
export class RigHost {
  readonly machine: SyncMachine;
  /**
   * The time since which the origin's folder has been missing, in epoch ms. `undefined` if it is there, or if there is
   * none.
   */
  awaySince: number | undefined;
  /** True if clients may only read. Default: false. */
  isReadOnly = false;
  /** True if clients have the token of an agent. Default: false. */
  isAgents = false;
  /** The interval of the origin's heartbeats, in ms. `undefined`: the default of an origin. */
  heartbeatMs: number | undefined = HEARTBEAT_MS;
  /** The number of running conversations. */
  conversations = 0;
  /** The causes of the `IO` errors with which the origin itself ended conversations. */
  readonly failures: unknown[] = [];
  readonly #clock: VirtualClock;
  #store: StoreApi | undefined;
  #workspace: WorkspaceApi | undefined;
  #origins: Origins | undefined;
  #id = "";

  constructor(clock: VirtualClock, number = 1) {
    this.#clock = clock;
    this.machine = new SyncMachine(number, { clock });
  }

  get id(): string {
    return this.#id;
  }

  get workspace(): WorkspaceApi {
    if (this.#workspace === undefined) throw new Error("the origin is not open");
    return this.#workspace;
  }

  /**
   * Opens the origin. `hasFolder`: if true, its files are in a folder of its machine, whose rules can omit some.
   * Default: false.
   */
  async open({ hasFolder = false } = {}): Promise<void> {
    this.#store = await this.machine.open();
    const { workspace } = hasFolder
      ? await this.#store.init({ roots: [FOLDER] })
      : await this.#store.create({ name: "work" });
    this.#workspace = workspace;
    this.#id = workspace.id;
    this.#origins = new Origins(partsOf(this.#store), { timers: this.#clock });
  }

  /** Makes a fork of the workspace, which begins on a base. The fork is served from now on. */
  async fork(): Promise<void> {
    if (this.#store === undefined) throw new Error("the origin is not open");
    const { workspace } = await this.#store.create({ name: "fork", from: { workspace: this.#id } });
    await this.workspace.close();
    this.#workspace = workspace;
    this.#id = workspace.id;
  }

  /** Records a file with its folders (`undefined`: its deletion). */
  async write(path: string, content: string | undefined): Promise<void> {
    if (content === undefined) await this.workspace.deleteFile(path);
    else await this.workspace.putFile(path, Buffer.from(content));
  }

  /** Archives or unarchives the workspace. */
  async setArchived(isArchived: boolean): Promise<void> {
    if (this.#store === undefined) throw new Error("the origin is not open");
    await this.#store.archive(this.#id, isArchived);
  }

  /** Returns all files with their contents; folders end with a slash. */
  async tree(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const { path, kind } of (await this.workspace.files()).files) {
      if (kind === "dir") found[`${path}/`] = "";
      else found[path] = await textOf((await this.workspace.file(path)).pieces());
    }
    return found;
  }

  /** Runs a conversation with the client at the other end. */
  async serve(channel: Channel): Promise<void> {
    if (this.#origins === undefined) throw new Error("the origin is not open");
    using lease = await this.#origins.lease(this.#id);
    const options = {
      ...optionsFor(lease.options, {
        readOnly: this.isReadOnly,
        presenter: { id: "rig", isOperator: !this.isAgents, replicas: [] },
      }),
      timers: this.#clock,
      ...(this.heartbeatMs === undefined ? {} : { heartbeatMs: this.heartbeatMs }),
      folderAway: () => this.awaySince,
    };
    this.conversations += 1;
    const { by, error } = await new OriginSession(channel, options).run();
    this.conversations -= 1;
    if (by === "us" && error?.code === "IO") this.failures.push(error.cause ?? error);
  }

  async close(): Promise<void> {
    await this.#origins?.[Symbol.asyncDispose]();
    await this.#workspace?.close();
    await this.#store?.close();
  }
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(pieces)).toString();
}

/** Options of a desk. */
export interface DeskOptions {
  /** Makes the ids of different machines differ. */
  readonly number?: number;
  /** See `MachineOptions`. */
  readonly countsReads?: boolean;
  readonly record?: Partial<ReplicaRecord>;
  readonly parts?: Partial<FolderSyncParts>;
}

/** A folder that follows a rig's origin, on its own machine. Changes in it are reported only by the test (`hint` …). */
export class RigDesk {
  readonly machine: SyncMachine;
  readonly happened: SyncEvent[] = [];
  /** True if the origin cannot be reached. */
  isCut = false;
  /** The error with which the server refuses a connection. `undefined`: it accepts connections. */
  refusal: ChronicleError | undefined;
  /**
   * The ends whose frames are lost without any error. `a` is the origin's end. New connections can be made, but their
   * frames are lost as well.
   */
  readonly silent = new Set<"a" | "b">();
  /** The delay of each frame, in ms. */
  frameMs = 0;
  /** Types of messages of the origin. The next message of each type is lost. */
  readonly lost = new Set<string>();
  /** True if the watcher misses changes, and reports that it does. */
  isBlind = false;
  /** True if the watcher can tell that all past hints have arrived. Late hints arrive before it does. */
  isOrdered = false;
  /** Functions that damage the bytes of the origin's next frames. */
  readonly damages: ((frame: Uint8Array) => Uint8Array)[] = [];
  /** The times at which the origin was asked for a conversation, in ms of the rig's clock. */
  readonly dialled: number[] = [];
  /** The delay of a scan of the folder before it begins, in ms. */
  lookMs = 0;
  /** The delay until the folder is watched, in ms. */
  watchMs = 0;
  /** The delay of a scan after it has seen everything, in ms. */
  lookedMs = 0;
  /** Settings that apply from the next start on. */
  settings: Partial<Pick<ReplicaRecord, "editorFiles" | "filterTo" | "filterFrom" | "withProtected">> = {};
  readonly #clock: VirtualClock;
  readonly #host: RigHost;
  readonly #record: Partial<ReplicaRecord>;
  readonly #parts: Partial<FolderSyncParts>;
  #id = "";
  #store: StoreParts | undefined;
  #hold: ReplicaHold | undefined;
  #sync: FolderSync | undefined;
  #cutLink: (() => void) | undefined;
  #hint: ((paths: readonly WorkspacePath[] | undefined) => void) | undefined;
  readonly #late: WorkspacePath[][] = [];
  #context: Context | undefined;

  constructor(host: RigHost, clock: VirtualClock, more: DeskOptions = {}) {
    this.#host = host;
    this.#clock = clock;
    this.#record = more.record ?? {};
    this.#parts = more.parts ?? {};
    this.machine = new SyncMachine(more.number ?? 2, { clock, countsReads: more.countsReads === true });
  }

  get disk(): SimDisk {
    return this.machine.disk;
  }

  get sync(): FolderSync {
    if (this.#sync === undefined) throw new Error("the desk is not started");
    return this.#sync;
  }

  get hold(): ReplicaHold {
    if (this.#hold === undefined) throw new Error("the desk is not started");
    return this.#hold;
  }

  /** The context of the desk's sync. Throws before the first start. */
  get context(): Context {
    if (this.#context === undefined) throw new Error("the desk is not started");
    return this.#context;
  }

  /** Starts the sync, or restarts it as another process would. */
  async start(more: Partial<FolderSyncParts> = {}): Promise<void> {
    if (this.#id === "") this.#id = await this.machine.init();
    this.#store = await this.machine.parts();
    this.#hold = await openReplica(this.#store, this.#id);
    const { context, mirror, options } = this.#hold;
    const live = new DirtyPaths(
      watchedBy(context.worktree, {
        tell: (onHint) => (this.#hint = (paths) => onHint({ paths })),
        isBlind: () => this.isBlind,
        starting: () => (this.watchMs > 0 ? this.#clock.wait(this.watchMs) : Promise.resolve()),
        settled: async () => {
          for (const paths of this.#late.splice(0)) this.#hint?.(paths);
          return this.isOrdered;
        },
      }),
    );
    const worktree = slowToRead(context.worktree, async (when) => {
      const ms = when === "before" ? this.lookMs : this.lookedMs;
      if (ms > 0) await this.#clock.wait(ms);
    });
    const known = (await findReplicaRecord(context)) ?? { ...this.#fresh(), ...this.#record };
    const record = { ...withFilterTo(known, this.settings.filterTo ?? known.filterTo), ...this.settings };
    this.#context = { ...context, worktree, live };
    const parts: FolderSyncParts = {
      context: this.#context,
      mirror,
      session: options,
      connect: () => this.#connect(),
      identity: () => this.#identity(),
      timers: this.#clock,
      random: () => 0.5,
      ...this.#parts,
      ...more,
    };
    this.#sync = new FolderSync(parts, record);
    this.#sync.happened.listen((one) => void this.happened.push(one));
    await this.#sync.start();
  }

  /** Ends the process of the desk normally. */
  async close(): Promise<void> {
    await this.#sync?.close();
    await this.#hold?.[Symbol.asyncDispose]();
    await this.#store?.blobs.close();
    this.#sync = undefined;
  }

  /** Reports a change in the folder. */
  hint(...paths: string[]): void {
    this.#hint?.(paths as WorkspacePath[]);
  }

  /** Reports a change in the folder, but only when the watcher is asked for past hints. */
  hintLate(...paths: string[]): void {
    this.#late.push(paths as WorkspacePath[]);
  }

  /** Reports that anything may have changed, as a watcher that misses changes does every few seconds. */
  hintEverywhere(): void {
    this.#hint?.(undefined);
  }

  /** Edits a file in the folder (`undefined`: deletes it), as an editor would, and reports it. */
  edit(path: string, content: string | undefined): void {
    writeSim(this.disk, `${FOLDER}/${path}`, content);
    this.hint(path);
  }

  /** Returns the contents of the folder; folders end with a slash. */
  tree(): Record<string, string> {
    return treeOf(this.disk, FOLDER);
  }

  /** Breaks the connection, which cannot be made again until `heal`. */
  cut(): void {
    this.isCut = true;
    this.#cutLink?.();
  }

  heal(): void {
    this.isCut = false;
  }

  #isLost(frame: Uint8Array): boolean {
    const text = Buffer.from(frame).toString("latin1");
    const name = [...this.lost].find((one) => text.includes(`"type":"${one}"`));
    return name !== undefined && this.lost.delete(name);
  }

  #fresh(): ReplicaRecord {
    const url = "memory:";
    const filters = { filterTo: [], filterFrom: [] };
    return { origin: "", sandboxId: this.#id, url, mode: "two-way-safe", ...filters, applied: 0, settled: 0 };
  }

  #identity() {
    const stat = this.disk.lstat(FOLDER);
    return stat?.kind === "dir" ? { dev: String(stat.dev), ino: String(stat.ino) } : undefined;
  }

  async #connect(): Promise<Channel> {
    this.dialled.push(this.#clock.now);
    if (this.isCut) throw new ChronicleError("UNAVAILABLE", "the network is cut");
    if (this.refusal !== undefined) throw this.refusal;
    const deliver: LinkOptions["deliver"] = ({ from, bytes }) => {
      if (this.silent.has(from) || (from === "a" && this.#isLost(bytes))) return [];
      const damage = from === "a" ? this.damages.shift() : undefined;
      return [{ afterMs: this.frameMs, ...(damage === undefined ? {} : { bytes: damage(bytes) }) }];
    };
    const wires = memoryWires({ later: this.#clock.later, deliver });
    this.#cutLink = () => wires.cut();
    void this.#host.serve(new FramedChannel(wires.a, { timers: this.#clock }));
    return new FramedChannel(wires.b, { timers: this.#clock });
  }
}

/** Makes a worktree whose hints come from the given function. */
function watchedBy(
  worktree: Worktree,
  given: {
    tell: (onHint: (hint: WatchHint) => void) => void;
    isBlind: () => boolean;
    starting: () => Promise<unknown>;
    settled: () => Promise<boolean>;
  },
): Worktree {
  const { tell, isBlind, starting, settled } = given;
  const watch: Worktree["watch"] = async (onHint) => {
    await starting();
    tell(onHint);
    return {
      get degraded() {
        return isBlind();
      },
      settled,
      close: async () => undefined,
    };
  };
  return new Proxy(worktree, {
    get: (target, key) => {
      const value: unknown = key === "watch" ? watch : Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Makes a worktree that pauses before and after a scan. */
function slowToRead(worktree: Worktree, pause: (when: "before" | "after") => Promise<void>): Worktree {
  const scan: Worktree["scan"] = async (request, onChanged) => {
    await pause("before");
    const report = await worktree.scan(request, onChanged);
    await pause("after");
    return report;
  };
  return new Proxy(worktree, {
    get: (target, key) => {
      if (key === "scan") return scan;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Options of a rig. `desk`: the initial files of the desk's folder. */
export interface FolderRigOptions extends DeskOptions {
  readonly desk?: Readonly<Record<string, string>>;
}

/** An origin, a desk and a clock. */
export class FolderRig {
  readonly clock = new VirtualClock();
  readonly host: RigHost;
  readonly desk: RigDesk;

  constructor(more: DeskOptions = {}) {
    this.host = new RigHost(this.clock);
    this.desk = new RigDesk(this.host, this.clock, more);
  }

  /** `begin`: the initial files of the origin. */
  static async start(begin: Readonly<Record<string, string>> = {}, more: FolderRigOptions = {}): Promise<FolderRig> {
    const rig = new FolderRig(more);
    await rig.during(rig.host.open());
    for (const [path, content] of Object.entries(begin)) await rig.during(rig.host.write(path, content));
    for (const [path, content] of Object.entries(more.desk ?? {}))
      writeSim(rig.desk.disk, `${FOLDER}/${path}`, content);
    await rig.during(rig.desk.start());
    return rig;
  }

  /** Lets the clock advance until `work` ends. Resolves to the result of `work`. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    work.then(over, over);
    const isDone = await this.clock.run(this.clock.now + PATIENCE_MS, () => isOver);
    if (!isDone) throw new Error("the work did not end in time");
    return work;
  }

  /** Waits until nothing is left to transfer in either direction. */
  async flush(): Promise<void> {
    await this.during(this.desk.sync.flush());
  }

  async until(isSo: () => boolean): Promise<void> {
    if (!(await this.clock.run(this.clock.now + PATIENCE_MS, isSo)))
      throw new Error("the condition was not fulfilled in time");
  }

  pass(ms: number): Promise<unknown> {
    return this.clock.run(this.clock.now + ms);
  }

  async close(): Promise<void> {
    await this.during(this.desk.close());
    await this.during(this.host.close());
  }
}

/** Writes a file with its folders, by a temporary name (`undefined`: removes what is there). */
export function writeSim(disk: SimDisk, path: string, content: string | undefined): void {
  if (content === undefined) return removeSim(disk, path);
  const folders = path.split("/").slice(1, -1);
  folders.forEach((_, i) => {
    const folder = `/${folders.slice(0, i + 1).join("/")}`;
    if (disk.lstat(folder) === undefined) disk.makeFolder(folder, 0o755);
  });
  const fd = disk.open(`${path}.new~`, "create", 0o644);
  disk.write(fd, Buffer.from(content), 0);
  disk.close(fd);
  if (disk.lstat(path)?.kind === "dir") removeSim(disk, path);
  disk.rename(`${path}.new~`, path);
}

/** Removes a file, or a folder with its contents. */
export function removeSim(disk: SimDisk, path: string): void {
  if (disk.lstat(path)?.kind !== "dir") return disk.unlink(path);
  for (const { name } of disk.list(path)) removeSim(disk, `${path}/${name.toString()}`);
  disk.removeFolder(path);
}

function treeOf(disk: SimDisk, folder: string, at = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, kind } of disk.list(`${folder}/${at}`)) {
    const path = `${at}${name.toString()}`;
    if (kind === "dir") Object.assign(found, { [`${path}/`]: "" }, treeOf(disk, folder, `${path}/`));
    else found[path] = disk.content(`${folder}/${path}`)?.toString() ?? "";
  }
  return found;
}
