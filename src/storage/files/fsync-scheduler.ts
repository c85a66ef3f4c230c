import type { Disk } from "../../disk/disk.ts";

interface Waiting {
  readonly fd: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Makes files durable for all logs of a store. Who is alone is served at once, by this thread: nothing is faster. Several
 * that ask in one turn of the event loop, and all that ask meanwhile, are synced beside each other and beside whatever
 * else this thread does: a journaling file system makes many durable in hardly more time than one.
 */
export class FsyncScheduler {
  readonly #disk: Disk;
  #waiting: Waiting[] = [];
  /** How many are being synced beside. */
  #underWay = 0;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** As `Disk.sync`; the descriptor must stay open until it has ended. Rejects with what the disk throws. */
  sync(fd: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fd, resolve, reject });
      // Once everybody else has had a turn: those whose contents became durable together ask together.
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
