import type { StoreApi } from "../api/store-api.ts";
import { openParts } from "../compose/open-parts.ts";
import { openFileStore } from "../compose/file-store.ts";
import type { Backends } from "../store/backends.ts";
import type { StoreParts } from "../compose/open-context.ts";
import type { Disk } from "../disk/disk.ts";
import type { CrashFate } from "./sim-disk/sim-crash.ts";
import { SimDisk } from "./sim-disk/sim-disk.ts";
import type { SimPlan } from "./sim-disk/sim-faults.ts";
import type { BlobIndexOpener } from "../storage/blob-index.ts";
import { MemoryBlobIndex } from "../storage/memory/memory-blob-index.ts";
import { simBackends } from "./sim-store.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** The folder of a machine's workspace. */
export const FOLDER = "/home/project";

const OPTIONS = { home: "/store", configFolder: "/config", userHome: "/root", waitMs: 60_000 };

/** Options of a machine; some plant faults. */
export interface MachineOptions {
  readonly clock: VirtualClock;
  /** Plants a fault: returns the disk as the engine sees it. Default: the disk itself. */
  readonly seenAs?: (disk: SimDisk) => Disk;
  /** True if `plan` also decides about reading operations. Default: no. */
  readonly countsReads?: boolean;
  /** The initial disk: a copy of another machine's. Default: empty. */
  readonly image?: SimDisk;
}

/**
 * A machine of a simulation: a disk with a store and a folder, and a wall clock that can jump. `losePower` ends it.
 * Changes that were not synced may then be lost.
 */
export class SyncMachine {
  /** The error of this machine's wall clock, in ms, added to the time of the simulation. */
  skewMs = 0;
  readonly #options: MachineOptions;
  #disk: SimDisk;
  #ids: number;
  /** The backends that the machine's processes share while it has power. */
  #backends: Backends | undefined;

  /** `number`: makes the ids of different machines differ. */
  constructor(number: number, options: MachineOptions) {
    this.#ids = number * 10_000_000;
    this.#options = options;
    this.#disk = options.image === undefined ? this.#empty() : this.#own(options.image);
  }

  get disk(): SimDisk {
    return this.#disk;
  }

  /** Sets a plan that decides about each operation on its disk from here on. */
  plan(plan: SimPlan | undefined): void {
    this.#disk.plan = plan;
  }

  /** Cuts the power. The machine can be started again. */
  losePower(fate: CrashFate): void {
    this.#disk = this.#disk.crash(fate);
    this.#disk.plan = undefined;
    this.#backends = undefined;
  }

  /** Returns a copy of its disk. `fate`: which unsynced changes are in the copy. */
  copy(fate: CrashFate): SimDisk {
    return this.#disk.crash(fate);
  }

  /** Stops every later operation on the disk, so that nothing that still runs can change it. */
  switchOff(): void {
    this.#disk.plan = () => "stop-before";
  }

  /** Replaces the disk by a copy of this image. The machine can be started afterwards. */
  putBack(image: SimDisk): void {
    this.#disk = this.#own(image);
    this.#backends = undefined;
  }

  /** Makes a workspace of the machine's folder, with the files there. Returns its id. */
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

  /** Opens its store, as a process would. */
  open(): Promise<StoreApi> {
    return openFileStore(OPTIONS, this.#shared());
  }

  /** Opens the parts of the store, for a long-lived process with engines of its own. */
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

  /** Uses a copy, so that the image stays as it is. */
  #own(image: SimDisk): SimDisk {
    const disk = image.crash("keep", { clock: this.#diskClock });
    disk.plan = undefined;
    return disk;
  }

  readonly #diskClock = (): bigint => BigInt(this.#now()) * 1_000_000n;

  /** Returns backends with the same locks and the same blob index for all processes, until the power is lost. */
  #shared(): Backends {
    if (this.#backends !== undefined) return this.#backends;
    this.#ids += 100_000;
    const disk = this.#options.seenAs?.(this.#disk) ?? this.#disk;
    const index = new SharedBlobIndex();
    let isFresh = true;
    const blobIndex: BlobIndexOpener = () => {
      const fresh = isFresh;
      isFresh = false;
      return { index, fresh, readOnly: false };
    };
    return (this.#backends = simBackends(disk, { firstId: this.#ids, clock: () => this.#now(), blobIndex }));
  }

  #now(): number {
    return Date.parse("2030-01-01T00:00:00Z") + Math.floor(this.#options.clock.now) + this.skewMs;
  }
}

/** An index that the other processes can still use after one process has closed it. */
class SharedBlobIndex extends MemoryBlobIndex {
  override close(): void {}
}
