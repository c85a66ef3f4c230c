import { foldsNames, HOLDS_ALL, type FolderTraits } from "../../core/tree/folder-traits.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { Disk, FileSystem } from "../../disk/disk.ts";
import { assumedTraits, lookAtNames, lookAtOwnName, probeByWriting } from "./probe-folder.ts";

/** Caches the traits of file systems, by how they are mounted. */
export interface TraitsMemory {
  get(mount: string): FolderTraits | undefined;
  set(mount: string, traits: FolderTraits): unknown;
}

/** Options of a probe. */
export interface FolderProbeOptions {
  readonly disk: Disk;
  readonly memory: TraitsMemory;
  /** True if the folder may be written to for the probe. Read-only commands leave no trace there. */
  readonly mayWrite: boolean;
  readonly newMark: () => string;
}

interface Known {
  readonly dev: bigint;
  readonly traits: FolderTraits;
  /** True if the handling of names was observed. */
  readonly isWhole: boolean;
}

/** Determines what folders can hold: once for each folder, and again if it is on another device. */
export class FolderProbe {
  readonly #options: FolderProbeOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: FolderProbeOptions) {
    this.#options = options;
  }

  /** Returns the traits of a folder; `HOLDS_ALL` if it is missing or cannot be inspected. */
  of(folder: string): FolderTraits {
    const { disk } = this.#options;
    try {
      const dev = disk.lstat(folder)?.dev;
      if (dev === undefined) return HOLDS_ALL;
      const known = this.#known.get(folder);
      if (known?.dev === dev && known.isWhole) return known.traits;
      const found = this.#find(folder, disk.fileSystemOf(folder));
      this.#known.set(folder, { dev, ...found });
      return found.traits;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return HOLDS_ALL;
    }
  }

  #find(folder: string, fileSystem: FileSystem): Omit<Known, "dev"> {
    const { disk } = this.#options;
    const base = fileSystem.isLinux ? { ...HOLDS_ALL, fileSystem: fileSystem.kind } : this.#probed(folder, fileSystem);
    if (base.source === "probed") return { traits: base, isWhole: true };
    const looked = lookAtNames(disk, folder);
    const names = looked ?? lookAtOwnName(disk, folder);
    return { traits: { ...base, names: names ?? {} }, isWhole: looked !== undefined };
  }

  #probed(folder: string, { kind, mount }: FileSystem): FolderTraits {
    const { disk, memory, mayWrite, newMark } = this.#options;
    const kept = memory.get(mount);
    if (kept !== undefined) return kept;
    const found = mayWrite ? probeByWriting(disk, folder, newMark()) : undefined;
    if (found === undefined) return assumedTraits(kind);
    const traits: FolderTraits = { ...found, fileSystem: kind, source: "probed" };
    memory.set(mount, traits);
    return traits;
  }
}

/** Returns the rules of a folder that takes different names for one; `undefined` if it tells all names apart. */
export function rulesForNames(traits: FolderTraits): FolderTraits["names"] | undefined {
  return foldsNames(traits) ? traits.names : undefined;
}
