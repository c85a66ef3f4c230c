import type { Disk } from "../../disk/disk.ts";

interface Waiting {
  readonly fd: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Makes files durable for all logs of a store. A single request is served at once by this thread, which is fastest.
 * Several requests in one turn of the event loop, and all that come meanwhile, are synced concurrently and beside this
 * thread's other work: a journaling file system makes many durable in hardly more time than one.
 */
export class FsyncScheduler {
  readonly #disk: Disk;
  #waiting: Waiting[] = [];
  /** The number of syncs running beside other work. */
  #underWay = 0;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Like `Disk.sync`. The descriptor must stay open until it has ended. Rejects with the disk's error. */
  sync(fd: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fd, resolve, reject });
      // Wait until all other work had a turn: logs whose contents became durable together ask together.
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
