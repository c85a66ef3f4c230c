import type { Hash } from "../../core/values/hash.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { BlobPlace } from "../blob-index.ts";

/** So many contents are remembered, and no more than twice as many: as many as a large step has. */
const MOST_PLACES = 16_384;

/**
 * Where the contents lie that this connection has published last: they are asked for right after, by whoever writes or sends
 * them. It must forget everything where places may have changed, by this connection or another one.
 */
export class RecentPlaces {
  readonly #places = new RecentMap<Hash, BlobPlace>(MOST_PLACES);
  #version: number | undefined;

  /** Says which state of the database is looked at (`PRAGMA data_version`): others have changed something where it is another one. */
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
