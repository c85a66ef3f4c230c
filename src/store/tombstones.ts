import { errnoOf } from "../core/values/errors.ts";
import { sha256 } from "../core/values/hash.ts";
import { encodeTombstone, parseTombstone, type Tombstone } from "../core/records/tombstone.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { storeLayout } from "../storage/layout.ts";
import { makeFolders, readText } from "./file-head-keeper.ts";

const SUFFIX = ".json";

/** Returns the two possible places of a note's history. The history is in the second place while the note is valid. */
function placesIn(home: string, { id, part }: Tombstone): readonly [string, string] {
  const layout = storeLayout(home);
  const workspace = part?.workspace ?? id;
  const [kept, given] = [layout.workspace(workspace).folder, `${layout.forgotten}/${workspace}`];
  return part === undefined ? [kept, given] : [given, kept];
}

interface PlaceOfNotes {
  readonly backends: { readonly disk: Disk };
  readonly configFolder: string;
  readonly layout: { readonly home: string };
}

/**
 * The notes on the histories, and parts of histories, that were forgotten in one store. Each note is a file (0600) in
 * `forgotten/` beside the key. Copies of a store may share that folder, and have histories with the same ids.
 * Therefore, the notes of other stores are skipped and never overwritten. A note names the path of its store at the
 * time of writing. Later, the store may have another path (see `#isOwn`).
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

  /** Returns this store's note with the given id; `undefined` if there is no such note, or if it cannot be decoded. */
  get(id: string): Tombstone | undefined {
    return this.#own(id)[0]?.stone;
  }

  put(stone: Tombstone): void {
    makeFolders(this.#disk, this.#folder);
    const [shared, ours] = this.#places(stone.id);
    const isFree = this.#disk.lstat(shared) === undefined;
    const path = this.#own(stone.id)[0]?.path ?? (isFree ? shared : ours);
    writeFileDurably(this.#disk, path, Buffer.from(encodeTombstone({ ...stone, store: this.#store })));
  }

  remove(id: string): void {
    const own = this.#own(id);
    for (const { path } of own) this.#disk.unlink(path);
    if (own.length > 0) this.#disk.syncFolder(this.#folder);
  }

  list(): Tombstone[] {
    return this.listOfAllStores().filter((stone) => this.#isOwn(stone));
  }

  /** Returns the notes of this store and of all others. */
  listOfAllStores(): Tombstone[] {
    return this.#names().flatMap((name) => this.#at(`${this.#folder}/${name}`) ?? []);
  }

  #names(): string[] {
    if (this.#disk.lstat(this.#folder)?.kind !== "dir") return [];
    return this.#disk
      .list(this.#folder)
      .map(({ name }) => name.toString())
      .filter((name) => name.endsWith(SUFFIX));
  }

  /** Returns this store's notes on a history. Notes with the store's current path come first. */
  #own(id: string): { readonly path: string; readonly stone: Tombstone }[] {
    const found = this.#names()
      .filter((name) => name === `${id}${SUFFIX}` || name.startsWith(`${id}.of-`))
      .map((name) => `${this.#folder}/${name}`)
      .flatMap((path) => {
        const stone = this.#at(path);
        return stone === undefined || !this.#isOwn(stone) ? [] : [{ path, stone }];
      });
    const isHere = ({ stone }: { readonly stone: Tombstone }): boolean => stone.store === this.#store;
    return [...found.filter(isHere), ...found.filter((one) => !isHere(one))];
  }

  /**
   * True if the note belongs to this store. A note with another path belongs to this store only if this store has the
   * history, and if the other path leads to the same folder or does not exist. The note belongs to another store in
   * these cases, because this store may be a copy:
   *
   * - The other path leads to a different folder with the history.
   * - The other path cannot be inspected.
   * - The note says that the history was freed.
   */
  #isOwn(stone: Tombstone): boolean {
    if (stone.store === this.#store) return true;
    const [, ownPlace] = placesIn(this.#store, stone);
    const here = this.#disk.lstat(ownPlace);
    if (here === undefined || stone.freed !== undefined) return false;
    const there = placesIn(stone.store, stone).map((place) => this.#lookAt(place));
    return there.every((one) => one === "gone" || (one !== "unknown" && one.ino === here.ino && one.dev === here.dev));
  }

  #lookAt(path: string): { readonly ino: bigint; readonly dev: bigint } | "gone" | "unknown" {
    try {
      return this.#disk.lstat(path) ?? "gone";
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return "unknown";
    }
  }

  #at(path: string): Tombstone | undefined {
    const text = readText(this.#disk, path);
    return text === undefined ? undefined : parseTombstone(text);
  }

  /**
   * Returns the two paths at which this store may keep a note. All stores share the first path. If that path holds a
   * note of another store or a damaged note, this store uses the second path. No other store writes to the second path.
   */
  #places(id: string): readonly [shared: string, ours: string] {
    const store = sha256(this.#store).slice(0, 16);
    return [`${this.#folder}/${id}${SUFFIX}`, `${this.#folder}/${id}.of-${store}${SUFFIX}`];
  }
}
