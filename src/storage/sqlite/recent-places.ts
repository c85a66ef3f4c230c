import type { Hash } from "../../core/hash.ts";
import type { BlobPlace } from "../blob-index.ts";

/** So many contents are remembered: as many as a large step has. */
export const MOST_RECENT_PLACES = 16_384;

/**
 * Where the contents lie that this connection has published last: they are asked for right after, by whoever writes or sends
 * them. It must forget everything where places may have changed, by this connection or another one.
 */
export class RecentPlaces {
  /** The one that was published first, first. */
  readonly #places = new Map<Hash, BlobPlace>();
  #version: number | undefined;

  /** Says which state of the database is looked at (`PRAGMA data_version`): others have changed something where it is another one. */
  look(version: number): void {
    if (version !== this.#version) this.#places.clear();
    this.#version = version;
  }

  put(hash: Hash, place: BlobPlace): void {
    this.#places.set(hash, place);
    if (this.#places.size <= MOST_RECENT_PLACES) return;
    for (const oldest of this.#places.keys()) {
      this.#places.delete(oldest);
      return;
    }
  }

  get(hash: Hash): BlobPlace | undefined {
    return this.#places.get(hash);
  }

  forget(): void {
    this.#places.clear();
  }
}
