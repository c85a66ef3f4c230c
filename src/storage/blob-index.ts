import type { Hash } from "../core/values/hash.ts";
import type { BlobRows } from "./blob-rows.ts";

/**
 * The place of each content that `FileBlobStore` has published. Derived from the packs and the large files, which can
 * always be read again.
 *
 * Backends: `MemoryBlobIndex`, `SqliteBlobIndex`.
 *
 * Contract
 * - Synchronous. `apply` is atomic, also for other processes; it is not durable unless asked for: after a crash the
 *   index may be at an earlier state, never at a torn one.
 * - Ids of packs are never used twice in the life of one index.
 */
export interface BlobIndex {
  has(hash: Hash): boolean;
  find(hash: Hash): BlobPlace | undefined;
  /**
   * Runs many queries of `work` on one state: setting up each query separately costs several times its answer. `work`
   * must change nothing.
   */
  together<T>(work: () => T): T;
  packs(): readonly PackRow[];
  packOf(ulid: string): PackRow | undefined;
  /** The contents of one pack in their order in the pack. */
  inPack(id: number): readonly PlacedBlob[];
  /** All contents that are files of their own. */
  large(): readonly PlacedBlob[];
  apply(change: IndexChange): void;
  close(): void;
}

/** Opens the index of a store. `fresh`: the index was missing or unsound, and begins empty. */
export type BlobIndexOpener = () => {
  readonly index: BlobIndex;
  readonly fresh: boolean;
  /** True if the disk does not let the index be written: the store can be read, but not changed. */
  readonly readOnly: boolean;
};

/** A pack and the extent to which it is settled. */
export interface PackState {
  readonly ulid: string;
  /** The lane in which it is, or `undefined` once it is sealed. */
  readonly lane: number | undefined;
  /** Bytes from the start that are durable and need no further check. */
  readonly bytes: number;
}

/** A pack that the index knows. */
export interface PackRow extends PackState {
  readonly id: number;
}

/** The place of a content. Lengths and offsets in bytes; `stored` is the space that it takes up. */
export type BlobPlace =
  | {
      readonly kind: "pack";
      /** The id of the pack in this index. */
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

/** The places of contents, by position; `undefined` if not stored or damaged. */
export interface BlobPlaces {
  readonly places: readonly (BlobPlace | undefined)[];
  /** The packs that the places refer to. */
  readonly packs: readonly PackRow[];
}

/** A content that became a file of its own. */
export interface LargeRow {
  readonly hash: Hash;
  readonly packed: boolean;
  readonly length: number;
  readonly stored: number;
}

/** A change of the index. `apply` performs the parts in this order. */
export interface IndexChange {
  /** Removes these contents. */
  readonly forget?: readonly Hash[];
  /** Removes packs with all contents that the index still places in them. */
  readonly forgetPacks?: readonly number[];
  /** Adds packs, or updates those known by their ULID. */
  readonly packs?: readonly PackState[];
  /** Adds contents; `pack` is an index into `packs`. A known content keeps its place, unless `replace`. */
  readonly rows?: BlobRows;
  readonly large?: readonly LargeRow[];
  readonly replace?: boolean;
  /** True to return only once the change is on the disk: for changes after which bytes are destroyed. */
  readonly durable?: boolean;
}
