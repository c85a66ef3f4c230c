import type { Hash } from "../../core/values/hash.ts";
import type { BlobPlace } from "../blob-index.ts";
import type { BlobFiles } from "./pack-leases.ts";

/**
 * Contents that were read and found damaged, and their places. For writers they count as not stored. Another process
 * may put one again: it is then in another place or file, and no longer damaged.
 */
export class DamagedContents {
  readonly #files: BlobFiles;
  readonly #replaced: (hash: Hash) => void;
  readonly #at = new Map<Hash, string | undefined>();

  /** `replaced`: called with a content that was put again since. */
  constructor(files: BlobFiles, replaced: (hash: Hash) => void) {
    this.#files = files;
    this.#replaced = replaced;
  }

  get size(): number {
    return this.#at.size;
  }

  /** `at`: the place where it was read, from `locate`. */
  add(hash: Hash, at: string | undefined = this.#where(hash)): void {
    this.#at.set(hash, at);
  }

  delete(hash: Hash): void {
    this.#at.delete(hash);
  }

  has(hash: Hash): boolean {
    if (!this.#at.has(hash)) return false;
    if (this.#at.get(hash) === this.#where(hash)) return true;
    this.#at.delete(hash);
    this.#replaced(hash);
    return false;
  }

  /**
   * Returns a text for a place, which changes when the content is put again, also with another index. `undefined` if it
   * is not there.
   */
  locate(hash: Hash, place: BlobPlace): string | undefined {
    const { disk, layout, index } = this.#files;
    if (place.kind === "pack") {
      const pack = index.packs().find(({ id }) => id === place.pack);
      return pack === undefined ? undefined : `${pack.ulid} ${place.block} ${place.at}`;
    }
    const path = place.packed ? layout.largePacked(hash) : layout.largeRaw(hash);
    const stat = disk.lstat(path);
    return stat === undefined ? undefined : `${path} ${stat.ino} ${stat.ctimeNs}`;
  }

  #where(hash: Hash): string | undefined {
    const place = this.#files.index.find(hash);
    return place === undefined ? undefined : this.locate(hash, place);
  }
}
