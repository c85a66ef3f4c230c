import type { Hash } from "../core/values/hash.ts";
import type { BlobRows } from "./blob-rows.ts";

/**
 * The index of a `FileBlobStore`: the place of each published content. The index can be rebuilt from the packs and the
 * large files.
 *
 * Backends: `MemoryBlobIndex`, `SqliteBlobIndex`.
 *
 * Contract
 * - All methods are synchronous. `apply` is atomic, even for other processes. A change is durable at once only if
 *   `IndexChange.durable` is true. After a crash, the index can be in an earlier state, but it never has only a part of
 *   a change.
 * - An index never reuses the id of a pack.
 */
export interface BlobIndex {
  has(hash: Hash): boolean;
  find(hash: Hash): BlobPlace | undefined;
  /**
   * Runs the queries of `work` in one transaction, so that all of them see the same state of the index. This is several
   * times faster than a transaction for each query. `work` must not change the index.
   */
  together<T>(work: () => T): T;
  packs(): readonly PackRow[];
  packOf(ulid: string): PackRow | undefined;
  /** Returns the contents of one pack, in their order in the pack. */
  inPack(id: number): readonly PlacedBlob[];
  /** Returns the contents that are in files of their own. */
  large(): readonly PlacedBlob[];
  apply(change: IndexChange): void;
  close(): void;
}

/** `fresh` is true if the index was missing or damaged, and is therefore empty. */
export type BlobIndexOpener = () => {
  readonly index: BlobIndex;
  readonly fresh: boolean;
  /** True if the disk refuses writes to the index, so that the store can only be read. */
  readonly readOnly: boolean;
};

export interface PackState {
  readonly ulid: string;
  /**
   * The number of the pack's lane, while the pack can still grow; `undefined` once the pack is sealed. A lane is the
   * place of one pack to which one writer at a time appends (`BlobLayout.activePack`).
   */
  readonly lane: number | undefined;
  /** The length, in bytes, of the beginning of the pack that is durable and already checked. */
  readonly bytes: number;
}

export interface PackRow extends PackState {
  readonly id: number;
}

/** Lengths and offsets are in bytes; `stored` is the space that the content takes up. */
export type BlobPlace =
  | {
      readonly kind: "pack";
      readonly pack: number;
      readonly block: number;
      readonly blockBytes: number;
      readonly at: number;
      readonly length: number;
      readonly stored: number;
    }
  | LargePlace;

/** A content in a file of its own: raw, or packed in a container. */
interface LargePlace {
  readonly kind: "large";
  readonly packed: boolean;
  readonly length: number;
  readonly stored: number;
}

export interface PlacedBlob {
  readonly hash: Hash;
  readonly place: BlobPlace;
}

/** The places of requested contents, in the order of the request; `undefined` for a missing or damaged content. */
export interface BlobPlaces {
  readonly places: readonly (BlobPlace | undefined)[];
  /** The packs that the places refer to. */
  readonly packs: readonly PackRow[];
}

/** A content in a file of its own, for `IndexChange`. Lengths are in bytes. */
export interface LargeRow {
  readonly hash: Hash;
  readonly packed: boolean;
  readonly length: number;
  readonly stored: number;
}

/** A change of the index. `BlobIndex.apply` performs its parts in the order of these fields. */
export interface IndexChange {
  readonly forget?: readonly Hash[];
  /** Removes these packs, and the contents whose places are in them. */
  readonly forgetPacks?: readonly number[];
  /** Adds packs, or updates the packs whose ULID is known. */
  readonly packs?: readonly PackState[];
  /** `pack` of a row is a position in `packs`. */
  readonly rows?: BlobRows;
  readonly large?: readonly LargeRow[];
  /** True to give contents that are already in the index their new places. Default: they keep their old places. */
  readonly replace?: boolean;
  /** True if the change must be durable when `apply` returns. This is necessary if the old bytes are removed next. */
  readonly durable?: boolean;
}
