import { errnoOf } from "../../core/values/errors.ts";
import type { Disk, DiskWatch } from "../../disk/disk.ts";

/** An event that does not come in this time was lost. */
const WAIT_MS = 500;

/**
 * Says when every event of the past has come. A file is made in a watched folder of our own: events of one process come
 * in the order in which things happened, so once that one is here, all before it are.
 *
 * The kernel drops events when its queue is full, and says so to nobody who listens through Node. But a full queue is
 * delivered in the end: if fewer events came since the last barrier than the queue holds, none was dropped. Not every event
 * in it is counted (a watch that ends makes one, and so does the barrier): half of the queue is the limit.
 */
export class WatchBarrier {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #limit: number;
  #watch: DiskWatch | undefined;
  #waiting: { readonly name: string; readonly done: (came: boolean) => void } | undefined;
  #number = 0;
  #events = 0;
  #mayHaveLost = false;

  /** `folder`: absolute, made when it is needed. `queue`: how many events the kernel's queue holds. */
  constructor(disk: Disk, folder: string, queue: number) {
    this.#disk = disk;
    this.#folder = folder;
    this.#limit = queue / 2;
  }

  /** False: not possible here. */
  start(): boolean {
    try {
      this.#disk.makeFolder(this.#folder);
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
    this.#watch = this.#disk.watchFolder(this.#folder, (name) => {
      if (name?.toString() === this.#waiting?.name) this.#waiting?.done(true);
    });
    return this.#watch !== undefined;
  }

  /** To be called for each event of the folders that are watched. */
  count(): void {
    this.#events += 1;
    if (this.#events >= this.#limit) this.#mayHaveLost = true;
  }

  /** May events have been dropped since this was last asked? Then new folders may not be watched. */
  takeLoss(): boolean {
    const mayHaveLost = this.#mayHaveLost;
    this.#mayHaveLost = false;
    if (mayHaveLost) this.#events = 0;
    return mayHaveLost;
  }

  /** Resolves when all earlier events have come; false: some may have been lost. */
  async pass(): Promise<boolean> {
    if (this.#watch === undefined || this.#waiting !== undefined) return false;
    this.#number += 1;
    const name = `${process.pid}-${this.#number}`;
    const path = `${this.#folder}/${name}`;
    const came = new Promise<boolean>((done) => {
      this.#waiting = { name, done };
    });
    const timer = setTimeout(() => this.#waiting?.done(false), WAIT_MS);
    try {
      this.#disk.makeFolder(path);
      const isWhole = (await came) && this.#events < this.#limit;
      this.#disk.removeFolder(path);
      return isWhole;
    } catch (error) {
      // A full disk, a folder that somebody removed: nothing can be said, and everything is looked at.
      if (errnoOf(error) === undefined) throw error;
      return false;
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
      this.#events = 0;
    }
  }

  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#waiting?.done(false);
  }
}

const QUEUE_FILE = "/proc/sys/fs/inotify/max_queued_events";
/** The kernel's own default. */
const QUEUE_LENGTH = 16_384;

/** How many events the kernel keeps for us before it drops them. */
export function queueLength(disk: Disk): number {
  try {
    const fd = disk.open(QUEUE_FILE, "read");
    try {
      const bytes = Buffer.alloc(32);
      return Number.parseInt(bytes.toString("latin1", 0, disk.read(fd, bytes, 0)), 10) || QUEUE_LENGTH;
    } finally {
      disk.close(fd);
    }
  } catch {
    // Another system, or a hardened one: what is usual there.
    return QUEUE_LENGTH;
  }
}
