import type { Disk } from "../disk/disk.ts";
import type { BlobIndex, BlobIndexOpener } from "../storage/blob-index.ts";
import type { IndexStore } from "../storage/index-store.ts";
import type { Lock } from "../storage/lock.ts";
import type { Processes } from "../engine/log/context.ts";
import type { HeadTimers } from "../engine/commit/head-follower.ts";

/**
 * What a store stands on. The real one is in `open.ts`; a simulated one makes whole histories run in memory, with a disk
 * that crashes.
 */
export interface Backends {
  readonly disk: Disk;
  /** Opens a workspace's index; a damaged one is discarded first. `tell` takes a sentence on what it cannot do. */
  readonly openIndex: (path: string, tell?: (note: string) => void) => IndexStore;
  readonly scratchIndex: () => IndexStore;
  readonly openBlobIndex: (path: string) => BlobIndexOpener;
  /** An index of contents for this process alone, where the disk takes no writes; default: what needs them fails. */
  readonly scratchBlobIndex?: () => BlobIndex;
  readonly lock: (path: string) => Lock;
  readonly processes: Processes;
  readonly now: () => number;
  /** Lets so many ms pass; default: time does not pass by itself. */
  readonly pause?: (ms: number) => Promise<void>;
  readonly newId: () => string;
  readonly newPackId: () => string;
  /** May worker threads read the disk? */
  readonly threads: boolean;
  /** Timers for delayed work; default: delayed work is not done. */
  readonly timers?: HeadTimers;
}
