import type { Disk } from "../../disk/disk.ts";

interface Waiting {
  readonly fd: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Syncs the files of all logs that share this object. A single request is served by this thread, because that is
 * fastest. Several requests of one turn of the event loop are served concurrently in the background. A request that
 * comes while such a sync is running is served in the background, too. A journaling file system needs hardly more time
 * to sync many files at once than to sync one.
 */
export class FsyncScheduler {
  readonly #disk: Disk;
  #waiting: Waiting[] = [];
  #underWay = 0;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Syncs a file as `Disk.sync` does. The descriptor must stay open meanwhile. Rejects with the disk's error. */
  sync(fd: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fd, resolve, reject });
      // `setImmediate` runs after the callbacks that are ready now. By then, all logs that waited for the same sync of
      // contents have made their requests, and are synced together.
      if (this.#waiting.length === 1) setImmediate(() => this.#serve());
    });
  }

  #serve(): void {
    const all = this.#waiting;
    this.#waiting = [];
    const isAlone = all.length === 1 && this.#underWay === 0;
    for (const one of all) {
      if (isAlone) this.#now(one);
      else void this.#beside(one);
    }
  }

  #now({ fd, resolve, reject }: Waiting): void {
    try {
      this.#disk.sync(fd);
      resolve();
    } catch (error) {
      reject(error);
    }
  }

  async #beside({ fd, resolve, reject }: Waiting): Promise<void> {
    this.#underWay += 1;
    try {
      await this.#disk.syncBeside(fd);
      resolve();
    } catch (error) {
      reject(error);
    } finally {
      this.#underWay -= 1;
    }
  }
}
