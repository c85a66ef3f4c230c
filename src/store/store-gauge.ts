import type { Disk } from "../disk/disk.ts";
import { treeSize } from "./tree-size.ts";

/** How old a look may be, in ms. */
const LOOK_MS = 5_000;
/** How much may have been written since a look, in bytes. */
const LOOK_BYTES = 16 * 1024 * 1024;

/**
 * How many bytes a store takes, without looking at its files each time: what the last look found, and what was written
 * since. Other processes' writing shows at the next look.
 */
export class StoreGauge {
  readonly #disk: Disk;
  readonly #home: string;
  readonly #now: () => number;
  #found = 0;
  #grown = 0;
  #at: number | undefined;

  /** `now`: milliseconds since 1970. */
  constructor(disk: Disk, home: string, now: () => number) {
    this.#disk = disk;
    this.#home = home;
    this.#now = now;
  }

  takes({ fresh = false }: { readonly fresh?: boolean } = {}): number {
    const now = this.#now();
    const isStale = fresh || this.#at === undefined || Math.abs(now - this.#at) > LOOK_MS || this.#grown > LOOK_BYTES;
    if (isStale) {
      this.#found = treeSize(this.#disk, this.#home);
      this.#grown = 0;
      this.#at = now;
    }
    return this.#found + this.#grown;
  }

  grew(bytes: number): void {
    this.#grown += bytes;
  }

  /** Something was removed: the next answer is of a new look. */
  lookAgain(): void {
    this.#at = undefined;
  }
}
