import type { Hash } from "../../core/values/hash.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { BlobPlace } from "../blob-index.ts";

/** Least number of remembered contents, which is as many as a large step has. At most twice as many are remembered. */
const MOST_PLACES = 16_384;

/**
 * Caches the places of the contents that this connection has published last, because the code that writes or sends them
 * looks them up right after. Must be cleared whenever places may have changed, by this connection or another one.
 */
export class RecentPlaces {
  readonly #places = new RecentMap<Hash, BlobPlace>(MOST_PLACES);
  #version: number | undefined;

  /**
   * Sets the database's version (`PRAGMA data_version`), and clears the cache if another connection has changed
   * something.
   */
  look(version: number): void {
    if (version !== this.#version) this.forget();
    this.#version = version;
  }

  put(hash: Hash, place: BlobPlace): void {
    this.#places.put(hash, place);
  }

  get(hash: Hash): BlobPlace | undefined {
    return this.#places.get(hash);
  }

  forget(): void {
    this.#places.clear();
  }
}
