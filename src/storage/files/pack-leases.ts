import { ChronicleError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import type { HeldLock, Lock } from "../lock.ts";
import type { BlobIndex } from "../blob-index.ts";
import { ioTrouble } from "../io-trouble.ts";
import { settleLane, type SeenPack } from "./lane-recovery.ts";
import type { BlobLayout } from "../layout.ts";
import type { LaneGrant } from "../blob-intake.ts";
import type { UnsureNames } from "./sure-names.ts";

const MAX_LANES = 1024;

/** The parts that the modules of a file blob store share. */
export interface BlobFiles {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  readonly index: BlobIndex;
  /** Returns a new ULID. */
  readonly newPackId: () => string;
  readonly unsure: UnsureNames;
}

/** A lane that this process holds. */
export interface PackLease {
  /** For the one writer, which may be in a worker thread. */
  readonly grant: LaneGrant;
  /** Releases the lane. The writer must have been closed. */
  release(): void;
}

/** Hands out lanes: the lowest one that nobody else holds, after settling its tail. */
export class PackLeases {
  readonly #files: BlobFiles;
  readonly #lockOf: (path: string) => Lock;
  readonly #mine = new Map<number, () => void>();
  /** Locks of released lanes of ours: opening a lock takes longer than acquiring it. */
  readonly #idle = new Map<number, Lock>();
  readonly #seen = new Map<number, SeenPack>();

  constructor(files: BlobFiles, lockOf: (path: string) => Lock) {
    this.#files = files;
    this.#lockOf = lockOf;
  }

  /** Takes the lowest free lane. */
  async take(): Promise<PackLease> {
    for (let lane = 0; lane < MAX_LANES; lane++) {
      const held = await this.tryTake(lane);
      if (held !== undefined) return held;
    }
    throw new ChronicleError("LOCKED", `all ${MAX_LANES} lanes of ${this.#files.layout.active} are in use`);
  }

  /** Takes this lane; returns `undefined` if another holder has it. */
  async tryTake(lane: number): Promise<PackLease | undefined> {
    if (this.#mine.has(lane)) return undefined;
    const lock = this.#idle.get(lane) ?? this.#lockOf(this.#files.layout.laneLock(lane));
    this.#idle.delete(lane);
    const drop = (): void => {
      this.#mine.delete(lane);
      lock.close();
    };
    this.#mine.set(lane, drop);
    try {
      const held = await tryLock(lock);
      if (held === undefined) {
        drop();
        return undefined;
      }
      const release = (): void => {
        if (!this.#mine.delete(lane)) return;
        held.release();
        this.#idle.set(lane, lock);
      };
      this.#mine.set(lane, release);
      return { grant: settleLane(this.#files, lane, this.#seen), release };
    } catch (error) {
      drop();
      throw ioTrouble(error, `taking lane ${lane} of ${this.#files.layout.active}`);
    }
  }

  /** The number of lanes that this object holds. */
  get count(): number {
    return this.#mine.size;
  }

  /** True if this object holds the lane. */
  holds(lane: number): boolean {
    return this.#mine.has(lane);
  }

  close(): void {
    for (const release of [...this.#mine.values()]) release();
    for (const lock of this.#idle.values()) lock.close();
    this.#idle.clear();
  }
}

async function tryLock(lock: Lock): Promise<HeldLock | undefined> {
  try {
    return await lock.exclusive(0);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "LOCKED") return undefined;
    throw error;
  }
}
