import type { Hash } from "../../core/values/hash.ts";

/** Contents that are wanted, with their sizes in bytes where those are known. Whoever heals one takes it out. */
export type WantedContents = ReadonlyMap<Hash, number | undefined>;

/** What may be a wanted content. Nothing of it is believed: whoever takes it hashes it. */
export interface OfferedContent {
  readonly hash: Hash;
  /** In bytes. More than that is never read. */
  readonly size: number;
  /** Where it was found, for people. */
  readonly where: string;
  /** May be called several times; the bytes may differ from time to time. Throws where they cannot be read. */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/**
 * A place where good bytes may be: a folder, another store, a workspace elsewhere. It is only read.
 * Memory is bounded, whatever lies there.
 */
export interface RepairSource {
  /** For people. */
  readonly name: string;
  /** Offers what it has of the wanted contents, several times where it has several copies. Throws where it cannot be asked (any more). */
  offers(wanted: WantedContents): AsyncIterable<OfferedContent>;
}
