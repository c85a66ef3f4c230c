import { type Hash, sha256 } from "../../core/values/hash.ts";
import type { BlobIntake, BlobSink } from "../blob-intake.ts";
import type { Disk } from "../../disk/disk.ts";
import { removeTree } from "../../disk/remove-tree.ts";
import type { StorageBackends } from "../storage-backends.ts";
import { MemoryBlobStore } from "./memory-blob-store.ts";
import { emptyMemoryLog, MemoryEventLog, type MemoryLogState } from "./memory-event-log.ts";
import { emptyMemoryIndex, type MemoryIndexState, MemoryIndexStore } from "./memory-index-store.ts";
import { memoryLocks } from "./memory-lock.ts";

interface MemoryBackendsOptions extends Pick<StorageBackends, "isStore" | "findContents"> {
  /** The disk that holds the small files of the store, in the folders of the store's layout. */
  readonly disk: Disk;
}

/**
 * Returns the empty storage of one store, in the memory of this process. The storage lives as long as the returned
 * object. Opening an address again opens the same log, index or lock, even if several stores share the returned object.
 */
export function memoryBackends({ disk, isStore, findContents }: MemoryBackendsOptions): StorageBackends {
  const logs = new Map<string, MemoryLogState>();
  const indexes = new Map<string, MemoryIndexState>();
  const stores = new Map<string, Map<Hash, Buffer>>();
  const all: readonly Map<string, unknown>[] = [logs, indexes, stores];
  const lock = memoryLocks();
  const within = (map: ReadonlyMap<string, unknown>, folder: string): string[] =>
    [...map.keys()].filter((address) => address === folder || address.startsWith(`${folder}/`));
  return {
    openBlobs: async (layout, { lockWaitMs }) => {
      const contents = orNew(stores, layout.blobs.folder, () => new Map<Hash, Buffer>());
      const blobs = new MemoryBlobStore({ contents, lock: lock(layout.blobs.gcLock), lockWaitMs });
      return { blobs, intake: new MemoryIntake(contents), isReadOnly: () => false };
    },
    openLog: async ({ log, isCopy }, { after } = {}) =>
      new MemoryEventLog(orNew(logs, log, emptyMemoryLog), {
        isCopy: isCopy === true,
        after,
        onChange: () => growMark(disk, log),
      }),
    openIndex: async (address) => new MemoryIndexStore(orNew(indexes, address, emptyMemoryIndex)),
    scratchIndex: () => new MemoryIndexStore(),
    openLock: async (address) => lock(address),
    hasLog: (address) => {
      const state = logs.get(address);
      return state !== undefined && state.lines.length + state.torn.length + state.sealed.length > 0;
    },
    lastEvent: () => undefined,
    discardIndex: (address) => void indexes.delete(address),
    removeLog: (address) => {
      logs.delete(address);
      if (disk.lstat(address) !== undefined) disk.unlink(address);
    },
    move: (from, to) => {
      if (disk.lstat(from) !== undefined) disk.rename(from, to);
      for (const map of all) rename(map, within(map, from), (old) => to + old.slice(from.length));
    },
    removeFolder: (folder) => {
      removeTree(disk, folder);
      for (const map of all) for (const address of within(map, folder)) map.delete(address);
    },
    isStore,
    findContents,
  };
}

/**
 * Adds a byte to a file at the log's address. A watcher of the store's folder (the server, an origin) sees from this
 * file that a history begins, grows or is removed.
 */
function growMark(disk: Disk, log: string): void {
  const fd = disk.open(log, "append");
  try {
    disk.write(fd, Buffer.from("."), null);
  } finally {
    disk.close(fd);
  }
}

function orNew<T>(map: Map<string, T>, address: string, make: () => T): T {
  const known = map.get(address) ?? make();
  map.set(address, known);
  return known;
}

function rename(map: Map<string, unknown>, addresses: readonly string[], to: (old: string) => string): void {
  for (const address of addresses) {
    const found = map.get(address);
    map.delete(address);
    if (found !== undefined) map.set(to(address), found);
  }
}

/** Works in this thread only, because other threads cannot reach the memory of the store. */
class MemoryIntake implements BlobIntake {
  readonly openThreadSinks = undefined;
  readonly #contents: Map<Hash, Buffer>;

  constructor(contents: Map<Hash, Buffer>) {
    this.#contents = contents;
  }

  isSound(hash: Hash): boolean {
    const content = this.#contents.get(hash);
    return content !== undefined && sha256(content) === hash;
  }

  async openSink(known: (hash: Hash) => boolean): Promise<BlobSink> {
    return new MemorySink(this.#contents, known);
  }
}

class MemorySink implements BlobSink {
  readonly #contents: Map<Hash, Buffer>;
  readonly #known: (hash: Hash) => boolean;
  readonly #pending = new Map<Hash, Buffer>();

  constructor(contents: Map<Hash, Buffer>, known: (hash: Hash) => boolean) {
    this.#contents = contents;
    this.#known = known;
  }

  put(content: Uint8Array, hash = sha256(content)): Hash {
    if (!this.#pending.has(hash) && !this.#known(hash)) this.#pending.set(hash, Buffer.from(content));
    return hash;
  }

  putLarge(pieces: Iterable<Uint8Array>): { readonly hash: Hash; readonly size: number } {
    const content = Buffer.concat(Array.from(pieces, (piece) => Buffer.from(piece)));
    return { hash: this.put(content), size: content.length };
  }

  async finish(): Promise<void> {
    for (const [hash, content] of this.#pending) this.#contents.set(hash, content);
    this.#pending.clear();
  }

  abandon(): void {
    this.#pending.clear();
  }
}
