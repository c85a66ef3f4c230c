import { errnoOf } from "../../core/values/errors.ts";
import type { Disk, DiskWatch } from "../../disk/disk.ts";

/** An event that does not come within this time was lost. */
const WAIT_MS = 500;

/**
 * Tells when all past events have been delivered. It makes a file in a watched folder of our own: events of one process
 * come in order, so once that file's event is here, all earlier ones are.
 *
 * The kernel drops events when its queue is full, and does not report it through Node. But a full queue is delivered in
 * the end: if fewer events came since the last barrier than the queue holds, none was dropped. Some events are not
 * counted (the end of a watch makes one, and so does the barrier), so the limit is half of the queue.
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

  /** `folder`: absolute, made when it is needed. `queue`: the number of events that the kernel's queue holds. */
  constructor(disk: Disk, folder: string, queue: number) {
    this.#disk = disk;
    this.#folder = folder;
    this.#limit = queue / 2;
  }

  /** Starts the barrier. Returns false if that is not possible here. */
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

  /** Counts one event of the watched folders. */
  count(): void {
    this.#events += 1;
    if (this.#events >= this.#limit) this.#mayHaveLost = true;
  }

  /** True if events may have been dropped since the last call: then new folders may not be watched. */
  takeLoss(): boolean {
    const mayHaveLost = this.#mayHaveLost;
    this.#mayHaveLost = false;
    if (mayHaveLost) this.#events = 0;
    return mayHaveLost;
  }

  /** Resolves once all earlier events have come; false if some may have been lost. */
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
      // A full disk, or a folder that somebody removed: nothing can be told, so everything is scanned.
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
/** The kernel's default. */
const QUEUE_LENGTH = 16_384;

/** Returns how many events the kernel queues for us before it drops them. */
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
    // Another system, or a hardened one: use the default.
    return QUEUE_LENGTH;
  }
}
