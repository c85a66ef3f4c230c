import type { Disk } from "../disk/disk.ts";
import { treeSize } from "./tree-size.ts";

/** The greatest age of a measurement, in ms. */
const LOOK_MS = 5_000;
/** The most bytes written since a measurement. */
const LOOK_BYTES = 16 * 1024 * 1024;

/**
 * Counts the bytes that a store takes, without reading its files each time: the last measurement, and the bytes written
 * since. Other processes' writes show at the next measurement.
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

  /** Measures anew with the next call, as something was removed. */
  lookAgain(): void {
    this.#at = undefined;
  }
}
