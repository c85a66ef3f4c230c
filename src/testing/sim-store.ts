import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import type { Backends } from "../store/backends.ts";
import { openFileStore } from "../compose/file-store.ts";
import type { Disk } from "../disk/disk.ts";
import type { SimDisk } from "./sim-disk/sim-disk.ts";
import type { IndexStore } from "../storage/index-store.ts";
import type { Lock } from "../storage/lock.ts";
import type { StorageBackends } from "../storage/storage-backends.ts";
import { fileBackends } from "../storage/files/file-backends.ts";
import { discardSqliteFiles } from "../storage/sqlite/discard-sqlite-files.ts";
import type { BlobIndexOpener } from "../storage/blob-index.ts";
import { MemoryBlobIndex } from "../storage/memory/memory-blob-index.ts";
import { MemoryIndexStore } from "../storage/memory/memory-index-store.ts";
import { memoryLocks } from "../storage/memory/memory-lock.ts";
import type { CommandEnd } from "../api/workspace-api.ts";
import { optional } from "../util/optional.ts";

/**
 * Options of a machine in memory. Only its disk and its `storage` outlive an opening. Everything else, including the
 * indexes, is gone when the machine is opened again.
 */
export interface SimMachineOptions {
  /** The first id. Different values make two openings generate different ids. */
  readonly firstId: number;
  /** Makes the changes of a command on the disk, and returns its exit code. Default: changes nothing, and returns 0. */
  readonly command?: (command: readonly string[]) => number | Promise<number>;
  /** The PID namespace of the machine's process. */
  readonly pidSpace?: string;
  /** Milliseconds since the epoch; the disk should have the same clock. Default: one that advances at each reading. */
  readonly clock?: () => number;
  /**
   * The pid of the process that opens the machine. All other processes have ended. Default: a new process each time,
   * always with pid 1.
   */
  readonly pid?: number;
  /** Opens the index at `path`. Default: an empty one in memory. */
  readonly index?: (path: string) => IndexStore;
  /** Makes the lock at a path. Default: locks in memory. */
  readonly lock?: (path: string) => Lock;
  /**
   * The storage, which outlives a process. Default: packs and NDJSON on the disk, with `index`, `lock` and `blobIndex`.
   * If it is given, these three are not used.
   */
  readonly storage?: StorageBackends;
  /** Opens the index of contents. Default: an empty one in memory. */
  readonly blobIndex?: BlobIndexOpener;
  /** The retention rules. */
  readonly retention?: StoreOptions["retention"];
  /** Called with each note for people. */
  readonly onNote?: StoreOptions["onNote"];
}

/** Opens a store on a simulated disk: store in `/store`, key and heads in `/config`. */
export function openSimStore(disk: SimDisk, options: SimMachineOptions): Promise<StoreApi> {
  return openFileStore(
    {
      home: "/store",
      configFolder: "/config",
      userHome: "/root",
      waitMs: 50,
      ...optional({ retention: options.retention, onNote: options.onNote }),
    },
    simBackends(disk, options),
  );
}

/** Makes the backends of a machine. By default the clock advances a millisecond at each reading. Ids count upwards. */
export function simBackends(disk: Disk, options: SimMachineOptions): Backends {
  let ms = Date.parse("2030-01-01T00:00:00Z") + options.firstId;
  let id = options.firstId;
  const own = options.pid ?? 1;
  const onDisk = (): StorageBackends =>
    fileBackends({
      disk,
      newPackId: () => String((id += 1)).padStart(26, "0"),
      openIndex: options.index ?? (() => new MemoryIndexStore()),
      scratchIndex: () => new MemoryIndexStore(),
      discardIndex: (path) => discardSqliteFiles(disk, path),
      openBlobIndex: () =>
        options.blobIndex ?? (() => ({ index: new MemoryBlobIndex(), fresh: true, readOnly: false })),
      lock: options.lock ?? memoryLocks(),
    });
  return {
    ...(options.storage ?? onDisk()),
    disk,
    processes: {
      pid: own,
      isAlive: (pid) => pid === own,
      isStopped: () => false,
      ancestors: () => Promise.resolve([]),
      markOf: (pid) => (pid === own ? `process-${options.pid ?? `opening-${options.firstId}`}` : undefined),
      pidSpace: options.pidSpace,
      run: async (command): Promise<CommandEnd> => {
        const code = (await options.command?.(command)) ?? 0;
        return { exitCode: code, signal: null, code };
      },
    },
    now: options.clock ?? (() => (ms += 1)),
    newId: () => `00000000-0000-4000-8000-${String((id += 1)).padStart(12, "0")}`,
    threads: false,
  };
}
