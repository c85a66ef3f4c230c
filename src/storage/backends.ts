import type { Head } from "../core/values/event.ts";
import type { Hash } from "../core/values/hash.ts";
import type { BlobIntake } from "./blob-intake.ts";
import type { BlobPlaces } from "./blob-index.ts";
import type { BlobStore } from "./blob-store.ts";
import type { EventLog } from "./event-log.ts";
import type { IndexStore } from "./index-store.ts";
import type { LogPaths, StoreLayout } from "./layout.ts";
import type { Lock } from "./lock.ts";

/**
 * The storage of one store: opens its parts by their addresses (`StoreLayout`).
 *
 * Sets: `fileBackends` (packs, NDJSON, and the index and the lock that it is given: SQLite's on a disk) and
 * `memoryBackends`. `src/backends/registry.ts` chooses one by the store's URL; nothing else names a set.
 *
 * Contract
 * - Each opening makes an object of its own, which must be closed. Objects of one address stand for several processes:
 *   writers exclude one another by the lock, and each sees what another has made durable.
 * - Opening makes nothing but what is derived: a log that is not there is empty, and its first append makes it.
 * - The small files beside these parts (notes, lists, caches) are on a disk, in the folders of the layout.
 */
export interface StorageBackends {
  /** Opens the contents that all workspaces of the store share; makes what is missing. */
  readonly openBlobs: (layout: StoreLayout, how: HowToOpenBlobs) => Promise<OpenedBlobs>;
  /** Opens a log. Throws `IO`. */
  readonly openLog: (paths: LogPaths, how?: HowToOpenLog) => Promise<EventLog>;
  /**
   * Opens an index; a damaged one is discarded first. `tell` receives a sentence on what it cannot do, as its disk
   * takes no writes.
   */
  readonly openIndex: (address: string, tell?: (note: string) => void) => Promise<IndexStore>;
  /** Opens an index of this process alone, which is gone when it is closed. */
  readonly scratchIndex: () => IndexStore;
  readonly openLock: (address: string) => Promise<Lock>;

  /** True if a log has ever been appended to. */
  readonly hasLog: (address: string) => boolean;
  /**
   * Returns the last event of a log, for a list of many; `undefined` if it cannot be told at a glance, and the log must
   * be read. Proves nothing.
   */
  readonly lastEvent: (address: string) => LogGlance | undefined;
  /** Removes an index that nobody has open. */
  readonly discardIndex: (address: string) => void;
  /** Removes a log that nobody has open; nothing if there is none. Not durable before its folder is synced. */
  readonly removeLog: (address: string) => void;
  /** Renames a folder of the layout with all that is in it, or one log. Not durable before both folders are synced. */
  readonly move: (from: string, to: string) => void;
  /** Removes a folder of the layout with all that is in it. */
  readonly removeFolder: (folder: string) => void;
  /** True if the folder on a disk holds a store that `findContents` can read. */
  readonly isStore: (folder: string) => boolean;
  /**
   * Finds contents in another store, which may be damaged: reads what it can, writes and locks nothing. `home`: the
   * store's folder on a disk, for which `isStore` is true. Yields all copies of a content, until the caller removes it
   * from `wanted`. A set that keeps nothing on a disk reads stores in files.
   */
  readonly findContents: (home: string, wanted: ReadonlyMap<Hash, unknown>) => AsyncIterable<FoundContent>;
}

/** Options for opening the contents of a store. */
export interface HowToOpenBlobs {
  /** Receives a sentence on what the store cannot do. */
  readonly tell: (note: string) => void;
  /** The time to wait for the collector, or as the collector for writers. */
  readonly lockWaitMs: number;
}

/** The contents of a store, opened. Closing the store closes all. */
export interface OpenedBlobs {
  readonly blobs: BlobStore;
  readonly intake: BlobIntake;
  /** True if its disk takes no writes: everything can be read and verified, but nothing written. */
  readonly isReadOnly: () => boolean;
  /** The places of contents, for worker threads that read them by themselves; `undefined`: none can. */
  readonly placesOf?: (hashes: readonly Hash[]) => Promise<BlobPlaces>;
}

/** Options for opening a log. */
export interface HowToOpenLog {
  /** The event that its first line follows, for a log that does not begin at event 1. */
  readonly after?: Head | undefined;
  /** True if its syncs may be made together with those of the store's other logs. */
  readonly syncsTogether?: boolean;
}

/** The last event, according to the end of a log. */
export interface LogGlance {
  readonly seq: number;
  readonly ts: string;
}

/** A content found in a store's files. */
export interface FoundContent {
  readonly hash: Hash;
  readonly size: number;
  /** The file in which it was found. */
  readonly where: string;
  /** Throws if the file is damaged. */
  pieces(): Iterable<Uint8Array>;
}
