import type { FolderTraits } from "../core/tree/folder-traits.ts";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import type { TraitsMemory } from "../worktree/files/folder-probe.ts";
import { makeFolders, readDerived } from "./file-head-keeper.ts";

/** The maximum number of mounts that are remembered. The mount that was set longest ago is dropped first. */
const MOST = 64;
/** The version of the file's format. A file of another version is read as empty. */
const VERSION = 1;

interface Kept {
  readonly version: number;
  readonly mounts: readonly (readonly [string, FolderTraits])[];
}

/** The known traits of file systems, in a file of the store. If the file is lost, the traits are probed again. */
export class FileTraitsMemory implements TraitsMemory {
  readonly #disk: Disk;
  readonly #path: string;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  get(mount: string): FolderTraits | undefined {
    return this.#read().get(mount);
  }

  set(mount: string, traits: FolderTraits): void {
    const mounts = [...this.#read()].filter(([one]) => one !== mount).slice(1 - MOST);
    const kept: Kept = { version: VERSION, mounts: [...mounts, [mount, traits]] };
    try {
      makeFolders(this.#disk, this.#path.slice(0, this.#path.lastIndexOf("/")));
      writeFileDurably(this.#disk, this.#path, Buffer.from(JSON.stringify(kept)), { mark: `.${process.pid}` });
    } catch (error) {
      // Ignore the error of a store that cannot be written, because the next write of other data reports the same
      // error.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  #read(): Map<string, FolderTraits> {
    try {
      const kept = JSON.parse(readDerived(this.#disk, this.#path) ?? "null") as Kept | null;
      return new Map(kept?.version === VERSION ? kept.mounts : []);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return new Map();
    }
  }
}
