import { totalmem } from "node:os";
import { constants, PerformanceObserver } from "node:perf_hooks";
import type { Disk } from "../disk/disk.ts";

/** The most memory for the open workspaces, in bytes. */
const MOST_BYTES = 512 * 1024 ** 2;

/** Of a small machine, at most this part of its memory. */
const MOST_PART = 1 / 8;

/** Knows whether the open workspaces of a process take more memory or watches than they should. */
export class ProcessLoad implements Disposable {
  readonly #disk: Pick<Disk, "watchUse">;
  readonly #mostBytes: number;
  /** The memory in use after the last full garbage collection. Before the first one, nothing is known. */
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

  /** Call this after a workspace was closed. How much memory is in use then is known only after a full collection. */
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
