import type { Disk } from "../disk/disk.ts";
import type { StorageBackends } from "../storage/storage-backends.ts";
import type { Processes } from "../engine/log/context.ts";
import type { HeadTimers } from "../engine/commit/head-follower.ts";

/**
 * The parts of the system on which a store is built. `src/backends/registry.ts` makes the real backends. Tests make
 * simulated backends, on a disk that can crash.
 */
export interface Backends extends StorageBackends {
  /** The disk with the user's files and the small files of the store. */
  readonly disk: Disk;
  readonly processes: Processes;
  readonly now: () => number;
  /**
   * Resolves after this many milliseconds. Simulations leave this function out, because their time does not pass by
   * itself.
   */
  readonly pause?: (ms: number) => Promise<void>;
  readonly newId: () => string;
  /** True if worker threads may read the disk. */
  readonly threads: boolean;
  /** The timers for delayed work. Without timers, delayed work is not done. */
  readonly timers?: HeadTimers;
}
