import { join } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { readFully } from "../disk/write-fully.ts";
import { INDEX, type PageFiles } from "../server/page/page-routes.ts";

/**
 * The page's files in the folder of the installation. Only regular files are listed, so no link can lead out of the
 * folder.
 */
export class DiskPageFiles implements PageFiles {
  readonly #disk: Disk;
  readonly #folder: string;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
  }

  list(): ReadonlySet<string> {
    const assets = this.#filesIn(join(this.#folder, "assets")).map((name) => `assets/${name}`);
    return new Set([...this.#filesIn(this.#folder).filter((name) => name === INDEX), ...assets]);
  }

  #filesIn(folder: string): string[] {
    if (this.#disk.lstat(folder)?.kind !== "dir") return [];
    return this.#disk
      .list(folder)
      .filter(({ kind }) => kind === "file")
      .map(({ name }) => name.toString());
  }

  read(path: string): Uint8Array | undefined {
    try {
      const fd = this.#disk.open(join(this.#folder, path), "read");
      try {
        const bytes = Buffer.alloc(this.#disk.fstat(fd).size);
        return bytes.subarray(0, readFully(this.#disk, fd, bytes, 0));
      } finally {
        this.#disk.close(fd);
      }
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
      return undefined;
    }
  }
}
