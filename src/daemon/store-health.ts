import { dirname } from "node:path";
import { hintOfErrno, isTroubleOfDisk, STAYS_IN_WORDS, troubleInWords } from "../core/values/errno.ts";
import { ChronicleError, codedError, errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { whyNotWritable } from "../disk/probe-writes.ts";

/** The free space in bytes below which a test write decides whether the store can be written. */
const LITTLE_SPACE = 1024 * 1024;
/** The time for which the result of a test write is used again, in milliseconds. */
const HOLDS_MS = 1_000;
/**
 * The time, in milliseconds, for which an error is reported if it lasts until the log is opened anew. An unused
 * workspace is closed within this time. Its next use then opens the log anew.
 */
const STAYS_MS = 150_000;

export interface StoreTrouble {
  readonly errno: string;
  /** The trouble in words, for people. */
  readonly reason: string;
  /** The hint for people; `undefined` if there is none. */
  readonly next: string | undefined;
  /** The time (from `performance.now`) until which the trouble is reported without a test write. */
  readonly staysUntil?: number;
}

export interface StoreHealthOptions {
  readonly disk: Disk;
  readonly home: string;
  /** Called once when a store that could not be written can be written again. */
  readonly onHealed: (before: StoreTrouble) => void;
}

/**
 * Tells whether a store can be written. The store is assumed to be writable until an operation fails or space is low.
 * From then on, test writes are made until one succeeds.
 */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  /** Maps a folder that could not be written to its trouble. */
  readonly #troubles = new Map<string, StoreTrouble>();
  #lookedAt = -Infinity;

  constructor(options: StoreHealthOptions) {
    this.#options = options;
  }

  get isTroubled(): boolean {
    return this.#troubles.size > 0;
  }

  /** Remembers an error, if it means that the store could not be written. */
  note(error: unknown): void {
    const known = diskTrouble(error);
    if (known === undefined) return;
    const folder = known.path === undefined ? this.#options.home : dirname(known.path);
    const trouble = troubleOf(known.errno);
    const staysUntil = performance.now() + STAYS_MS;
    if (known.stays) this.#troubles.set(folder, { ...trouble, reason: STAYS_IN_WORDS, staysUntil });
    else if (!stays(this.#troubles.get(folder))) this.#troubles.set(folder, trouble);
  }

  /**
   * Returns the trouble of the store or of a part of the store; `undefined` if all of the store can be written. Makes
   * test writes at most once in `HOLDS_MS`, and calls `onHealed` if they show that the trouble has ended.
   */
  look(): StoreTrouble | undefined {
    const { disk, home, onHealed } = this.#options;
    if (performance.now() - this.#lookedAt >= HOLDS_MS) {
      const before = new Map(this.#troubles);
      if (this.#hasLittleSpace()) before.set(home, before.get(home) ?? troubleOf("ENOSPC"));
      const known = new Set(this.#troubles.keys());
      for (const [folder, trouble] of before) {
        if (stays(trouble)) continue;
        const errno = whyNot(disk, folder);
        if (errno !== undefined) this.#troubles.set(folder, troubleOf(errno));
        else if (this.#troubles.delete(folder) && known.has(folder) && this.#troubles.size === 0) onHealed(trouble);
      }
      this.#lookedAt = performance.now();
    }
    return this.#troubles.values().next().value;
  }

  #hasLittleSpace(): boolean {
    const { disk, home } = this.#options;
    try {
      return disk.space(home).freeBytes < LITTLE_SPACE;
    } catch (error) {
      // The store is missing, or its disk does not report its free space, so a test write must decide.
      if (errnoOf(error) === undefined) throw error;
      return true;
    }
  }
}

/** True if the trouble is still reported without a test write. */
function stays(trouble: StoreTrouble | undefined): boolean {
  return performance.now() < (trouble?.staysUntil ?? 0);
}

function whyNot(disk: Disk, folder: string): string | undefined {
  try {
    return disk.lstat(folder) === undefined ? undefined : whyNotWritable(disk, folder);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}

function troubleOf(errno: string): StoreTrouble {
  return { errno, reason: troubleInWords(errno), next: hintOfErrno(errno) };
}

interface DiskTrouble {
  readonly errno: string;
  readonly path?: string;
  readonly stays: boolean;
}

function diskTrouble(error: unknown): DiskTrouble | undefined {
  const known = codedError(error);
  if (!(known instanceof ChronicleError)) return undefined;
  const { errno, path, stays } = known.data;
  const where = { stays: stays === true, ...(typeof path === "string" ? { path } : {}) };
  if (typeof errno === "string" && isTroubleOfDisk(errno)) return { errno, ...where };
  return known.code === "POISONED" ? { errno: "EIO", ...where } : undefined;
}
