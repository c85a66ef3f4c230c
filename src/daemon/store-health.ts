import { dirname } from "node:path";
import { hintOfErrno, isTroubleOfDisk, STAYS_IN_WORDS, troubleInWords } from "../core/values/errno.ts";
import { ChronicleError, codedError, errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { whyNotWritable } from "../disk/probe-writes.ts";

/** The free space, in bytes, below which a test write decides whether the store takes writes. */
const LITTLE_SPACE = 1024 * 1024;
/** The outcome of a test write is valid for this long, in milliseconds. */
const HOLDS_MS = 1_000;
/**
 * The time for which an error that stays until its log is opened again is reported, in milliseconds. By the end of that
 * time, an unused workspace has been closed.
 */
const STAYS_MS = 150_000;

/** The reason why a store takes no writes now. */
export interface StoreTrouble {
  /** The name of the system's error. */
  readonly errno: string;
  readonly reason: string;
  readonly next: string | undefined;
  /** The time (`performance.now`) until which it is valid, whatever a test write says. */
  readonly staysUntil?: number;
}

export interface StoreHealthOptions {
  readonly disk: Disk;
  /** The store's folder. */
  readonly home: string;
  /** Called once when a store that took no writes takes them again. */
  readonly onHealed: (before: StoreTrouble) => void;
}

/**
 * Tells whether a store takes writes. It is assumed to, until an operation has failed or space is low: only then a test
 * write is made, and repeated until it succeeds.
 */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  /** Troubles by the folder that took no write. */
  readonly #troubles = new Map<string, StoreTrouble>();
  #lookedAt = -Infinity;

  constructor(options: StoreHealthOptions) {
    this.#options = options;
  }

  /** True if the store is known to be in trouble. */
  get isTroubled(): boolean {
    return this.#troubles.size > 0;
  }

  /** Notes an error if it concerns the store's writes. */
  note(error: unknown): void {
    const known = diskTrouble(error);
    if (known === undefined) return;
    const folder = known.path === undefined ? this.#options.home : dirname(known.path);
    const trouble = troubleOf(known.errno);
    const staysUntil = performance.now() + STAYS_MS;
    this.#troubles.set(folder, known.stays ? { ...trouble, reason: STAYS_IN_WORDS, staysUntil } : trouble);
  }

  /** Returns why the store, or a part of it, takes no writes now; `undefined` if all of it does. Never throws. */
  look(): StoreTrouble | undefined {
    const { disk, home, onHealed } = this.#options;
    if (performance.now() - this.#lookedAt >= HOLDS_MS) {
      const before = new Map(this.#troubles);
      if (this.#hasLittleSpace()) before.set(home, before.get(home) ?? troubleOf("ENOSPC"));
      const known = new Set(this.#troubles.keys());
      for (const [folder, trouble] of before) {
        if (performance.now() < (trouble.staysUntil ?? 0)) continue;
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
      // The store is missing, or its disk does not report its space: a test write decides.
      return errnoOf(error) !== undefined;
    }
  }
}

function whyNot(disk: Disk, folder: string): string | undefined {
  try {
    return disk.lstat(folder) === undefined ? undefined : whyNotWritable(disk, folder);
  } catch (error) {
    return diskTrouble(error)?.errno ?? "EIO";
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
