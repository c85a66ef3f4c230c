import { sha256 } from "../core/hash.ts";
import { encodeTombstone, parseTombstone, type Tombstone } from "../core/tombstone.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { makeFolders, readText } from "./file-head-keeper.ts";

const SUFFIX = ".json";

/** Where the notes are kept, and for which store. */
interface PlaceOfNotes {
  readonly backends: { readonly disk: Disk };
  readonly configFolder: string;
  readonly layout: { readonly home: string };
}

/**
 * The notes of what was forgotten in one store: one file each (0600), in `forgotten/` beside the key. Copies of a store can share that
 * folder, and hold histories of one id: a note of another store is passed by, and never written over.
 */
export class Tombstones {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #store: string;

  constructor({ backends: { disk }, configFolder, layout: { home } }: PlaceOfNotes) {
    this.#disk = disk;
    this.#folder = `${configFolder}/forgotten`;
    this.#store = home;
  }

  /** Also `undefined` for one that cannot be understood. */
  get(id: string): Tombstone | undefined {
    return this.#places(id)
      .map((path) => this.#at(path))
      .find((one) => one?.store === this.#store);
  }

  put(stone: Tombstone): void {
    makeFolders(this.#disk, this.#folder);
    const path = this.#places(stone.id).find((one) => (this.#at(one)?.store ?? this.#store) === this.#store);
    if (path !== undefined) writeFileDurably(this.#disk, path, Buffer.from(encodeTombstone(stone)));
  }

  remove(id: string): void {
    const own = this.#places(id).filter((path) => this.#at(path)?.store === this.#store);
    for (const path of own) this.#disk.unlink(path);
    if (own.length > 0) this.#disk.syncFolder(this.#folder);
  }

  list(): Tombstone[] {
    return this.listOfAllStores().filter(({ store }) => store === this.#store);
  }

  /** Those that other stores have put into the same folder, too. */
  listOfAllStores(): Tombstone[] {
    if (this.#disk.lstat(this.#folder)?.kind !== "dir") return [];
    return this.#disk
      .list(this.#folder)
      .map(({ name }) => name.toString())
      .filter((name) => name.endsWith(SUFFIX))
      .flatMap((name) => this.#at(`${this.#folder}/${name}`) ?? []);
  }

  #at(path: string): Tombstone | undefined {
    const text = readText(this.#disk, path);
    return text === undefined ? undefined : parseTombstone(text);
  }

  /** The second one is for where another store has the first. */
  #places(id: string): string[] {
    const store = sha256(this.#store).slice(0, 16);
    return [`${this.#folder}/${id}${SUFFIX}`, `${this.#folder}/${id}.of-${store}${SUFFIX}`];
  }
}
