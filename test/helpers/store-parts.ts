import { randomUUID } from "node:crypto";
import type { Backends } from "../../src/store/backends.ts";
import { openParts } from "../../src/compose/open-parts.ts";
import type { StoreParts } from "../../src/compose/open-context.ts";
import { nodeProcesses } from "../../src/store/node-processes.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { fileBackends, type FileBackendsOptions } from "../../src/storage/files/file-backends.ts";
import { MemoryBlobIndex } from "../../src/storage/memory/memory-blob-index.ts";
import { MemoryIndexStore } from "../../src/storage/memory/memory-index-store.ts";
import { discardSqliteFiles } from "../../src/storage/sqlite/discard-sqlite-files.ts";
import { sqliteBlobIndex } from "../../src/storage/sqlite/sqlite-blob-index.ts";
import { openSqliteIndexStore } from "../../src/storage/sqlite/sqlite-index-store.ts";
import { SqliteLock } from "../../src/storage/sqlite/sqlite-lock.ts";
import { newUlid } from "../../src/util/ulid.ts";

/** Returns the backends of a store on the real disk. `alter` returns the options that a test wants to differ. */
export function storeBackends(
  alter: (usual: FileBackendsOptions) => Partial<FileBackendsOptions> = () => ({}),
  disk = new NodeDisk(),
): Backends {
  const usual: FileBackendsOptions = {
    disk,
    newPackId: newUlid,
    openIndex: (path) => openSqliteIndexStore(path, disk),
    scratchIndex: () => new MemoryIndexStore(),
    discardIndex: (path) => discardSqliteFiles(disk, path),
    openBlobIndex: (path) => sqliteBlobIndex(disk, path, () => new MemoryBlobIndex()),
    lock: (path) => new SqliteLock(disk, path),
  };
  return {
    ...fileBackends({ ...usual, ...alter(usual) }),
    disk,
    processes: nodeProcesses(disk),
    now: () => Date.now(),
    newId: () => randomUUID(),
    threads: false,
  };
}

/** Opens the parts of a store on the real disk, for tests that assemble engines themselves. */
export function storeParts(home: string, configFolder: string): Promise<StoreParts> {
  return openParts({ home, configFolder, waitMs: 5_000 }, storeBackends());
}
