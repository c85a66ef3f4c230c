import type { Hash } from "../../core/values/hash.ts";

/** The wanted contents, with their sizes in bytes if known. Whoever repairs one removes it from the map. */
export type WantedContents = ReadonlyMap<Hash, number | undefined>;

/** Bytes that may be a wanted content. They are not trusted, so the receiver hashes them. */
export interface OfferedContent {
  readonly hash: Hash;
  /** The most bytes that are read. */
  readonly size: number;
  /** The place where the bytes were found, for people. */
  readonly where: string;
  /** May be called several times; the bytes may differ each time. Throws if they cannot be read. */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** A place where good bytes may be: a folder, another store, a workspace elsewhere. Only read, in bounded memory. */
export interface RepairSource {
  readonly name: string;
  /**
   * Yields what it has of the wanted contents, several times if it has several copies. Throws if the place cannot be
   * read, or can no longer be read.
   */
  offers(wanted: WantedContents): AsyncIterable<OfferedContent>;
}
