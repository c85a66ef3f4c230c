import type { Hash } from "../../core/values/hash.ts";

/** Contents that are wanted, with their sizes in bytes if known. The caller that heals one removes it. */
export type WantedContents = ReadonlyMap<Hash, number | undefined>;

/** An offer that may be a wanted content. It is not trusted: the taker hashes it. */
export interface OfferedContent {
  readonly hash: Hash;
  /** Bytes that are read at most. */
  readonly size: number;
  /** The place where it was found, for people. */
  readonly where: string;
  /** May be called several times; the bytes may differ each time. Throws if they cannot be read. */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/**
 * A place where good bytes may be: a folder, another store, a workspace elsewhere. It is only read. Memory is bounded,
 * whatever lies there.
 */
export interface RepairSource {
  /** The name, for people. */
  readonly name: string;
  /**
   * Offers what it has of the wanted contents, several times if it has several copies. Throws if it cannot be asked
   * (any more).
   */
  offers(wanted: WantedContents): AsyncIterable<OfferedContent>;
}
