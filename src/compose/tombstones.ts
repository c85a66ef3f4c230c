import { encodeTombstone, parseTombstone, type Tombstone } from "../core/tombstone.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { makeFolders, readText } from "./file-head-keeper.ts";

const SUFFIX = ".json";

/** The notes of forgotten histories: one file each (0600), in `forgotten/` beside the key. */
export class Tombstones {
  readonly #disk: Disk;
  readonly #folder: string;

  constructor(disk: Disk, configFolder: string) {
    this.#disk = disk;
    this.#folder = `${configFolder}/forgotten`;
  }

  /** Also `undefined` for one that cannot be understood. */
  get(id: string): Tombstone | undefined {
    const text = readText(this.#disk, this.#pathOf(id));
    return text === undefined ? undefined : parseTombstone(text);
  }

  put(stone: Tombstone): void {
    makeFolders(this.#disk, this.#folder);
    writeFileDurably(this.#disk, this.#pathOf(stone.id), Buffer.from(encodeTombstone(stone)));
  }

  remove(id: string): void {
    const path = this.#pathOf(id);
    if (this.#disk.lstat(path) === undefined) return;
    this.#disk.unlink(path);
    this.#disk.syncFolder(this.#folder);
  }

  list(): Tombstone[] {
    if (this.#disk.lstat(this.#folder)?.kind !== "dir") return [];
    return this.#disk
      .list(this.#folder)
      .map(({ name }) => name.toString())
      .filter((name) => name.endsWith(SUFFIX))
      .flatMap((name) => this.get(name.slice(0, -SUFFIX.length)) ?? []);
  }

  #pathOf(id: string): string {
    return `${this.#folder}/${id}${SUFFIX}`;
  }
}
