import type { Disk, NodeKind } from "../disk/disk.ts";
import { errnoOf } from "../core/values/errors.ts";

/** The maximum age of a measurement, in milliseconds. An older measurement is repeated. */
const LOOK_MS = 5_000;

/** The maximum number of bytes that are written before the next measurement. */
const LOOK_BYTES = 16 * 1024 * 1024;

/**
 * Estimates the size of a store in bytes as the last measurement plus the bytes written since. Measurements are rare,
 * because each one looks at every file. Writes of other processes are included only from the next measurement on. The
 * kept objects of git folders do not count, because nearly all of them are hard links and take no further space.
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
      this.#found = sizeWithin(this.#disk, this.#home, () => 0);
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
 * Matches the path of a folder with the kept objects of a git folder (`keptGit`). Most of these objects are hard links
 * to files of the repository.
 */
const IS_OF_GIT = /\/workspaces\/[^/]+\/git\/[^/]+\/files$/;

/**
 * Returns the size of a folder's files in bytes; 0 if there is no such folder. Files that disappear meanwhile count as
 * empty. A kept object of a git folder counts only if it is not a hard link to a file of the repository.
 */
export function treeSize(disk: Disk, folder: string): number {
  return sizeWithin(disk, folder, (path) => unlinkedSize(disk, path));
}

function unlinkedSize(disk: Disk, folder: string): number {
  return sumWithin(disk, folder, (path, kind) => {
    if (kind === "dir") return unlinkedSize(disk, path);
    const stat = disk.lstat(path);
    return stat?.nlink === 1 ? stat.size : 0;
  });
}

/**
 * Returns the size of a folder's files in bytes. `sizeOfGit` returns the number of bytes to count for a folder with the
 * kept objects of a git folder.
 */
function sizeWithin(disk: Disk, folder: string, sizeOfGit: (folder: string) => number): number {
  if (disk.lstat(folder) === undefined) return 0;
  if (IS_OF_GIT.test(folder)) return sizeOfGit(folder);
  return sumWithin(disk, folder, (path, kind) =>
    kind === "dir" ? sizeWithin(disk, path, sizeOfGit) : (disk.lstat(path)?.size ?? 0),
  );
}

function sumWithin(disk: Disk, folder: string, sizeOf: (path: string, kind: NodeKind) => number): number {
  let total = 0;
  for (const { name, kind } of listed(disk, folder)) total += sizeOf(`${folder}/${name.toString()}`, kind);
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
