import type { Disk } from "../disk/disk.ts";
import type { BlobIndex, BlobIndexOpener } from "../storage/blob-index.ts";
import type { IndexStore } from "../storage/index-store.ts";
import type { Lock } from "../storage/lock.ts";
import type { Processes } from "../engine/log/context.ts";
import type { HeadTimers } from "../engine/commit/head-follower.ts";

/**
 * The backends of a store. The real ones are in `open.ts`; simulated ones run whole histories in memory, with a disk
 * that crashes.
 */
export interface Backends {
  readonly disk: Disk;
  /** Opens a workspace's index; a damaged one is discarded first. `tell` receives a sentence on what it cannot do. */
  readonly openIndex: (path: string, tell?: (note: string) => void) => IndexStore;
  readonly scratchIndex: () => IndexStore;
  readonly openBlobIndex: (path: string) => BlobIndexOpener;
  /** Opens an index of contents for this process alone, if the disk takes no writes; default: what needs it fails. */
  readonly scratchBlobIndex?: () => BlobIndex;
  readonly lock: (path: string) => Lock;
  readonly processes: Processes;
  readonly now: () => number;
  /** Waits for so many ms; default: time does not pass by itself. */
  readonly pause?: (ms: number) => Promise<void>;
  readonly newId: () => string;
  readonly newPackId: () => string;
  /** True if worker threads may read the disk. */
  readonly threads: boolean;
  /** Timers for delayed work; default: delayed work is not done. */
  readonly timers?: HeadTimers;
}
