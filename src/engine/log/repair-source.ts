import type { Hash } from "../../core/values/hash.ts";

/**
 * Maps the hash of each wanted content to its size in bytes; `undefined` if the size is unknown. A content that was
 * repaired is removed from the map.
 */
export type WantedContents = ReadonlyMap<Hash, number | undefined>;

/**
 * Bytes that may be a wanted content. The receiver hashes the bytes before it uses them, because the source is not
 * trusted.
 */
export interface OfferedContent {
  readonly hash: Hash;
  /** The maximum number of bytes that are read from `pieces`. */
  readonly size: number;
  /** The place, in words for people, where the bytes were found. */
  readonly where: string;
  /**
   * Returns the bytes. This function can be called several times, and can return different bytes each time. Throws if
   * the bytes cannot be read.
   */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/**
 * A place where undamaged copies of contents may be: a folder, another store, or a workspace elsewhere. Such a place is
 * only read, and reading needs a bounded amount of memory.
 */
export interface RepairSource {
  readonly name: string;
  /**
   * Yields the wanted contents that this place has. A content with several copies is yielded several times. Throws if
   * the place cannot be read.
   */
  offers(wanted: WantedContents): AsyncIterable<OfferedContent>;
}
