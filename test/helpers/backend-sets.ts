import type { Disk } from "../../src/disk/disk.ts";
import type { StorageBackends } from "../../src/storage/storage-backends.ts";
import { memoryBackends } from "../../src/storage/memory/memory-backends.ts";

/** The complete sets of backends of storage. What is told of one history holds in each. */
export const BACKEND_SETS = ["files", "memory"] as const;
export type BackendSet = (typeof BACKEND_SETS)[number];

/** Whether what a set holds outlives a loss of power: then `storageOf` is asked anew for the disk after one. */
export const OUTLIVES_POWER: Readonly<Record<BackendSet, boolean>> = { files: true, memory: false };

/** The storage of a store on a simulated disk, for `simBackends`; `undefined`: its own, in files. */
export function storageOf(set: BackendSet, disk: Disk): StorageBackends | undefined {
  if (set === "files") return undefined;
  return memoryBackends({ disk, isStore: () => false, findContents: () => neverFound() });
}

async function* neverFound(): AsyncGenerator<never> {}
