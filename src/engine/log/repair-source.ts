import type { Hash } from "../../core/values/hash.ts";

/** The wanted contents, with their sizes in bytes if known. Whoever repairs a content removes it from the map. */
export type WantedContents = ReadonlyMap<Hash, number | undefined>;

/** Bytes that may be a wanted content. They are not trusted, so the receiver hashes them. */
export interface OfferedContent {
  readonly hash: Hash;
  /** The maximum number of bytes that are read. */
  readonly size: number;
  /** The place where the bytes were found, for people. */
  readonly where: string;
  /**
   * Returns the bytes. Can be called several times, and can return other bytes each time. Throws if the bytes cannot be
   * read.
   */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/**
 * A place where good bytes may be: a folder, another store, a workspace elsewhere. A place is only read, and reading
 * needs a bounded amount of memory.
 */
export interface RepairSource {
  readonly name: string;
  /**
   * Yields the wanted contents that this place has. A content with several copies is yielded several times. Throws if
   * the place cannot be read.
   */
  offers(wanted: WantedContents): AsyncIterable<OfferedContent>;
}
