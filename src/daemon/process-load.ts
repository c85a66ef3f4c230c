import { totalmem } from "node:os";
import { constants, PerformanceObserver } from "node:perf_hooks";
import type { Disk } from "../disk/disk.ts";

/** The maximum memory of a process with open workspaces, in bytes. */
const MOST_BYTES = 512 * 1024 ** 2;

/** The maximum part of the machine's memory. On a machine with little memory, this limit is lower than `MOST_BYTES`. */
const MOST_PART = 1 / 8;

/**
 * Tells whether this process uses more memory or more file watches than it should. If so, the caller should close open
 * workspaces.
 */
export class ProcessLoad implements Disposable {
  readonly #disk: Pick<Disk, "watchUse">;
  readonly #mostBytes: number;
  /** The memory in use after the last full garbage collection; 0 if it is unknown. */
  #bytes = 0;
  readonly #observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isFullCollection)) this.#bytes = usedBytes();
  });

  constructor(disk: Pick<Disk, "watchUse">, mostBytes = Math.min(MOST_BYTES, totalmem() * MOST_PART)) {
    this.#disk = disk;
    this.#mostBytes = mostBytes;
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  get isTooMuch(): boolean {
    const { open, most } = this.#disk.watchUse();
    return open > most || this.#bytes > this.#mostBytes;
  }

  /**
   * Must be called after a workspace was closed. The memory in use is then unknown until the next full garbage
   * collection.
   */
  noteRelief(): void {
    this.#bytes = 0;
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect();
  }
}

function isFullCollection(entry: object): boolean {
  const { kind } = "detail" in entry ? (entry.detail as { readonly kind?: number }) : {};
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

function usedBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
