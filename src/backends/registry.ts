import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderOfAddress, storeScheme } from "../api/store-address.ts";
import type { StoreOptions } from "../api/store-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { removeTree } from "../disk/remove-tree.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { fileBackends, type FileBackendsOptions } from "../storage/files/file-backends.ts";
import type { IndexStore } from "../storage/index-store.ts";
import { takesNoWrites, withoutIndexFile } from "../storage/io-trouble.ts";
import { memoryBackends } from "../storage/memory/memory-backends.ts";
import { MemoryBlobIndex } from "../storage/memory/memory-blob-index.ts";
import { MemoryIndexStore } from "../storage/memory/memory-index-store.ts";
import { discardSqliteFiles } from "../storage/sqlite/discard-sqlite-files.ts";
import { sqliteBlobIndex, temporaryBlobIndex } from "../storage/sqlite/sqlite-blob-index.ts";
import { openSqliteIndexStore } from "../storage/sqlite/sqlite-index-store.ts";
import { SqliteLock } from "../storage/sqlite/sqlite-lock.ts";
import type { Backends } from "../store/backends.ts";
import { leftOpen } from "../store/left-open.ts";
import { nodeProcesses } from "../store/node-processes.ts";
import { NODE_TIMERS } from "../util/timers.ts";
import { newUlid } from "../util/ulid.ts";
import { hasWorkers } from "../workers/worker-file.ts";

// This module chooses the backends of a store. No other module names concrete backends. See docs/backends.md.

/** The disk of this machine. */
export const nodeDisk: Disk = new NodeDisk();

const filesAndSqlite: FileBackendsOptions = {
  disk: nodeDisk,
  newPackId: newUlid,
  openIndex: openIndexFile,
  scratchIndex: () => new MemoryIndexStore(),
  discardIndex: (path) => discardSqliteFiles(nodeDisk, path),
  openBlobIndex: (path) => sqliteBlobIndex(nodeDisk, path, () => new MemoryBlobIndex()),
  scratchBlobIndex: () => temporaryBlobIndex(nodeDisk),
  lock: (path) => new SqliteLock(nodeDisk, path),
};

/**
 * The options for a process that answers one call and ends. Such a process does not close its databases (see
 * `leftOpen`).
 */
const filesAndSqliteOnce: FileBackendsOptions = {
  ...filesAndSqlite,
  openIndex: (path, tell) => leftOpen(nodeDisk, path, openIndexFile(path, tell)),
  openBlobIndex: (path) => {
    const open = filesAndSqlite.openBlobIndex(path);
    return () => {
      const opened = open();
      return { ...opened, index: leftOpen(nodeDisk, path, opened.index) };
    };
  },
};

/** The place of a store: the store's folder, the folder of its key and heads, and its backends. */
export interface StorePlace extends Pick<StoreOptions, "home" | "configFolder"> {
  readonly backends: Backends;
  /** Must be called after the store is closed. */
  readonly end: () => void;
}

/**
 * Returns the place of the store at an address. An address is an absolute path, a `file:` URL, or `memory:` for a new
 * store in the memory of this process. The small files, the key and the heads of a store in memory are in a temporary
 * folder. `end` removes this folder. Throws `USAGE` for any other address.
 */
export function storePlace(
  given: Pick<StoreOptions, "home" | "configFolder">,
  how: { readonly once: boolean },
): StorePlace {
  const { home, configFolder } = given;
  const inFolder = (folder: string): StorePlace => {
    return { configFolder, end: () => undefined, home: folder, backends: nodeBackends(how) };
  };
  switch (storeScheme(home)) {
    case "memory":
      return memoryPlace();
    case "file":
      return inFolder(folderOfAddress(home));
    case undefined:
      return inFolder(home);
  }
}

function memoryPlace(): StorePlace {
  const home = join(nodeDisk.realpath(tmpdir()), `chronicle-memory-${newUlid()}`);
  nodeDisk.makeFolder(home, 0o700);
  const usual = nodeBackends();
  const { isStore, findContents } = usual;
  return {
    home,
    configFolder: `${home}/config`,
    backends: { ...usual, ...memoryBackends({ disk: nodeDisk, isStore, findContents }) },
    end: () => removeTree(nodeDisk, home),
  };
}

/**
 * Returns the backends of a store on this machine. `once` is for a process that answers one call and ends without
 * closing its databases. Acknowledged changes are durable even then.
 */
export function nodeBackends({ once = false }: { readonly once?: boolean } = {}): Backends {
  return {
    ...fileBackends(once ? filesAndSqliteOnce : filesAndSqlite),
    disk: nodeDisk,
    processes: nodeProcesses(nodeDisk),
    now: () => Date.now(),
    pause: (ms) => setTimeout(ms),
    newId: () => randomUUID(),
    threads: hasWorkers(nodeDisk),
    timers: NODE_TIMERS,
  };
}

/**
 * Opens an index. A damaged index is discarded and rebuilt, because it is derived from the log. If the file cannot be
 * written (a full or read-only disk, no permission) or if SQLite fails for another reason (`IO`), the index is built in
 * memory, and `tell` receives a note with the reason. Reading and verifying then still work.
 */
function openIndexFile(path: string, tell?: (note: string) => void): IndexStore {
  const onTemporary = (why: unknown): void => tell?.(withoutIndexFile(why));
  try {
    return openOrDiscard(path, onTemporary);
  } catch (error) {
    if (!takesNoWrites(error) && !(error instanceof ChronicleError && error.code === "IO")) throw error;
    onTemporary(error);
    return new MemoryIndexStore();
  }
}

function openOrDiscard(path: string, onTemporary: (why: unknown) => void): IndexStore {
  try {
    return openSqliteIndexStore(path, nodeDisk, { onTemporary });
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    discardSqliteFiles(nodeDisk, path);
    return openSqliteIndexStore(path, nodeDisk, { onTemporary });
  }
}
