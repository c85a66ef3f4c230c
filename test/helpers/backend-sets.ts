import type { Disk } from "../../src/disk/disk.ts";
import type { StorageBackends } from "../../src/storage/backends.ts";
import { memoryBackends } from "../../src/storage/memory/memory-backends.ts";

/** The complete sets of backends of storage. What is told of one history holds in each. */
export const BACKEND_SETS = ["files", "memory"] as const;
export type BackendSet = (typeof BACKEND_SETS)[number];

/** The storage of a store on a simulated disk, for `simBackends`; `undefined`: its own, in files. */
export function storageOf(set: BackendSet, disk: Disk): StorageBackends | undefined {
  return set === "files" ? undefined : memoryBackends({ disk, findContents: () => neverFound() });
}

async function* neverFound(): AsyncGenerator<never> {}
