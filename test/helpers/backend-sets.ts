import type { Disk } from "../../src/disk/disk.ts";
import type { StorageBackends } from "../../src/storage/storage-backends.ts";
import { memoryBackends } from "../../src/storage/memory/memory-backends.ts";

/** The complete sets of storage backends. Tests that concern a whole history run with each of them. */
export const BACKEND_SETS = ["files", "memory"] as const;
export type BackendSet = (typeof BACKEND_SETS)[number];

/**
 * True if the data of the set outlives a loss of power. If it does, call `storageOf` again with the disk after the
 * loss.
 */
export const OUTLIVES_POWER: Readonly<Record<BackendSet, boolean>> = { files: true, memory: false };

/**
 * Returns the storage of a store on a simulated disk, for `simBackends`. `undefined` for `files`, because that is its
 * default.
 */
export function storageOf(set: BackendSet, disk: Disk): StorageBackends | undefined {
  if (set === "files") return undefined;
  return memoryBackends({ disk, isStore: () => false, findContents: () => neverFound() });
}

async function* neverFound(): AsyncGenerator<never> {}
