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
 * Opens the parts of one store by their addresses (`StoreLayout`).
 *
 * Implementations: `fileBackends` and `memoryBackends`. `fileBackends` keeps packs and NDJSON in files. The caller of
 * `fileBackends` passes the indexes and the locks. On a real disk, these are the indexes and locks of SQLite.
 * `src/backends/registry.ts` chooses the implementation by the store's URL. Only that module and tests name the
 * implementations.
 *
 * Contract
 * - Each call returns a new object, which must be closed. Two objects of one address behave as if two processes had
 *   opened the address. The lock admits one writer at a time, and each object sees the durable changes of the other.
 * - Opening creates only folders, locks and derived files. A log that does not exist is empty, and its first append
 *   creates it.
 * - The small files beside these parts (notes, lists, caches) are on a disk, in the folders of the layout.
 */
export interface StorageBackends {
  /**
   * Opens the blob store, which all workspaces of the store share. Creates missing files and folders of the blob store.
   */
  readonly openBlobs: (layout: StoreLayout, how: HowToOpenBlobs) => Promise<OpenedBlobs>;
  /** Opens a log, which need not exist. Throws `IO` if the log cannot be read. */
  readonly openLog: (paths: LogPaths, how?: HowToOpenLog) => Promise<EventLog>;
  /**
   * Opens an index. If the index is damaged, first discards it. If the disk takes no writes, calls `tell` with a
   * sentence that says what the index cannot do.
   */
  readonly openIndex: (address: string, tell?: (note: string) => void) => Promise<IndexStore>;
  /** Makes an empty temporary index, which only the returned object uses. */
  readonly scratchIndex: () => IndexStore;
  readonly openLock: (address: string) => Promise<Lock>;

  readonly hasLog: (address: string) => boolean;
  /**
   * Returns the last event of a log without checking it. This function is meant for lists of many logs. Returns
   * `undefined` if the log is missing, or if the event cannot be read from the end of the log alone.
   */
  readonly lastEvent: (address: string) => LogGlance | undefined;
  /** Removes the files of an index that nobody has open. */
  readonly discardIndex: (address: string) => void;
  /** Removes a log that nobody has open, if it exists. The removal is durable once the folder of the log is synced. */
  readonly removeLog: (address: string) => void;
  /**
   * Renames a folder of the layout with all that is in it, or one log. The move is durable once both parent folders are
   * synced.
   */
  readonly move: (from: string, to: string) => void;
  readonly removeFolder: (folder: string) => void;
  /** True if the folder on a disk holds a store that `findContents` can read. */
  readonly isStore: (folder: string) => boolean;
  /**
   * Finds contents in another store, which may be damaged. Skips unreadable parts. Writes and locks nothing. `home`:
   * the store's folder on a disk, for which `isStore` is true. Yields each copy of a content, until the caller removes
   * the content from `wanted`. Backends in memory implement this function, too: they read stores that are in files.
   */
  readonly findContents: (home: string, wanted: ReadonlyMap<Hash, unknown>) => AsyncIterable<FoundContent>;
}

interface HowToOpenBlobs {
  /** Called with a sentence for people if the store can only be used with limits. */
  readonly tell: (note: string) => void;
  /**
   * The maximum time, in milliseconds, that a writer waits for the collector, and that the collector waits for writers.
   */
  readonly lockWaitMs: number;
}

/** The open blob store of a store. It is closed with `blobs.close`. */
export interface OpenedBlobs {
  readonly blobs: BlobStore;
  readonly intake: BlobIntake;
  /** Returns true if the disk takes no writes, so that contents can be read and verified, but not written. */
  readonly isReadOnly: () => boolean;
  /** Returns the places of contents, for worker threads that read them. Absent if only this thread can read them. */
  readonly placesOf?: (hashes: readonly Hash[]) => Promise<BlobPlaces>;
}

interface HowToOpenLog {
  /** For a log that does not begin at event 1: the event right before its first line. */
  readonly after?: Head | undefined;
  /** True if the log may be synced together with other logs of the store. */
  readonly syncsTogether?: boolean;
}

/** The last event of a log, according to the end of its file. */
export interface LogGlance {
  readonly seq: number;
  readonly ts: string;
}

export interface FoundContent {
  readonly hash: Hash;
  readonly size: number;
  /** The file in which the content was found. */
  readonly where: string;
  /** Yields the content. Throws if the file is damaged. */
  pieces(): Iterable<Uint8Array>;
}
