import type { Disk } from "../disk/disk.ts";
import type { StorageBackends } from "../storage/storage-backends.ts";
import type { Processes } from "../engine/log/context.ts";
import type { HeadTimers } from "../engine/commit/head-follower.ts";

/**
 * What a store is opened with: its storage, and the machine around it. `src/backends/registry.ts` makes the real ones; simulated
 * ones run whole histories in memory, with a disk that crashes.
 */
export interface Backends extends StorageBackends {
  /** The files of the user, and the small ones of the store. */
  readonly disk: Disk;
  readonly processes: Processes;
  readonly now: () => number;
  /** Waits for so many ms; default: time does not pass by itself. */
  readonly pause?: (ms: number) => Promise<void>;
  readonly newId: () => string;
  /** True if worker threads may read the disk. */
  readonly threads: boolean;
  /** Timers for delayed work; default: delayed work is not done. */
  readonly timers?: HeadTimers;
}
