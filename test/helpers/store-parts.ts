import { randomUUID } from "node:crypto";
import type { Backends } from "../../src/store/backends.ts";
import { openParts } from "../../src/compose/open-parts.ts";
import type { StoreParts } from "../../src/compose/open-context.ts";
import { nodeProcesses } from "../../src/store/node-processes.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { MemoryBlobIndex } from "../../src/storage/memory/memory-blob-index.ts";
import { MemoryIndexStore } from "../../src/storage/memory/memory-index-store.ts";
import { sqliteBlobIndex } from "../../src/storage/sqlite/sqlite-blob-index.ts";
import { openSqliteIndexStore } from "../../src/storage/sqlite/sqlite-index-store.ts";
import { SqliteLock } from "../../src/storage/sqlite/sqlite-lock.ts";
import { newUlid } from "../../src/util/ulid.ts";

/** The backends of a store on the real disk. */
export function storeBackends(): Backends {
  const disk = new NodeDisk();
  return {
    disk,
    openIndex: (path) => openSqliteIndexStore(path, disk),
    scratchIndex: () => new MemoryIndexStore(),
    openBlobIndex: (path) => sqliteBlobIndex(disk, path, () => new MemoryBlobIndex()),
    lock: (path) => new SqliteLock(disk, path),
    processes: nodeProcesses(disk),
    now: () => Date.now(),
    newId: () => randomUUID(),
    newPackId: newUlid,
    threads: false,
  };
}

/** The parts of a store on the real disk, for tests that assemble engines themselves. */
export function storeParts(home: string, configFolder: string): Promise<StoreParts> {
  return openParts({ home, configFolder, waitMs: 5_000 }, storeBackends());
}
