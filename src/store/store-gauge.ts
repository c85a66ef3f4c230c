import type { Disk } from "../disk/disk.ts";
import { errnoOf } from "../core/values/errors.ts";

/** The greatest age of a measurement, in ms. An older measurement is repeated. */
const LOOK_MS = 5_000;

/** The most bytes that are written before the next measurement. */
const LOOK_BYTES = 16 * 1024 * 1024;

/**
 * Estimates the size of a store in bytes as the last measurement plus the bytes written since. Measurements are rare,
 * because each one looks at every file. Writes of other processes are included only from the next measurement on.
 */
export class StoreGauge {
  readonly #disk: Disk;
  readonly #home: string;
  readonly #now: () => number;
  #found = 0;
  #grown = 0;
  #at: number | undefined;

  /** `now` returns milliseconds since 1970. */
  constructor(disk: Disk, home: string, now: () => number) {
    this.#disk = disk;
    this.#home = home;
    this.#now = now;
  }

  /** Returns the estimated size. With `fresh`, measures now. */
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

  /** Adds bytes that this process has written since the last measurement. */
  grew(bytes: number): void {
    this.#grown += bytes;
  }

  /** Makes the next `takes` measure again, because something was removed. */
  lookAgain(): void {
    this.#at = undefined;
  }
}

/**
 * Returns the size of a folder's files in bytes; 0 if there is no such folder. Files that disappear meanwhile count as
 * empty.
 */
export function treeSize(disk: Disk, folder: string): number {
  if (disk.lstat(folder) === undefined) return 0;
  let total = 0;
  for (const { name, kind } of listed(disk, folder)) {
    const path = `${folder}/${name.toString()}`;
    total += kind === "dir" ? treeSize(disk, path) : (disk.lstat(path)?.size ?? 0);
  }
  return total;
}

function listed(disk: Disk, folder: string): ReturnType<Disk["list"]> {
  try {
    return disk.list(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
