import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { makeFolders, readDerived } from "./file-head-keeper.ts";

/**
 * The erasures whose bytes a collection has freed to the last one, so that the next need not read every pack for them. Derived:
 * without it the next collection does so once more.
 */
export class FreedErasures {
  readonly #disk: Disk;
  readonly #path: string;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  hasAll(erasures: ReadonlySet<string>): boolean {
    if (erasures.size === 0) return true;
    const known = new Set((readDerived(this.#disk, this.#path) ?? "").split("\n"));
    return [...erasures].every((one) => known.has(one));
  }

  put(erasures: ReadonlySet<string>): void {
    makeFolders(this.#disk, this.#path.slice(0, this.#path.lastIndexOf("/")));
    writeFileDurably(this.#disk, this.#path, Buffer.from([...erasures].sort().join("\n")));
  }
}
