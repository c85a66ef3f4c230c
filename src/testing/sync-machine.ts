import type { StoreApi } from "../api/store-api.ts";
import { openParts } from "../compose/open-parts.ts";
import { openFileStore } from "../compose/file-store.ts";
import type { Backends } from "../store/backends.ts";
import type { StoreParts } from "../compose/open-context.ts";
import type { Disk } from "../disk/disk.ts";
import type { CrashFate } from "./sim-disk/sim-crash.ts";
import { SimDisk } from "./sim-disk/sim-disk.ts";
import type { SimPlan } from "./sim-disk/sim-faults.ts";
import { MemoryBlobIndex } from "../storage/memory/memory-blob-index.ts";
import { simBackends } from "./sim-store.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** The folder of a machine's workspace. */
export const FOLDER = "/home/project";

const OPTIONS = { home: "/store", configFolder: "/config", userHome: "/root", waitMs: 60_000 };

/** How a machine differs from a sound one. */
export interface MachineOptions {
  readonly clock: VirtualClock;
  /** The disk as the engine sees it: a planted fault. */
  readonly seenAs?: (disk: SimDisk) => Disk;
  /** Does `plan` decide about what only reads, too? Default: no. */
  readonly countsReads?: boolean;
  /** What is on its disk: a copy of another machine. Default: nothing. */
  readonly image?: SimDisk;
}

/**
 * A machine of a simulation: a disk with a store and a folder, and a wall clock that can jump. It loses its power with
 * `losePower`; what was not synced may then be gone.
 */
export class SyncMachine {
  /** Added to the time of the simulation: the wall clock of this machine is wrong by so much. */
  skewMs = 0;
  readonly #options: MachineOptions;
  #disk: SimDisk;
  #ids: number;
  /** What the processes of a machine share, while it has power. */
  #backends: Backends | undefined;

  /** `number`: ids of different machines differ. */
  constructor(number: number, options: MachineOptions) {
    this.#ids = number * 10_000_000;
    this.#options = options;
    this.#disk = options.image === undefined ? this.#empty() : this.#own(options.image);
  }

  get disk(): SimDisk {
    return this.#disk;
  }

  /** Decides about each operation on its disk from here on. */
  plan(plan: SimPlan | undefined): void {
    this.#disk.plan = plan;
  }

  /** The power goes; the machine can be started again. */
  losePower(fate: CrashFate): void {
    this.#disk = this.#disk.crash(fate);
    this.#disk.plan = undefined;
    this.#backends = undefined;
  }

  /** What is on its disk, as somebody copies it. `fate`: what is in the copy of what was not synced. */
  copy(fate: CrashFate): SimDisk {
    return this.#disk.crash(fate);
  }

  /** Nothing that runs on it changes its disk any more. */
  switchOff(): void {
    this.#disk.plan = () => "stop-before";
  }

  /** Somebody has put this on its disk, in the place of what was there; the machine can be started. */
  putBack(image: SimDisk): void {
    this.#disk = this.#own(image);
    this.#backends = undefined;
  }

  /** Begins the workspace of its folder, with what lies there. Its id. */
  async init(): Promise<string> {
    const store = await this.open();
    try {
      const { workspace, result } = await store.init({ roots: [FOLDER] });
      await workspace.close();
      return result.workspace;
    } finally {
      await store.close();
    }
  }

  /** Its store, as a process has it. */
  open(): Promise<StoreApi> {
    return openFileStore(OPTIONS, this.#shared());
  }

  /** What engines of its store are opened with, by a process that stays. */
  parts(): Promise<StoreParts> {
    return openParts(OPTIONS, this.#shared());
  }

  #empty(): SimDisk {
    const folder = { folder: 0o700 };
    return SimDisk.fromTree(
      { [FOLDER]: { folder: 0o755 }, "/store": folder, "/config": folder, "/root": folder },
      { clock: this.#diskClock, countsReads: this.#options.countsReads === true },
    );
  }

  /** The image stays as it is. */
  #own(image: SimDisk): SimDisk {
    const disk = image.crash("keep", { clock: this.#diskClock });
    disk.plan = undefined;
    return disk;
  }

  readonly #diskClock = (): bigint => BigInt(this.#now()) * 1_000_000n;

  /** The same locks and the same index of contents for all. */
  #shared(): Backends {
    if (this.#backends !== undefined) return this.#backends;
    this.#ids += 100_000;
    const disk = this.#options.seenAs?.(this.#disk) ?? this.#disk;
    const backends = simBackends(disk, { firstId: this.#ids, clock: () => this.#now() });
    const index = new SharedBlobIndex();
    let isFresh = true;
    const openBlobIndex = () => () => {
      const fresh = isFresh;
      isFresh = false;
      return { index, fresh, readOnly: false };
    };
    return (this.#backends = { ...backends, openBlobIndex });
  }

  #now(): number {
    return Date.parse("2030-01-01T00:00:00Z") + Math.floor(this.#options.clock.now) + this.skewMs;
  }
}

/** Whoever closes it leaves it to the others. */
class SharedBlobIndex extends MemoryBlobIndex {
  override close(): void {}
}
